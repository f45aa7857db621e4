// How long decisions take: a histogram with 1/16 octave resolution, and the clocks that runs are timed by.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vgpusim {

/// Counts durations in nanoseconds; quantiles are exact to one part in 16.
class latency_histogram {
public:
    void add(std::uint64_t nanoseconds) noexcept {
        ++count_;
        ++buckets_[bucket_of(nanoseconds)];
    }
    /// The upper end of the bucket in which the quantile lies, in microseconds; 0 when nothing was counted.
    [[nodiscard]] double quantile_us(double quantile) const noexcept {
        if (count_ == 0) return 0.0;
        const auto rank = static_cast<std::uint64_t>(quantile * static_cast<double>(count_ - 1));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            seen += buckets_[i];
            if (seen > rank) return static_cast<double>(upper_end(i)) / 1000.0;
        }
        return 0.0;
    }

private:
    static constexpr std::size_t steps = 16;

    [[nodiscard]] static std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < steps) return static_cast<std::size_t>(ns);
        const auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 5; // ns >> octave is in [16, 32)
        return octave * steps + static_cast<std::size_t>(ns >> octave);
    }
    [[nodiscard]] static std::uint64_t upper_end(std::size_t bucket) noexcept {
        if (bucket < 2 * steps) return bucket;
        const std::size_t octave = bucket / steps - 1;
        return ((bucket % steps + steps + 1) << octave) - 1;
    }

    std::array<std::uint64_t, 62 * steps> buckets_{};
    std::uint64_t count_ = 0;
};

[[nodiscard]] inline std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

/// CPU time of the process so far, all of its threads together.
[[nodiscard]] double cpu_seconds() noexcept;

/// CPU time of the calling thread so far: what one of several replays at once has used.
[[nodiscard]] double thread_cpu_seconds() noexcept;

} // namespace vgpusim
