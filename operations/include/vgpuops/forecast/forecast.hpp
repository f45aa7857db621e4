// When a cluster is full, if its use goes on growing as it did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpuops/forecast/trend.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::forecast {

enum class outlook : std::uint8_t {
    full,   ///< nothing is free today
    passed, ///< the trend has reached the capacity by the last point, and something is free today
    grows,  ///< full at some time
    never,  ///< not at this growth, or later than anybody plans: more than 100 years after the last point
};

/// When a number of GPUs is used.
struct full_date {
    std::int64_t capacity_milli = 0;
    std::vector<std::string> nodes_back{}; ///< out of service today, and in service here; by name
    outlook state = outlook::never;
    std::optional<ticks> about{}; ///< where state is grows or passed; of passed absent where the use falls
    std::optional<ticks> from{};  ///< of the interval; absent: never at this confidence, or the state has no interval
    std::optional<ticks> to{};
    bool or_never = false; ///< the interval has no end
};

struct cluster_forecast {
    usage_trend trend{};
    std::int64_t gpus = 0;
    show::three_parts parts{}; ///< today: used, free, out of service; milli-GPU
    full_date in_service{};
    std::optional<full_date> with_back{};        ///< where GPUs are out of service
    std::vector<std::string> scattered_shapes{}; ///< of pods that wait today with this verdict
    std::vector<std::string> scattered_asks{};   ///< what they ask of devices, each once: "4 gpu"
    std::int64_t scattered_pods = 0;
    std::vector<error> warnings{}; ///< of the snapshot
};

/// What is in service is what is used and what is free, wherever it is used. Error missing where the overview has no
/// GPU.
[[nodiscard]] expected<cluster_forecast> forecast_of(const show::overview& seen, const usage_trend& trend);

/// Sentences; a document (docs/forecast.md names the members).
[[nodiscard]] std::string forecast_text(const cluster_forecast& forecast);
[[nodiscard]] std::string forecast_json(const cluster_forecast& forecast);

} // namespace vgpuops::forecast
