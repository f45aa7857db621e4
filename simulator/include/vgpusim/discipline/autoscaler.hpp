// A cluster autoscaler: adds nodes for jobs that wait.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vgpualloc/model/placement.hpp"
#include "vgpusim/engine/discipline.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Goes by what a discipline leaves waiting. After every pass the waiting jobs are placed in thought, in the order in
/// which they came, on the cluster with the nodes that are on their way; for a pod that fits none of them the first of
/// the remaining nodes that it fits is added, which takes pods after the delay. Jobs without quota add nothing. Nodes
/// are not taken away again. (As Kubernetes' Cluster Autoscaler does it: pods that cannot be scheduled are tried on
/// nodes as they would be.)
class autoscaler final : public discipline {
public:
    autoscaler(std::unique_ptr<discipline> rules, autoscaling nodes)
        : rules_{std::move(rules)}, nodes_{std::move(nodes)} {}

    [[nodiscard]] bool keeps_waiting() const noexcept override { return rules_->keeps_waiting(); }
    void on_arrival(std::uint32_t job, scheduling_context& run) override;
    void on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) override;
    void on_end(std::uint32_t pod, scheduling_context& run) override { rules_->on_end(pod, run); }
    void on_cluster_change(scheduling_context& run) override { rules_->on_cluster_change(run); }
    [[nodiscard]] bool approves_late_member(std::uint32_t pod, const vgpualloc::placement& where,
                                            scheduling_context& run) override {
        return rules_->approves_late_member(pod, where, run);
    }
    void pass(scheduling_context& run) override;

private:
    [[nodiscard]] std::vector<node_index> nodes_needed(scheduling_context& run);
    void place_in_thought(std::uint32_t pod, scheduling_context& run, std::vector<node_index>& needed);

    std::unique_ptr<discipline> rules_;
    autoscaling nodes_;                  ///< those that have not been added
    std::vector<node_index> on_the_way_; ///< added, and not there yet or there by now
    std::vector<std::uint32_t> waiting_; ///< jobs, in the order in which they came
};

} // namespace vgpusim
