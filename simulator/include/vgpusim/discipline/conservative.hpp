// Conservative backfilling: every waiting job has a place in the plan, and none is delayed by those behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "vgpusim/discipline/free_profile.hpp"
#include "vgpusim/engine/discipline.hpp"
#include "vgpusim/engine/scheduling_context.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// In order of arrival, every job is planned for the earliest time at which its devices are free for as long as it is
/// said to run, beside what runs and what is planned before it (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section
/// 2). The plan is made anew when something ends earlier than planned or the cluster changes; else it stays true, and
/// only what arrives is added.
///
/// Plans count devices per node, so every request has to take whole devices, and all devices of a node serve it or
/// none. Host CPU and memory and quotas are not planned: a job whose time has come and that lacks them is left out of
/// the plan until something ends, and so are those that ask for the same or, where quota is lacking, have its queue.
class conservative final : public discipline {
public:
    [[nodiscard]] static expected<void> check(const simulation_input& input, const vgpualloc::cluster& nodes);

    [[nodiscard]] bool keeps_waiting() const noexcept override { return true; }
    void on_arrival(std::uint32_t job, scheduling_context& run) override;
    void on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) override;
    void on_end(std::uint32_t pod, scheduling_context& run) override;
    void on_cluster_change(scheduling_context& run) override;
    void pass(scheduling_context& run) override;

private:
    /// By the pods of a job; none for one that starts later than the others. Of a job without a plan it is empty.
    using planned_nodes = std::vector<std::optional<node_index>>;
    struct planned_job {
        std::uint32_t job = 0;
        std::uint64_t turn = 0;
        ticks start = ticks::max();
        planned_nodes nodes{};
        bool waiting = true;
    };
    struct running_pod {
        node_index node;
        ticks end; ///< as planned
    };

    void look_again_at_all();
    void plan_anew(scheduling_context& run);
    void plan(planned_job& next, scheduling_context& run);
    [[nodiscard]] bool place_gang(const planned_job& next, ticks time, ticks estimate, planned_nodes& nodes,
                                  scheduling_context& run) const;
    void plan_gang(planned_job& next, ticks estimate, scheduling_context& run);
    void take(const planned_job& planned, ticks estimate, scheduling_context& run);
    static start_result start(const planned_job& due, scheduling_context& run);
    void start_those_whose_time_has_come(scheduling_context& run);
    [[nodiscard]] bool offers(std::size_t node, std::uint32_t pod, scheduling_context& run);

    std::vector<free_profile> profiles_; ///< by node, in devices
    std::vector<planned_job> queue_;     ///< in the order of turns
    std::size_t planned_ = 0;            ///< so many of the queue are in the plan
    std::map<std::uint32_t, running_pod> running_;
    std::vector<std::uint64_t> turns_;      ///< by job, from 1; 0: it never waited
    std::vector<std::vector<bool>> offers_; ///< by request, then node: whether its devices serve it
    std::uint64_t next_turn_ = 1;
    std::multiset<ticks> ends_;              ///< of those that run, as planned
    std::set<std::uint32_t> unfit_classes_;  ///< of jobs that lacked at their time what is not planned
    std::set<std::uint32_t> held_up_queues_; ///< in which such a job lacked quota
    bool plan_is_void_ = true;
    bool is_starting_ = false; ///< a job of the plan
};

} // namespace vgpusim
