// What a request asks for as a share of a device, exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace vgpualloc {

/// A part of a whole from 0 to 1, in lowest terms, so that equal fractions are equal.
struct fraction {
    std::int64_t part = 0;
    std::int64_t whole = 1;

    /// `part` of `whole`, at most 1; nothing of a whole that is nothing.
    [[nodiscard]] static constexpr fraction of(std::int64_t part, std::int64_t whole) noexcept {
        if (part <= 0 || whole <= 0) return {};
        if (part >= whole) return {.part = 1, .whole = 1};
        const std::int64_t divisor = std::gcd(part, whole);
        return {.part = part / divisor, .whole = whole / divisor};
    }

    [[nodiscard]] friend constexpr bool operator<(const fraction& left, const fraction& right) noexcept {
        __extension__ using wide = __int128;
        return wide{left.part} * right.whole < wide{right.part} * left.whole;
    }
    bool operator==(const fraction&) const = default;
};

/// What one device's worth of a request asks for of a device: its memory and its compute.
struct requested_share {
    fraction memory;
    fraction compute;

    [[nodiscard]] static constexpr requested_share all() noexcept { return {.memory = {1, 1}, .compute = {1, 1}}; }
    /// In each dimension the smaller of the two.
    [[nodiscard]] friend constexpr requested_share smaller(const requested_share& left,
                                                           const requested_share& right) noexcept {
        return {.memory = std::min(left.memory, right.memory), .compute = std::min(left.compute, right.compute)};
    }
    /// In each dimension the larger of the two.
    [[nodiscard]] friend constexpr requested_share larger(const requested_share& left,
                                                          const requested_share& right) noexcept {
        return {.memory = std::max(left.memory, right.memory), .compute = std::max(left.compute, right.compute)};
    }
    bool operator==(const requested_share&) const = default;
};

} // namespace vgpualloc
