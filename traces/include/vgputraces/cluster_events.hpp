// What happens to nodes, devices and pods in a run: a table of events, and a model that failures are drawn from
// (docs/workload.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// A node leaves for good, or until it joins again; the pairs before that are of nodes and of devices. A pod crashes.
enum class node_event : std::uint8_t { fails, repaired, drained, undrained, leaves, joins, crashes };

struct cluster_event_row {
    std::uint32_t line = 0; ///< of the text, from 1
    ticks time;
    node_event what = node_event::fails;
    std::string node;   ///< empty where a pod crashes
    std::string device; ///< index or uuid; empty: the node with all of its devices
    std::string pod{};  ///< which crashes; empty for the events of nodes and devices

    bool operator==(const cluster_event_row&) const = default;
};

/// Reads CSV or JSONL with the columns time (seconds as in a table of arrivals), what, and node, device and pod where
/// they are needed. The rows come by time; of equal times as in the text. Errors have `name`, line and column; a device
/// that leaves or joins is one, as these are of nodes, and so is a pod beside a node.
[[nodiscard]] expected<std::vector<cluster_event_row>> read_cluster_events(const vgpuformats::list_content& content,
                                                                           const std::string& name);
[[nodiscard]] std::string_view to_string(node_event what) noexcept;

/// How long things work and how long they are broken, on average.
struct failure_rates {
    double mtbf_s = 0.0; ///< mean time between a repair and the next failure
    double mttr_s = 0.0; ///< mean time to repair

    bool operator==(const failure_rates&) const = default;
};

struct failure_model {
    std::optional<failure_rates> nodes;
    std::optional<failure_rates> devices;
    std::optional<ticks> horizon; ///< after the start nothing fails any more; absent: the last arrival

    bool operator==(const failure_model&) const = default;
};

/// Reads {"nodes": {"mtbf_s", "mttr_s"}, "devices": {…}, "horizon_s"}, YAML or JSON; nodes or devices has to be there.
/// Means are above 0 and at most 10^9 seconds. Errors have `name` and line.
[[nodiscard]] expected<failure_model> read_failure_model(std::string_view text, const std::string& name);

} // namespace vgputraces
