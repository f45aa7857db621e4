// The exponential function from additions and multiplications alone, so that it is the same on every machine.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vgpualloc {

/// e^-x for x >= 0, to within 1e-13 of the value; 0 from 700 on. libm's functions differ in the last bit from version
/// to version, and a price in a score must not.
[[nodiscard]] constexpr double exp_of_minus(double x) noexcept {
    if (!(x < 700.0)) return 0.0;
    if (x <= 0.0) return 1.0;
    constexpr double log2_e = 0x1.71547652b82fep+0;
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    constexpr std::array<double, 13> of_factorials = [] {
        std::array<double, 13> inverse{1.0};
        double factorial = 1.0;
        for (std::size_t k = 1; k < inverse.size(); ++k) {
            factorial *= static_cast<double>(k);
            inverse[k] = 1.0 / factorial;
        }
        return inverse;
    }();
    const auto halvings = static_cast<std::int64_t>(x * log2_e + 0.5);
    const double rest = x - static_cast<double>(halvings) * ln2; // of half a ln 2 at most, either way
    double series = of_factorials.back();                        // of e^-rest, from its last term on
    for (std::size_t k = of_factorials.size() - 1; k-- > 0;) series = of_factorials[k] - rest * series;
    return series * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - halvings) << 52U);
}

} // namespace vgpualloc
