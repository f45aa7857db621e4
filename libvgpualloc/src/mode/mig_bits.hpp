// Small helpers of mode mig: sets of places as bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc::modes {

[[nodiscard]] constexpr std::uint64_t bit(std::size_t position) noexcept { return std::uint64_t{1} << position; }

/// Calls use(position) for every bit, lowest first.
template <class Use>
constexpr void for_each_bit(std::uint64_t bits, Use&& use) {
    for (; bits != 0; bits &= bits - 1) use(static_cast<std::size_t>(std::countr_zero(bits)));
}

[[nodiscard]] constexpr bool is_given_by_memory(mig_profile_kind kind) noexcept {
    return kind == mig_profile_kind::core || kind == mig_profile_kind::double_memory;
}

} // namespace vgpualloc::modes
