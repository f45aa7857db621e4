// What the MIG GPUs of a living cluster are cut into, and the steps that cut them anew: for whoever carries these out
// on a node, one by one, and says what became of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/plan/transition_request.hpp"

namespace vgpualloc::operate {

/// One instance of a GPU.
struct layout_instance {
    std::string profile; ///< by its name
    std::int64_t profile_id = 0;
    std::int64_t start = 0; ///< in memory slices, as NVML has it
    std::int64_t size = 0;
    bool exists = true;   ///< false: a pod was given it, and the driver has not made it yet
    bool is_busy = false; ///< a pod has it, or whoever noted the layout says that it is in use

    bool operator==(const layout_instance&) const = default;
};

/// One step as the driver wants it: nvmlDeviceCreateGpuInstanceWithPlacement takes `profile_id` and {start, size}.
struct layout_step {
    plan::mig_step_kind kind = plan::mig_step_kind::create; ///< create or destroy
    std::string profile;                                    ///< by its name
    std::int64_t profile_id = 0;
    mig_units start;
    mig_units size{};
    ticks takes{}; ///< plan::mig_step_costs

    bool operator==(const layout_step&) const = default;
};

/// What became of a step.
enum class step_outcome : std::uint8_t {
    done,
    failed, ///< what the GPU is cut into is not known until it is noted again
};

/// The GPUs of one living cluster. What its driver has made of a GPU is noted (note_layout), planned with (plan), and
/// followed step by step (note_step); which instances pods have the cluster's ledger says where it counts instances by
/// their places, and `busy` where GPUs are cut by geometry groups. Nothing here changes what the scheduler decides: a
/// device that is being cut is taken out of service by live_cluster::set_service(). No instance that is busy is touched
/// by a plan, and no place that a pod was given is taken for another one.
///
/// Devices are known by their node's name and their uuid; what was noted of one that is gone is forgotten. Errors of
/// all calls: those of live_cluster::find_device(); unsupported for a device that is not shared as mig, or whose model
/// the catalog does not have. Not thread-safe. The cluster outlives this.
class device_layouts {
public:
    explicit device_layouts(live_cluster& live, plan::mig_step_costs costs = {}) : live_{&live}, costs_{costs} {}

    /// What the driver has: instances as PROFILE@START, and of these the busy ones. In the place of all that was noted
    /// of the device before. Errors: those of plan::read_live_state().
    expected<void> note_layout(node_index where, std::string_view uuid, const std::vector<std::string>& instances,
                               const std::vector<std::string>& busy = {});

    /// What is known: the instances that exist, and those that pods were given and that do not exist yet, by start.
    /// Before anything was noted the driver is taken to have nothing. Error unsupported after a step has failed.
    [[nodiscard]] expected<std::vector<layout_instance>> layout_of(node_index where, std::string_view uuid);

    /// The cheapest steps to what is wanted (plan::plan_layout), one after the other: a free instance of a profile, one
    /// at a start, or the instances of a geometry group; none if there is no way. Of a pod that was given an instance
    /// which does not exist yet, `want` names the place, and the steps make it. Moves of pods are not planned. Errors:
    /// those of plan::plan_layout(), unsupported after a step has failed, and where moves are asked for.
    [[nodiscard]] expected<std::optional<std::vector<layout_step>>> plan(node_index where, std::string_view uuid,
                                                                         const plan::transition_request& request);

    /// A step of a plan was carried out, or was not; its kind, profile and start count. Errors: unknown_name for a
    /// profile; unsupported for a step that moves pods, and after another one has failed; mismatch for one that this
    /// GPU cannot take: it destroys an instance that is not there or is busy, or makes one for which there is no place.
    /// Nothing is noted then.
    expected<void> note_step(node_index where, std::string_view uuid, const layout_step& step, step_outcome outcome);

    /// False after a step of the device has failed, until its layout is noted again.
    [[nodiscard]] bool is_known(node_index where, std::string_view uuid) const;

private:
    using device_key = std::pair<std::string, std::string>; ///< name of the node, uuid
    struct noted_layout {
        plan::mig_places exists = 0;
        plan::mig_places busy = 0; ///< as it was noted
        bool is_known = true;
    };
    /// One device at the moment of a call.
    struct device_now {
        device_key key;
        plan::mig_transitions* planner = nullptr;
        plan::mig_places given = 0; ///< to pods, by the ledger
        noted_layout noted{};

        [[nodiscard]] plan::mig_places busy() const noexcept { return (given | noted.busy) & noted.exists; }
        [[nodiscard]] plan::mig_places promised() const noexcept { return given & ~noted.exists; }
    };

    [[nodiscard]] expected<device_now> look_at(node_index where, std::string_view uuid);
    /// The same, with an error if what the device is cut into is not known.
    [[nodiscard]] expected<device_now> look_at_known(node_index where, std::string_view uuid);
    [[nodiscard]] expected<plan::mig_transitions*> planner_for(std::string_view name);
    void forget_gone();

    live_cluster* live_;
    plan::mig_step_costs costs_;
    std::map<std::string, plan::mig_transitions, std::less<>> planners_; ///< by model, as the catalog names it
    std::map<device_key, noted_layout> noted_;
};

} // namespace vgpualloc::operate
