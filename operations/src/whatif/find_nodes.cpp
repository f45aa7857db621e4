// The search for the smallest number of nodes.
#include "vgpuops/whatif/find_nodes.hpp"

#include <algorithm>

#include "vgpualloc/model/trial.hpp"

namespace vgpuops::whatif {

using vgpualloc::trial;

namespace {

class searcher {
public:
    searcher(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue, const node_kind& kind,
             pod_id first_id, const stop_signal& stop)
        : state_{&state}, decider_{&decider}, queue_{&queue}, kind_{&kind}, first_id_{first_id}, stop_{stop} {}

    [[nodiscard]] nodes_found run() {
        result_.nodes_max = limit();
        if (all_fit(0)) {
            result_.nodes = 0;
            return std::move(result_);
        }
        note_never();
        if (!result_.never.empty()) return std::move(result_);
        std::int64_t fails = 0;
        std::int64_t suffices = std::min<std::int64_t>(1, result_.nodes_max);
        while (!all_fit(suffices)) {
            if (suffices == result_.nodes_max) {
                result_.most = refused_with(suffices);
                return std::move(result_);
            }
            fails = suffices;
            suffices = std::min(2 * suffices, result_.nodes_max);
        }
        while (suffices - fails > 1) {
            const std::int64_t middle = fails + (suffices - fails) / 2;
            (all_fit(middle) ? suffices : fails) = middle;
        }
        result_.nodes = suffices;
        result_.one_less = refused_with(suffices - 1);
        return std::move(result_);
    }

private:
    [[nodiscard]] std::int64_t limit() const {
        std::int64_t pods = 0;
        for (const queued_pods& entry : queue_->pods) {
            if (!entry.unreadable && !entry.one_per_node) pods = std::min(pods + entry.count, nodes_added_max);
        }
        return pods;
    }

    /// Places everything on a cluster with so many nodes more, and takes it back. Once an end is wanted, nothing.
    [[nodiscard]] queue_outcome outcome_with(std::int64_t nodes) {
        queue_outcome outcome{.entries = std::vector<entry_outcome>(queue_->pods.size())};
        if (stop_.raised()) return outcome;
        {
            trial scope{*state_->book};
            const auto added = add_nodes(*state_, *kind_, nodes);
            outcome = place_all(*state_, *decider_, *queue_, first_id_, {}, stop_);
            scope.undo();
            forget_nodes(*state_, added);
        }
        // What is undone is read, so that the log does not grow with the tries.
        static_cast<void>(decider_->decide(request_known()));
        state_->book->checkpoint(decider_->next_event());
        return outcome;
    }

    /// Positions of the entries of which some pods found no place.
    [[nodiscard]] std::vector<std::size_t> refused_of(const queue_outcome& outcome) const {
        std::vector<std::size_t> refused;
        for (std::size_t i = 0; i < queue_->pods.size(); ++i) {
            if (outcome.entries[i].refused > 0 && !queue_->pods[i].unreadable) refused.push_back(i);
        }
        return refused;
    }
    [[nodiscard]] std::vector<std::size_t> refused_with(std::int64_t nodes) { return refused_of(outcome_with(nodes)); }

    /// Also true once an end is wanted.
    bool all_fit(std::int64_t nodes) {
        const queue_outcome outcome = outcome_with(nodes);
        if (stop_.raised()) return true; // some pods were not tried
        std::int64_t refused = 0;
        for (const std::size_t i : refused_of(outcome)) refused += outcome.entries[i].refused;
        result_.tries.push_back({.nodes = nodes, .refused = refused});
        return refused == 0;
    }

    [[nodiscard]] vgpualloc::request_id request_known() { return *decider_->intern(vgpualloc::pod_request{}); }

    /// Entries that even alone find no place, neither on the nodes there are nor on an empty one of the kind; and gangs
    /// of which fewer can be tried than have to run. One that only others keep from its place may get it when they go
    /// to the new nodes.
    void note_never() {
        std::vector<std::size_t> refused = refused_with(0);
        std::erase_if(refused, [this](std::size_t i) {
            if (stop_.raised()) return true;
            const auto request = decider_->intern(queue_->pods[i].pod.request);
            return request && decider_->decide(*request);
        });
        trial scope{*state_->book};
        const auto added = add_nodes(*state_, *kind_, 1);
        for (const std::size_t i : refused) {
            const auto decision = decider_->ask_node(added.front(), queue_->pods[i].pod.request);
            if (decision.answer.code != rejection_code::none) result_.never.push_back(i);
        }
        scope.undo();
        forget_nodes(*state_, added);
        for (const placing_unit& unit : queue_->units) {
            std::int64_t readable = 0;
            for (const std::size_t i : unit.entries) {
                if (!queue_->pods[i].unreadable) readable += queue_->pods[i].count;
            }
            if (readable >= unit.minimum) continue;
            for (const std::size_t i : unit.entries) {
                if (!queue_->pods[i].unreadable) result_.never.push_back(i);
            }
        }
        std::ranges::sort(result_.never);
        const auto repeated = std::ranges::unique(result_.never); // refused, and of such a gang
        result_.never.erase(repeated.begin(), repeated.end());
    }

    kube::snapshot* state_;
    vgpualloc::allocator* decider_;
    const pod_queue* queue_;
    const node_kind* kind_;
    pod_id first_id_;
    stop_signal stop_;
    nodes_found result_;
};

} // namespace

nodes_found find_nodes(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue,
                       const node_kind& kind, pod_id first_id, const stop_signal& stop) {
    return searcher{state, decider, queue, kind, first_id, stop}.run();
}

} // namespace vgpuops::whatif
