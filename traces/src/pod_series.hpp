// What samples of kube-state-metrics say of one pod, in little room, and when the pod ran by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Times with equal distances, which most samples have.
class sample_times {
public:
    /// Times of one series come in order, series in any order.
    void add(std::int64_t time_ms);
    [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
    void append_to(std::vector<std::int64_t>& times) const;
    /// By time, each once.
    [[nodiscard]] std::vector<std::int64_t> sorted() const;

private:
    struct run {
        std::int64_t first_ms = 0;
        std::int64_t step_ms = 0;
        std::int64_t count = 1;
    };
    std::vector<run> runs_{};
};

/// A time that a metric has as its value, and when it had it.
struct told_time {
    ticks value{};
    std::int64_t first_ms = 0; ///< of the samples
    std::int64_t last_ms = 0;
};

/// An amount, and when it was requested.
struct requested_at {
    std::int64_t amount = 0;
    sample_times times{};
};

enum class pod_time : std::uint8_t { created, started, completed };
inline constexpr std::size_t pod_time_count = 3;

struct pod_series {
    std::string space{}; ///< namespace
    std::string name{};
    bool has_uid = false;
    std::string owner{};
    std::string queue{};
    std::string place{}; ///< file and line of the first series
    std::map<std::pair<std::string, std::string>, std::vector<requested_at>> requests{}; ///< by container and resource
    sample_times running{};
    sample_times ended{}; ///< with phase Succeeded or Failed
    sample_times others{};
    std::array<std::vector<told_time>, pod_time_count> times{};

    void note(pod_time which, ticks value, std::int64_t time_ms);
    /// Every time of a sample.
    [[nodiscard]] std::vector<std::int64_t> present() const;
    /// What was last said of a time within these samples.
    [[nodiscard]] std::optional<ticks> told(pod_time which, std::int64_t first_ms, std::int64_t last_ms) const;
};

/// The times at which any series has a sample.
class sample_grid {
public:
    void add(std::int64_t time_ms);
    void note_distance(std::int64_t distance_ms);
    /// Errors name what the times have to be.
    [[nodiscard]] expected<void> finish();

    [[nodiscard]] std::int64_t step_ms() const noexcept { return step_ms_; }
    [[nodiscard]] std::int64_t first_ms() const { return times_.front(); }
    [[nodiscard]] std::int64_t last_ms() const { return times_.back(); }
    [[nodiscard]] std::int64_t size() const { return std::ssize(times_); }
    /// Steps between the first and the last time at which no series has a sample.
    [[nodiscard]] std::int64_t missing() const { return (last_ms() - first_ms()) / step_ms_ + 1 - size(); }
    /// For how long series have samples between two of these times.
    [[nodiscard]] std::int64_t sampled_between_ms(std::int64_t from_ms, std::int64_t to_ms) const;

private:
    std::vector<std::int64_t> times_{}; ///< by time once finished
    std::size_t sorted_ = 0;            ///< so many of them are sorted, each once
    std::int64_t step_ms_ = 0;          ///< 0: not known
    void sort();
};

[[nodiscard]] inline ticks ticks_of_ms(std::int64_t time_ms) {
    return ticks{time_ms * (ticks_per_second.count() / 1000)};
}

/// "2026-11-25T13:00:00Z", with milliseconds where there are some.
[[nodiscard]] std::string utc_text(std::int64_t time_ms);

} // namespace vgputraces
