// Kubernetes quantities: "100m", "1Gi", "1e3", "0.5", "3000".
#pragma once

#include <cstdint>
#include <string_view>

#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::kubernetes {

enum class quantity_unit : std::uint8_t {
    one,        ///< the quantity itself: devices, bytes
    thousandth, ///< of it: milli-CPU
};
enum class rounding : std::uint8_t { refuse, up, down };

/// The quantity in whole units, exact whatever its decimals and suffix. The error has code, value and what was
/// expected: malformed; out_of_range below 0, at 2^63 or more, beyond 30 digits, or for a part of a unit with
/// rounding::refuse. Source: k8s.io/apimachinery/pkg/api/resource.
[[nodiscard]] expected<std::int64_t> parse_quantity(std::string_view text, quantity_unit unit, rounding rest);

} // namespace vgpualloc::kubernetes
