// Sets of places as words: one bit at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace vgpualloc::plan {

[[nodiscard]] constexpr std::uint64_t bit_at(std::size_t position) noexcept { return std::uint64_t{1} << position; }
[[nodiscard]] constexpr std::size_t lowest_bit(std::uint64_t bits) noexcept {
    return static_cast<std::size_t>(std::countr_zero(bits));
}

/// Calls use(position) for every bit, lowest first.
template <class Use>
constexpr void for_each_place(std::uint64_t bits, Use&& use) {
    for (; bits != 0; bits &= bits - 1) use(lowest_bit(bits));
}

} // namespace vgpualloc::plan
