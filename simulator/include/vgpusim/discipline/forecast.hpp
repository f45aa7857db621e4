// When a job could start by the estimates of what runs, and whether another one would keep it from that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vgpualloc/model/partition.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

class scheduling_context;

/// Follows what runs. Times are absolute; ticks::max() is never. A pod that has outlived its estimate is taken to end
/// at any moment.
///
/// A pod with one container that takes any device is answered exactly from tables: per device the time from which it
/// could serve one unit of the request, per node the time from which it could serve all, and over the nodes a tree of
/// minima. They are brought up to date device by device. Gangs whose pods take whole devices and nothing else are
/// counted from the same tables. Other gangs and pods that choose among devices are answered by trials on the ledger:
/// what ends by some time is released and the job placed, under the policy of the run.
class release_forecast {
public:
    release_forecast();
    ~release_forecast();
    release_forecast(const release_forecast&) = delete;
    release_forecast& operator=(const release_forecast&) = delete;

    // What the discipline hears, passed on.
    void on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run);
    /// Returns whether the pod ended when it was planned to, so that nothing is different from what was forecast.
    bool on_end(std::uint32_t pod, scheduling_context& run);
    void on_cluster_change();
    /// Somebody has started without being asked whether that keeps what was forecast.
    void forget_answer() { known_job_.reset(); }

    /// The earliest time at which the job could start if nothing else did; not before now.
    [[nodiscard]] ticks earliest(std::uint32_t job, scheduling_context& run);
    /// Whether the job could still start at `time` although the placements `added`, which the ledger has as reserved,
    /// last longer than that. Without them it could.
    [[nodiscard]] bool keeps(std::uint32_t job, ticks time, std::span<const vgpualloc::placement> added,
                             scheduling_context& run);

private:
    /// One part of a device that a pod has, or one pod of a node, and when it is planned to end.
    struct running_part {
        ticks end;
        std::uint32_t pod = 0;
        vgpualloc::partition part;
    };
    struct running_pod {
        ticks end;
        std::uint32_t pod = 0;
    };
    class time_tree;
    struct unit_times;
    struct request_times;

    void prepare(scheduling_context& run);
    [[nodiscard]] std::size_t flat(node_index node, device_index device) const noexcept {
        return first_device_[node.at()] + device.at();
    }
    [[nodiscard]] bool is_plain(std::uint32_t job, scheduling_context& run) const;
    [[nodiscard]] unit_times& unit_of(const vgpualloc::device_request& container, scheduling_context& run);
    [[nodiscard]] request_times& times_of(std::uint32_t pod, scheduling_context& run);
    void refresh(unit_times& unit, scheduling_context& run);
    void refresh(request_times& times, scheduling_context& run);
    [[nodiscard]] std::span<const ticks> devices_of(const unit_times& unit, std::size_t node) const noexcept;
    /// devices_of(), with what `added` leaves of the node's devices.
    [[nodiscard]] std::vector<ticks> devices_with(const unit_times& unit, std::size_t node,
                                                  std::span<const vgpualloc::placement> added,
                                                  scheduling_context& run) const;
    [[nodiscard]] ticks device_time(const vgpualloc::device_request& unit, node_index node, device_index device,
                                    scheduling_context& run) const;
    [[nodiscard]] ticks host_time(node_index node, const pod_request& request, scheduling_context& run) const;
    [[nodiscard]] ticks node_time(const pod_request& request, node_index node, std::span<const ticks> devices,
                                  scheduling_context& run);
    [[nodiscard]] bool keeps_plain(std::uint32_t pod, ticks time, std::span<const vgpualloc::placement> added,
                                   scheduling_context& run);
    void look_again_at(std::span<const vgpualloc::placement> added);
    [[nodiscard]] unit_times* whole_device_gang(std::uint32_t job, scheduling_context& run);
    [[nodiscard]] bool gang_fits(std::uint32_t job, const unit_times& unit, ticks time,
                                 std::span<const vgpualloc::placement> added, scheduling_context& run) const;
    [[nodiscard]] ticks earliest_of_gang(std::uint32_t job, unit_times& unit, scheduling_context& run);
    [[nodiscard]] ticks earliest_by_trial(std::uint32_t job, scheduling_context& run);
    [[nodiscard]] bool fits_at(std::uint32_t job, ticks time, scheduling_context& run);

    std::vector<std::size_t> first_device_;          ///< by node; one more at the end
    std::vector<std::vector<running_part>> parts_;   ///< by device over all nodes
    std::vector<std::vector<running_pod>> pods_;     ///< by node
    std::vector<std::uint32_t> changed_devices_;     ///< every change, in order
    std::vector<std::uint32_t> changed_nodes_;       ///< likewise
    std::vector<std::unique_ptr<unit_times>> units_; ///< by distinct unit
    std::vector<std::unique_ptr<request_times>>
        requests_; ///< by position in simulation_input::requests; null: not asked
    std::vector<ticks> scratch_;
    std::vector<std::uint64_t> refreshed_in_; ///< by node: the last refresh of a table that looked at it
    std::uint64_t refreshes_ = 0;
    /// The last answer by trial, which holds until something ends earlier than planned.
    std::optional<std::uint32_t> known_job_;
    ticks known_time_;
};

} // namespace vgpusim
