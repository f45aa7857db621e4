// The catalogs as one value, for programs that let users add files to what is built in.
#pragma once

#include <string_view>

#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/power.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

struct hardware_catalog {
    mig_catalog mig;
    ascend_catalog ascend;
    power_catalog power;
};

[[nodiscard]] hardware_catalog built_in_catalog();

/// `base` with what a catalog file adds or replaces: GPUs under "mig", NPUs under "ascend", what boards draw under
/// "power", or several of them. Errors: those of reading and merging, and missing if the file has none.
[[nodiscard]] expected<hardware_catalog> merge_file(const hardware_catalog& base, const vgpuformats::document& file,
                                                    std::string_view name);

} // namespace vgpualloc
