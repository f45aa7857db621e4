// Sets of small numbers as words: one bit at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace vgpualloc {

/// The word with that bit alone; `position` below 64.
[[nodiscard]] constexpr std::uint64_t bit_at(std::size_t position) noexcept { return std::uint64_t{1} << position; }
/// The position of the lowest bit; 64 if there is none.
[[nodiscard]] constexpr std::size_t lowest_bit(std::uint64_t bits) noexcept {
    return static_cast<std::size_t>(std::countr_zero(bits));
}

/// Calls use(position) for every bit, lowest first.
template <class Use>
constexpr void for_each_bit(std::uint64_t bits, Use&& use) {
    for (; bits != 0; bits &= bits - 1) use(lowest_bit(bits));
}

} // namespace vgpualloc
