// The search for the smallest number of nodes.
#include "vgpuops/whatif/find_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "vgpualloc/model/trial.hpp"

namespace vgpuops::whatif {

using vgpualloc::trial;

namespace {

/// What pods ask for together of hosts and devices, as far as it adds up.
class amounts {
public:
    void add(const vgpualloc::pod_request& request, std::int64_t pods) {
        const auto times = static_cast<double>(pods);
        pods_ += times;
        cpu_ += times * static_cast<double>(request.cpu.count());
        memory_ += times * static_cast<double>(request.memory.count());
        for (const vgpualloc::device_request& container : request.containers) {
            const double devices = times * static_cast<double>(container.count);
            if (container.memory_percent || !container.profile.empty()) continue;
            device_memory_ += devices * static_cast<double>(container.memory.count());
            if (container.memory == vgpualloc::mib{0}) whole_devices_ += devices;
        }
    }

    /// How many nodes have as much; at least one where there are pods.
    [[nodiscard]] std::int64_t nodes_like(const vgpualloc::node& kind, const vgpualloc::cluster& cluster) const {
        if (pods_ == 0.0) return 0;
        double device_memory = 0.0;
        bool are_exclusive = true;
        for (const vgpualloc::device& device : kind.devices) {
            const vgpualloc::device_spec& spec = cluster.kinds[device.kind];
            device_memory += static_cast<double>(spec.memory.count());
            are_exclusive = are_exclusive && spec.mode->name() == "exclusive";
        }
        double nodes = 1.0;
        const auto need = [&nodes](double sum, double of_one) {
            constexpr double rounding = 1e-12; // of sums that are too large to be exact
            if (of_one > 0.0) nodes = std::max(nodes, std::ceil(sum / of_one * (1.0 - rounding)));
        };
        need(pods_, static_cast<double>(kind.pods_max));
        need(cpu_, static_cast<double>(kind.cpu.count()));
        need(memory_, static_cast<double>(kind.memory.count()));
        need(device_memory_, device_memory);
        if (are_exclusive) need(whole_devices_, static_cast<double>(kind.devices.size()));
        return static_cast<std::int64_t>(nodes);
    }

private:
    double pods_ = 0.0;
    double cpu_ = 0.0;           ///< mCPU
    double memory_ = 0.0;        ///< bytes
    double device_memory_ = 0.0; ///< MiB
    double whole_devices_ = 0.0;
};

class searcher {
public:
    searcher(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue, const node_kind& kind,
             pod_id first_id, const stop_signal& stop)
        : state_{&state}, decider_{&decider}, queue_{&queue}, kind_{&kind}, first_id_{first_id}, stop_{stop} {}

    [[nodiscard]] nodes_found run() {
        result_.nodes_max = limit();
        note_never();
        search();
        if (!result_.nodes && !stop_.raised()) { // what that many nodes do not help is set apart
            result_.most = refused_with(result_.nodes_max);
            result_.tries.clear();
            search();
        }
        result_.helped = refused_with(0);
        if (!stop_.raised()) result_.least = least_nodes();
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

    /// How many nodes of the kind hold as much as the pods ask for that alone fit on none of the nodes there are: such
    /// pods go to new nodes in any order and under any policy.
    [[nodiscard]] std::int64_t least_nodes() {
        amounts wanted;
        for (const std::size_t i : result_.helped) {
            const queued_pods& entry = queue_->pods[i];
            const auto request = decider_->intern(entry.pod.request);
            if (entry.one_per_node || !request || decider_->decide(*request)) continue;
            wanted.add(entry.pod.request, entry.count);
        }
        return wanted.nodes_like(kind_->described, state_->nodes());
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
        trial scope{*state_->book};
        const auto added = add_nodes(*state_, *kind_, 1);
        for (const std::size_t i : refused) {
            const auto decision = decider_->ask_node(added.front(), queue_->pods[i].pod.request);
            if (decision.answer.code != rejection_code::none) result_.never.push_back(i);
        }
        scope.undo();
        forget_nodes(*state_, added);
        std::ranges::sort(result_.never);
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

    kube::snapshot* state_;
    vgpualloc::allocator* decider_;
    const pod_queue* queue_;
    const node_kind* kind_;
    pod_id first_id_;
    stop_signal stop_;
    std::map<std::int64_t, std::map<std::size_t, std::int64_t>> refusals_; ///< by number of nodes
    nodes_found result_;
};

} // namespace

nodes_found find_nodes(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue,
                       const node_kind& kind, pod_id first_id, const stop_signal& stop) {
    return searcher{state, decider, queue, kind, first_id, stop}.run();
}

} // namespace vgpuops::whatif
