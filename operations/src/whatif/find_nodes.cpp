// The search for the smallest number of nodes.
#include "vgpuops/whatif/find_nodes.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "least_nodes.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpuops::whatif {

using vgpualloc::trial;

namespace {

class searcher {
public:
    searcher(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue, const node_kind& kind,
             pod_id first_id, vgpualloc::plan::lp_solver* solver, const stop_signal& stop)
        : state_{&state}, decider_{&decider}, queue_{&queue}, kind_{&kind}, first_id_{first_id}, solver_{solver},
          stop_{stop} {}

    [[nodiscard]] nodes_found run() {
        result_.nodes_max = limit();
        note_never();
        search();
        if (!result_.nodes && !stop_.raised()) { // what that many nodes do not help is set apart
            result_.most = refused_with(result_.nodes_max);
            move_to_never(result_.most);
            result_.tries.clear();
            search();
        }
        result_.helped = refused_with(0);
        if (!stop_.raised() && result_.nodes) note_least();
        return std::move(result_);
    }

private:
    void search() {
        if (all_fit(0)) {
            result_.nodes = 0;
            return;
        }
        std::int64_t fails = 0;
        std::int64_t suffices = std::min<std::int64_t>(1, result_.nodes_max);
        while (!all_fit(suffices)) {
            if (suffices == result_.nodes_max) return;
            fails = suffices;
            suffices = std::min(2 * suffices, result_.nodes_max);
        }
        while (suffices - fails > 1) {
            const std::int64_t middle = fails + (suffices - fails) / 2;
            (all_fit(middle) ? suffices : fails) = middle;
        }
        result_.nodes = suffices;
        result_.one_less = refused_with(suffices - 1);
    }

    [[nodiscard]] bool is_apart(std::size_t position) const {
        return std::ranges::binary_search(result_.never, position) ||
               std::ranges::binary_search(result_.most, position);
    }

    /// Pods that alone fit on none of the nodes there are go to new nodes in any order and under any policy.
    void note_least() {
        std::vector<vgpualloc::counted_request> pods;
        for (const std::size_t i : result_.helped) {
            const queued_pods& entry = queue_->pods[i];
            const auto request = decider_->intern(entry.pod.request);
            if (entry.one_per_node || !request || decider_->decide(*request)) continue;
            pods.push_back({.request = entry.pod.request, .pods = entry.count});
        }
        result_.least = nodes_by_amounts(pods, *kind_, state_->nodes());
        if (solver_ == nullptr || *result_.nodes <= result_.least) return;
        const std::int64_t exact =
            nodes_by_program(pods, *kind_, state_->nodes(), result_.least, *result_.nodes, *solver_);
        result_.is_exact = exact > result_.least && exact == *result_.nodes;
        result_.least = exact;
    }

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

    /// By position, the pods of entries that find no place with so many nodes; each number is tried once.
    [[nodiscard]] const std::map<std::size_t, std::int64_t>& refusals_with(std::int64_t nodes) {
        const auto [known, is_new] = refusals_.try_emplace(nodes);
        if (!is_new) return known->second;
        const queue_outcome outcome = outcome_with(nodes);
        for (std::size_t i = 0; i < queue_->pods.size(); ++i) {
            const std::int64_t refused = outcome.entries[i].refused;
            if (refused > 0 && !queue_->pods[i].unreadable) known->second.emplace(i, refused);
        }
        return known->second;
    }
    /// Positions of the entries of which some pods find no place, but for those that are set apart.
    [[nodiscard]] std::vector<std::size_t> refused_with(std::int64_t nodes) {
        std::vector<std::size_t> refused;
        for (const auto& [position, pods] : refusals_with(nodes)) {
            if (!is_apart(position)) refused.push_back(position);
        }
        return refused;
    }

    /// Also true once an end is wanted.
    bool all_fit(std::int64_t nodes) {
        const auto& refusals = refusals_with(nodes);
        if (stop_.raised()) return true; // some pods were not tried
        std::int64_t refused = 0;
        for (const auto& [position, pods] : refusals) refused += is_apart(position) ? 0 : pods;
        result_.tries.push_back({.nodes = nodes, .refused = refused});
        return refused == 0;
    }

    [[nodiscard]] vgpualloc::request_id request_known() { return *decider_->intern(vgpualloc::pod_request{}); }

    /// Entries that even alone find no place, neither on the nodes there are nor on an empty one of the kind; and gangs
    /// of which fewer are left than have to run. One that only others keep from its place may get it when they go
    /// to the new nodes.
    void note_never() {
        std::vector<std::size_t> refused = refused_with(0);
        std::erase_if(refused, [this](std::size_t i) {
            if (stop_.raised()) return true;
            const auto request = decider_->intern(queue_->pods[i].pod.request);
            return request && decider_->decide(*request);
        });
        move_to_never(refused);
        std::vector<std::size_t> of_gangs;
        for (const placing_unit& unit : queue_->units) {
            const auto may_start = [this](std::size_t i) { return !queue_->pods[i].unreadable && !is_apart(i); };
            std::int64_t pods = 0;
            for (const std::size_t i : unit.entries) pods += may_start(i) ? queue_->pods[i].count : 0;
            if (pods >= unit.minimum) continue;
            std::ranges::copy_if(unit.entries, std::back_inserter(of_gangs), may_start);
        }
        std::ranges::copy(of_gangs, std::back_inserter(result_.never));
        std::ranges::sort(result_.never);
    }

    /// Those that an empty node of the kind refuses are never helped by such nodes; others are left in the list.
    void move_to_never(std::vector<std::size_t>& positions) {
        trial scope{*state_->book};
        const auto added = add_nodes(*state_, *kind_, 1);
        std::erase_if(positions, [&](std::size_t i) {
            const auto decision = decider_->ask_node(added.front(), queue_->pods[i].pod.request);
            if (decision.answer.code == rejection_code::none) return false;
            result_.never.push_back(i);
            return true;
        });
        scope.undo();
        forget_nodes(*state_, added);
        std::ranges::sort(result_.never);
    }

    kube::snapshot* state_;
    vgpualloc::allocator* decider_;
    const pod_queue* queue_;
    const node_kind* kind_;
    pod_id first_id_;
    vgpualloc::plan::lp_solver* solver_; ///< null: there is none
    stop_signal stop_;
    std::map<std::int64_t, std::map<std::size_t, std::int64_t>> refusals_; ///< by number of nodes
    nodes_found result_;
};

} // namespace

nodes_found find_nodes(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue,
                       const node_kind& kind, pod_id first_id, vgpualloc::plan::lp_solver* solver,
                       const stop_signal& stop) {
    return searcher{state, decider, queue, kind, first_id, solver, stop}.run();
}

} // namespace vgpuops::whatif
