// What replaying a decision log shows: whether the core decides as it did, or what other options would have done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuops/core_names.hpp"
#include "vgpuops/decisions/follow.hpp"
#include "vgpuops/decisions/rerun.hpp"

namespace vgpuops::decisions {

/// A cluster at the end of the log. Nodes that are gone do not count.
struct cluster_figures {
    std::int64_t nodes = 0;
    std::int64_t devices = 0;
    std::int64_t pods = 0; ///< with something, also those with CPU and memory of the host alone
    std::int64_t allocated_milli = 0;
    std::int64_t overcommitted = 0; ///< devices with more given out than they have
    /// Idle milli-GPU that the pods there, as they are distributed, cannot use; both clusters are measured with the
    /// live one's pods. None where there are no pods to measure with.
    std::optional<double> unusable_milli{};

    [[nodiscard]] std::int64_t total_milli() const noexcept { return devices * 1000; }
    [[nodiscard]] std::int64_t idle_milli() const noexcept { return total_milli() - allocated_milli; }
};

/// One scheduler's account of the pods that the log decides or refuses.
struct side {
    std::string policy{};
    std::string device_policy{}; ///< empty: as `policy`
    std::int64_t placed = 0;     ///< and not taken back
    std::int64_t waited = 0;
    std::int64_t waiting = 0; ///< at the end
    cluster_figures at_end{};
};

struct what_if_answer {
    side live{};
    side replay{};
    std::int64_t on_another_node = 0; ///< of the pods that both placed
    std::vector<pod_fate> pods{};
};

struct replay_answer {
    std::string log; ///< its name
    log_figures figures{};
    std::vector<difference> differences{};
    std::optional<what_if_answer> what_if{};
    std::vector<std::string> notes{};
};

/// Replays a log; with changes under these options, too. Errors: those of log_reader, follower and rerun.
[[nodiscard]] expected<replay_answer> replay_log(const std::string& name, std::string_view text,
                                                 const option_changes& changes);

/// As text, with the first differences, and as a document: docs/decision-log.md names the members.
[[nodiscard]] std::string answer_text(const replay_answer& answered);
[[nodiscard]] std::string answer_json(const replay_answer& answered);
/// JSON lines: a difference each, or a pod each.
[[nodiscard]] std::string differences_jsonl(const replay_answer& answered);
[[nodiscard]] std::string pods_jsonl(const what_if_answer& answered);

} // namespace vgpuops::decisions
