// What reading and merging Ascend catalogs both check.
#pragma once

#include <optional>
#include <string_view>

#include "vgpualloc/catalog/ascend.hpp"

#include "mig_checks.hpp"

namespace vgpualloc::detail {

/// Stands for the chip's name in the patterns of annotation keys.
inline constexpr std::string_view name_placeholder = "{name}";

/// Whether `chip` could not stand beside the chips of `catalog`.
[[nodiscard]] std::optional<clash> clash_of(const ascend_catalog& catalog, const ascend_chip& chip);

} // namespace vgpualloc::detail
