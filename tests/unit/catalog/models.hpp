// Models of the built-in MIG catalog by name.
#pragma once

#include <string_view>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc::test {

[[nodiscard]] inline const mig_model& model(std::string_view name) {
    return **find_model(built_in_mig_catalog(), name);
}

} // namespace vgpualloc::test
