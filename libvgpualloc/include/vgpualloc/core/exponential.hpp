// The exponential function from additions and multiplications alone, so that it is the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace vgpualloc {

/// e^-x for x >= 0, to within 1e-14 of the value; 0 from 700 on. libm's functions differ in the last bit from version
/// to version, and a price in a score must not.
[[nodiscard]] constexpr double exp_of_minus(double x) noexcept {
    if (!(x < 700.0)) return 0.0;
    if (x <= 0.0) return 1.0;
    constexpr double log2_e = 0x1.71547652b82fep+0;
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    const auto halvings = static_cast<std::int64_t>(x * log2_e);
    const double rest = x - static_cast<double>(halvings) * ln2; // 0 to ln 2
    double series = 1.0;                                         // of e^-rest, from its last term on
    for (int term = 18; term >= 1; --term) series = 1.0 - rest / static_cast<double>(term) * series;
    return series * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - halvings) << 52U);
}

} // namespace vgpualloc
