// What reading and merging MIG catalogs both check.
#pragma once

#include <optional>
#include <string>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc::detail {

/// What of a model names another model already: the field in catalog files, the text, and what is expected instead.
struct clash {
    std::string field;
    std::string value;
    std::string expected;
};

/// Whether `model` could not stand beside the models of `catalog`.
[[nodiscard]] std::optional<clash> clash_of(const mig_catalog& catalog, const mig_model& model);

} // namespace vgpualloc::detail
