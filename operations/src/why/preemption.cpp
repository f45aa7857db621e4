#include "preemption.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/disruption_budgets.hpp"
#include "vgpualloc/kube/priority_classes.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuops/show/headroom.hpp"

namespace vgpuops::why {

namespace {

struct possible_victim {
    pod_id id;
    std::string name{}; ///< with its namespace
    std::int64_t priority = 0;
    std::string started{};
    bool has_budget = false; ///< that forbids to evict it now
};

class preemptor {
public:
    preemptor(kube::snapshot& state, const std::vector<kube::manifest>& objects, const kube::snapshot_pod& pod,
              std::int64_t priority, const kube::priority_classes& known)
        : state_{&state}, pod_{&pod}, policies_{show::best_fit()}, decider_{*state.book, policies_.pair()} {
        std::map<std::string, const kube::manifest*> lower;
        for (const kube::manifest& object : objects) {
            if (object.kind != "Pod" || !object.pod || kube::has_ended(object) || known.priority_of(object) >= priority)
                continue;
            lower.emplace(kube::full_name_of(object), &object);
        }
        if (lower.empty()) return;
        const kube::disruption_budgets budgets{objects};
        for (std::size_t i = 0; i < state.bound.size(); ++i) {
            const auto object = lower.find(state.bound[i].pod.full_name());
            if (object == lower.end() || !state.book->is_live(pod_id{i})) continue;
            victims_[state.bound[i].node.at()].push_back({.id = pod_id{i},
                                                          .name = object->first,
                                                          .priority = known.priority_of(*object->second),
                                                          .started = object->second->started,
                                                          .has_budget = !budgets.why_kept(object->first).empty()});
        }
    }

    [[nodiscard]] std::optional<preemption> run(stop_signal stop) {
        std::optional<preemption> best;
        rank_of_victims best_rank;
        // kube-scheduler looks at so many nodes that would do, by default.
        std::size_t nodes_left = std::max<std::size_t>(100, state_->nodes().nodes.size() / 10);
        for (auto& [position, possible] : victims_) {
            if (stop.poll() || nodes_left == 0) break;
            const node_index where{position};
            const vgpualloc::node& node = state_->nodes().nodes[position];
            if (!state_->book->is_present(where)) continue;
            if (vgpualloc::why_not_host(pod_->request.rules, node.host, node.name) != rejection_code::none) continue;
            const std::vector<const possible_victim*> victims = victims_on(where, possible, stop);
            if (victims.empty()) continue;
            --nodes_left;
            rank_of_victims rank = rank_of(victims);
            if (best && best_rank <= rank) continue;
            best_rank = std::move(rank);
            best.emplace(preemption{.node = node.name});
            for (const possible_victim* const victim : victims) best->pods.push_back(victim->name);
            std::ranges::sort(best->pods);
        }
        return best;
    }

private:
    /// Budgets, highest priority, sum of priorities, pods, and whether those of the highest priority started early.
    struct rank_of_victims {
        std::int64_t budgets = 0;
        std::int64_t highest = 0;
        std::int64_t sum = 0;
        std::size_t pods = 0;
        std::string earliest_start{}; ///< the latest is best

        [[nodiscard]] bool operator<=(const rank_of_victims& other) const {
            const auto amounts = [](const rank_of_victims& rank) {
                return std::tie(rank.budgets, rank.highest, rank.sum, rank.pods);
            };
            if (amounts(*this) != amounts(other)) return amounts(*this) < amounts(other);
            return earliest_start >= other.earliest_start;
        }
    };

    [[nodiscard]] bool fits_on(node_index where) {
        return decider_.ask_node(where, pod_->request).answer.code == rejection_code::none;
    }

    /// None where the pod would not fit without all of them, or fits as things are.
    [[nodiscard]] std::vector<const possible_victim*>
    victims_on(node_index where, std::vector<possible_victim>& possible, stop_signal& stop) {
        std::ranges::stable_sort(possible, {}, [](const possible_victim& victim) {
            return std::tuple{!victim.has_budget, -victim.priority, victim.started.empty(),
                              std::string_view{victim.started}};
        });
        vgpualloc::trial scope{*state_->book};
        std::vector<vgpualloc::booking> bookings;
        for (const possible_victim& victim : possible) {
            bookings.push_back(state_->book->booking_of(victim.id));
            static_cast<void>(state_->book->release(victim.id));
        }
        std::vector<const possible_victim*> result;
        if (!fits_on(where)) return result;
        for (std::size_t i = 0; i < possible.size(); ++i) {
            if (stop.poll()) return {};
            const auto adopted = state_->book->adopt(bookings[i]);
            VGA_ASSERT(adopted.has_value(), "it was there before");
            if (fits_on(where)) continue;
            static_cast<void>(state_->book->release(possible[i].id));
            result.push_back(&possible[i]);
        }
        return result;
    }

    [[nodiscard]] static rank_of_victims rank_of(const std::vector<const possible_victim*>& victims) {
        rank_of_victims rank{.highest = victims.front()->priority, .pods = victims.size()};
        constexpr std::int64_t offset = std::int64_t{1} << 31U; // as kube-scheduler adds it: fewer pods have less
        for (const possible_victim* const victim : victims) {
            rank.budgets += victim->has_budget ? 1 : 0;
            rank.highest = std::max(rank.highest, victim->priority);
            rank.sum += victim->priority + offset;
        }
        for (const possible_victim* const victim : victims) {
            if (victim->priority != rank.highest) continue;
            const bool is_earlier = rank.earliest_start.empty() || victim->started < rank.earliest_start;
            if (is_earlier) rank.earliest_start = victim->started;
        }
        return rank;
    }

    kube::snapshot* state_;
    const kube::snapshot_pod* pod_;
    vgpualloc::owned_policies policies_;
    vgpualloc::allocator decider_;
    std::map<std::size_t, std::vector<possible_victim>> victims_; ///< by node
};

} // namespace

std::optional<preemption> preemption_for(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                         const kube::snapshot_pod& pod, const kube::manifest& object,
                                         const stop_signal& stop) {
    const kube::priority_classes known{objects};
    if (!known.preempts(object)) return std::nullopt;
    return preemptor{state, objects, pod, known.priority_of(object), known}.run(stop);
}

} // namespace vgpuops::why
