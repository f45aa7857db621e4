// Go's math/rand (v1) generator, as the FGD reference simulator consumes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vgpualloc::compat {

/// The additive lagged Fibonacci generator (607, 273) with Go's seeding, and the derived draws. Bit-exact.
class go_random {
public:
    explicit go_random(std::int64_t seed);

    [[nodiscard]] std::uint64_t word() noexcept; ///< one draw of 64 bits; every other function uses these
    [[nodiscard]] std::int64_t int63() noexcept { return static_cast<std::int64_t>(word() & 0x7fffffffffffffffULL); }
    [[nodiscard]] std::int32_t int31() noexcept { return static_cast<std::int32_t>(int63() >> 32); }

    /// Uniform in [0, n), 0 < n < 2^31, by redrawing and taking the remainder.
    [[nodiscard]] std::int32_t intn(std::int32_t n) noexcept;

    /// Fisher–Yates from the end; its bounded draw multiplies, unlike intn().
    template <class RandomAccess>
    void shuffle(RandomAccess& items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            using std::swap;
            swap(items[i - 1], items[bounded(static_cast<std::uint32_t>(i))]);
        }
    }

    /// A permutation of 0..n-1.
    [[nodiscard]] std::vector<std::uint32_t> perm(std::size_t n);

private:
    [[nodiscard]] std::uint32_t bounded(std::uint32_t n) noexcept;

    static constexpr std::size_t length = 607;
    std::array<std::uint64_t, length> words_{};
    std::size_t tap_ = 0;
    std::size_t feed_ = 334;
};

} // namespace vgpualloc::compat
