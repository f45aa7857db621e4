// Random numbers specified to the bit: engine, bounded integers, shuffle, and distributions without libm.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/hash.hpp"

namespace vgpualloc {

/// xoshiro256** 1.0 (Blackman, Vigna 2018), seeded through splitmix64. Same seed, same numbers, on every platform.
class rng {
public:
    explicit constexpr rng(std::uint64_t seed) noexcept : seed_{seed} {
        std::uint64_t x = seed;
        for (auto& word : state_) {
            x += 0x9e3779b97f4a7c15ULL;
            word = mix64(x);
        }
    }

    /// An independent stream for one purpose: adding a draw to one stream leaves the others unchanged.
    [[nodiscard]] constexpr rng fork(std::string_view purpose) const noexcept {
        return rng{hash_combine(seed_, hash_text(purpose))};
    }

    [[nodiscard]] constexpr std::uint64_t next() noexcept {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Uniform in [0, bound). Unbiased: Lemire's multiply-shift with rejection (TOMACS 2019). `bound` must be positive.
    [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        VGA_ASSERT(bound > 0, "a bounded draw needs a positive bound");
        __extension__ using wide = unsigned __int128;
        wide product = static_cast<wide>(next()) * bound;
        if (static_cast<std::uint64_t>(product) < bound) {
            const std::uint64_t threshold = (0 - bound) % bound;
            while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<wide>(next()) * bound;
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    [[nodiscard]] constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

    /// Exponential with mean 1 by von Neumann's comparison method (1951): additions and comparisons only, so the value
    /// does not depend on anyone's `log`.
    [[nodiscard]] constexpr double exponential() noexcept {
        double whole = 0.0;
        while (true) {
            const double first = unit();
            double previous = first;
            bool odd_run = true; // length of the descending run, counted from `first`
            while (true) {
                const double current = unit();
                if (current >= previous) break;
                previous = current;
                odd_run = !odd_run;
            }
            if (odd_run) return whole + first;
            whole += 1.0;
        }
    }

    /// Fisher–Yates, from the last position down.
    template <class RandomAccess>
    constexpr void shuffle(RandomAccess& items) noexcept {
        for (std::size_t i = items.size(); i > 1; --i) {
            using std::swap;
            swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
        }
    }

private:
    std::uint64_t seed_;
    std::array<std::uint64_t, 4> state_{};
};

} // namespace vgpualloc
