// Conservative backfilling: every waiting job has a place in the plan, and none is delayed by those behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/small_vector.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpusim/discipline/discipline.hpp"
#include "vgpusim/discipline/free_profile.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// In order of arrival, every job is planned for the earliest time at which its devices are free for as long as it is
/// said to run, beside what runs and what is planned before it (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section
/// 2). The plan is made anew when something ends earlier than planned or the cluster changes; else it stays true, and
/// only what arrives is added.
///
/// Plans count devices per node, so every request has to take whole devices. Host CPU and memory are not planned: a job
/// whose time has come and that lacks them waits for the next plan.
class conservative final : public discipline {
public:
    [[nodiscard]] static vgpualloc::expected<void> check(const simulation_input& input,
                                                         const vgpualloc::cluster& nodes);

    [[nodiscard]] bool keeps_waiting() const noexcept override { return true; }
    void on_arrival(std::uint32_t job, simulation& run) override;
    void on_start(std::uint32_t pod, vgpualloc::ticks planned_end, simulation& run) override;
    void on_end(std::uint32_t pod, simulation& run) override;
    void on_cluster_change(simulation& /*run*/) override { plan_is_void_ = true; }
    void pass(simulation& run) override;

private:
    struct planned_job {
        std::uint32_t job = 0;
        std::uint64_t turn = 0;
        vgpualloc::ticks start = vgpualloc::ticks::max();
        vgpualloc::small_vector<vgpualloc::node_index, 2> nodes{}; ///< one for each of its pods; empty: no plan
        bool waiting = true;
    };
    struct running_pod {
        vgpualloc::node_index node;
        std::int64_t devices = 0;
        vgpualloc::ticks end; ///< as planned
    };

    void plan_anew(simulation& run);
    void plan(planned_job& next, simulation& run);
    [[nodiscard]] bool place_gang(const planned_job& next, vgpualloc::ticks time, vgpualloc::ticks estimate,
                                  std::vector<vgpualloc::node_index>& nodes, simulation& run) const;
    void plan_gang(planned_job& next, vgpualloc::ticks estimate, simulation& run);
    void take(const planned_job& planned, vgpualloc::ticks estimate, simulation& run);
    static start_result start(const planned_job& due, simulation& run);
    void start_those_whose_time_has_come(simulation& run);
    [[nodiscard]] bool offers(std::size_t node, std::uint32_t pod, simulation& run);

    std::vector<free_profile> profiles_; ///< by node, in devices
    std::vector<planned_job> queue_;     ///< in the order of turns
    std::size_t planned_ = 0;            ///< so many of the queue are in the plan
    std::map<std::uint32_t, running_pod> running_;
    std::vector<std::uint64_t> turns_;      ///< by job, from 1; 0: it never waited
    std::vector<std::vector<bool>> offers_; ///< by request, then node: whether its devices serve it
    std::uint64_t next_turn_ = 1;
    bool plan_is_void_ = true;
};

} // namespace vgpusim
