// The cluster as a decision log says that it was: every event is applied, and what the core decides is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/decisions/log.hpp"

namespace vgpuops::decisions {

enum class difference_kind : std::uint8_t {
    node,        ///< another one is chosen, or the logged one refuses
    annotations, ///< one of them has another text, or is there on one side only
    refused,     ///< it fits, or nodes refuse for other reasons
    state,       ///< the call does not go with what the pod has
    learned,     ///< there is nothing new to learn from the pods
};

/// "node", "annotations", …
[[nodiscard]] std::string_view to_string(difference_kind kind) noexcept;

struct difference {
    std::size_t line = 0;
    std::string pod{}; ///< "<namespace>/<name>"; empty where it is about no pod
    difference_kind kind = difference_kind::node;
    std::string annotation{}; ///< of difference_kind::annotations: its key
    std::string logged{};
    std::string replayed{};
};

struct log_figures {
    std::int64_t events = 0;
    std::int64_t starts = 0;
    std::int64_t decisions = 0;
    std::int64_t ties = 0;            ///< decisions in which at least two candidates were equally good
    std::int64_t without_devices = 0; ///< decisions
    std::int64_t refusals = 0;
    std::map<std::string, std::int64_t> dialects{}; ///< decisions by the dialect of the pod
    std::map<std::string, std::int64_t> modes{};    ///< parts of devices that were given out, by mode
    std::map<std::string, std::int64_t> models{};   ///< likewise, by model
};

/// Command-line options that stand for those of the log.
struct option_changes {
    vgpualloc::live_option_texts texts{};
    vgpualloc::live_option_names names{}; ///< paths of the files

    [[nodiscard]] bool any() const {
        return texts.policy || texts.device_policy || texts.catalog || texts.device_config || texts.scheduler_config;
    }
};

/// The options of a start or configure, with `changes` in the place of what they replace. Errors: those of
/// read_live_options(), at the line or the file that says so.
[[nodiscard]] expected<vgpualloc::live_options> options_of(const log_event& event, const option_changes& changes);
/// An error of live_cluster::make() or configure() about these options: at the line or the command-line option.
[[nodiscard]] error policy_error(error failure, const log_event& event, const option_changes& changes);

/// The present nodes that a rule admits, by index.
[[nodiscard]] std::vector<node_index> candidates_of(const vgpualloc::ledger& book, const candidate_rule& rule);

class follower {
public:
    /// Applies the next event. Errors: options that cannot be read, unknown_name for a pod or node that is not there.
    [[nodiscard]] expected<void> apply(const log_event& event);

    [[nodiscard]] const log_figures& figures() const noexcept { return figures_; }
    [[nodiscard]] const std::vector<difference>& differences() const noexcept { return differences_; }
    /// After the first event.
    [[nodiscard]] vgpualloc::live_cluster& cluster() noexcept { return *cluster_; }

private:
    [[nodiscard]] expected<void> configure(const log_event& event);
    [[nodiscard]] expected<void> apply_to_pod(const log_event& event);
    [[nodiscard]] expected<void> decide(const log_event& event);
    void compare_annotations(const log_event& event);
    void count(const log_event& event);
    void refuse(const log_event& event);
    void call(const log_event& event);
    [[nodiscard]] bool expect_state(const log_event& event, vgpualloc::live_pod_state state);
    difference& differ(const log_event& event, difference_kind kind, std::string logged, std::string replayed);

    std::unique_ptr<vgpualloc::live_cluster> cluster_;
    log_figures figures_;
    std::vector<difference> differences_;
};

} // namespace vgpuops::decisions
