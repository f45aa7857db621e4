#include "vgpusim/discipline/autoscaler.hpp"

#include <algorithm>

#include "vgpualloc/model/trial.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

using vgpualloc::ledger;

namespace {

void bring_into_service(ledger& book, node_index node) {
    const auto ordered = book.set_schedulable(node, true);
    VGA_ASSERT(ordered.has_value(), "an autoscaler's nodes are those of the workload");
}

} // namespace

void autoscaler::on_arrival(std::uint32_t job, scheduling_context& run) {
    waiting_.push_back(job);
    rules_->on_arrival(job, run);
}

void autoscaler::on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) {
    std::erase(waiting_, run.jobs().job_of(pod));
    rules_->on_start(pod, planned_end, run);
}

void autoscaler::pass(scheduling_context& run) {
    rules_->pass(run);
    std::erase_if(waiting_, [&](std::uint32_t job) { return run.is_given_up(run.jobs().pod(job, 0)); });
    if (waiting_.empty() || nodes_.nodes.empty()) return;
    for (const node_index node : nodes_needed(run)) {
        std::erase(nodes_.nodes, node);
        on_the_way_.push_back(node);
        run.add_node_at(node, run.now() + nodes_.delay);
    }
}

std::vector<node_index> autoscaler::nodes_needed(scheduling_context& run) {
    std::vector<node_index> needed;
    const vgpualloc::trial thought{run.book()};
    for (const node_index node : on_the_way_) bring_into_service(run.book(), node);
    for (const std::uint32_t job : waiting_) {
        if (run.quotas().limits() && !run.quotas().admits(run.jobs().queue(job), run.jobs().amounts(job))) continue;
        for (std::uint32_t i = 0; i < run.jobs().pod_count(job); ++i) {
            place_in_thought(run.jobs().pod(job, i), run, needed);
        }
    }
    return needed;
}

void autoscaler::place_in_thought(std::uint32_t pod, scheduling_context& run, std::vector<node_index>& needed) {
    if (run.alloc().place(run.book(), pod_id{pod}, run.request_id_of(pod))) return;
    for (const node_index node : nodes_.nodes) {
        if (std::ranges::find(needed, node) != needed.end()) continue;
        vgpualloc::trial attempt{run.book()};
        bring_into_service(run.book(), node);
        if (!run.alloc().place(run.book(), pod_id{pod}, run.request_id_of(pod))) continue;
        attempt.keep();
        needed.push_back(node);
        return;
    }
}

} // namespace vgpusim
