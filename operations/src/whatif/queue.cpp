// The queue of a what-if.
#include "vgpuops/whatif/queue.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/priority_classes.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpuops::whatif {

std::string_view to_string(pod_origin origin) noexcept {
    constexpr std::array<std::string_view, 3> names{"waits", "evicted", "added"};
    return names[static_cast<std::size_t>(origin)];
}

namespace {

std::string gang_of(const kube::snapshot_pod& pod) { return kube::pod_group_of(pod.ns, pod.object); }

/// Why nobody places the pod, whatever is free.
std::optional<error> why_not_placed(const kube::snapshot_pod& pod) {
    if (pod.failure) return pod.failure;
    if (auto held = kube::why_held_back(pod)) return held;
    return pod.unserved;
}

/// Lets a pod go to one node only.
void stay_on(const std::string& node, vgpualloc::pod_request& request) {
    auto& rules = request.rules;
    if (!rules.has_affinity) rules.affinity.emplace_back();
    rules.has_affinity = true;
    for (auto& term : rules.affinity) term.names.push_back({.key = "metadata.name", .values = {node}});
}

class queue_maker {
public:
    queue_maker(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const stop_signal& stop)
        : state_{&state}, objects_{&objects}, stop_{stop}, priorities_{objects} {
        read_objects(objects);
    }

    void add_evicted(const std::vector<pod_id>& pods, const std::vector<std::string>& node_names) {
        for (const pod_id id : pods) {
            const kube::bound_pod& bound = state_->bound[id.at()];
            queued_pods& entry = add(bound.pod, pod_origin::evicted);
            entry.from = node_names[bound.node.at()];
            const auto object = by_name_.find(entry.pod.full_name());
            if (object != by_name_.end() && kube::belongs_to_its_node(*object->second))
                stay_on(entry.from, entry.pod.request);
            --running_[entry.gang];
        }
    }
    void add_waiting() {
        for (const kube::snapshot_pod& pod : state_->pending) {
            if (stop_.poll()) return;
            add(pod, pod_origin::waits);
        }
    }
    void add_new(const std::vector<kube::manifest>& added, bool has_other_nodes) {
        read_objects(added);
        priorities_ = kube::priority_classes{*objects_, added};
        kube::quota_book quotas{*objects_, added};
        if (has_other_nodes) quotas.forget_nodes();
        for (const kube::manifest& object : added) {
            if (stop_.poll()) return;
            if (!object.pod) continue;
            auto pod = kube::read_snapshot_pod(object, *state_);
            queued_pods& entry = pod ? add(*std::move(pod), pod_origin::added)
                                     : add(failed(object, std::move(pod).error()), pod_origin::added);
            entry.count = object.replicas;
            entry.one_per_node = object.one_per_node;
            entry.created.clear();
            entry.priority = priorities_.priority_of(object);
            if (!object.problems.empty()) entry.unreadable = object.problems.front(); // a limit range refuses it
            if (!entry.pod.failure && object.problems.empty()) admit(object, quotas, entry);
            const auto slash = object.name.find('/'); // a task of a job
            if (slash == std::string::npos || !kube::starts_together(object)) continue;
            entry.gang = kube::namespace_of(object) + "/" + object.name.substr(0, slash);
            if (object.min_available > 0) minimum_[entry.gang] = object.min_available;
        }
        result_.not_looked_at = quotas.not_looked_at();
    }

    [[nodiscard]] pod_queue take() {
        std::vector<std::size_t> order(result_.pods.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [this](std::size_t left, std::size_t right) {
            const auto key = [this](std::size_t i) {
                const queued_pods& entry = result_.pods[i];
                return std::tuple{-entry.priority, entry.created.empty(), std::string_view{entry.created}};
            };
            return key(left) < key(right);
        });
        std::map<std::string, std::size_t> unit_of;
        for (const std::size_t i : order) {
            const std::string& gang = result_.pods[i].gang;
            const auto known = unit_of.find(gang);
            if (!gang.empty() && known != unit_of.end()) {
                result_.units[known->second].entries.push_back(i);
                continue;
            }
            if (!gang.empty()) unit_of.emplace(gang, result_.units.size());
            result_.units.push_back({.entries = {i}});
        }
        for (const auto& [gang, position] : unit_of) set_minimum(gang, result_.units[position]);
        return std::move(result_);
    }

private:
    void read_objects(const std::vector<kube::manifest>& objects) {
        for (const kube::manifest& object : objects) {
            if (object.kind == "PodGroup" && object.min_available > 0) {
                minimum_[kube::full_name_of(object)] = object.min_available;
            }
            if (&objects == objects_ && object.kind == "Pod") {
                by_name_.emplace(kube::full_name_of(object), &object);
            }
        }
        if (&objects != objects_) return;
        for (const kube::bound_pod& bound : state_->bound) ++running_[gang_of(bound.pod)];
    }

    [[nodiscard]] static kube::snapshot_pod failed(const kube::manifest& object, error failure) {
        kube::snapshot_pod pod;
        pod.ns = kube::namespace_of(object);
        pod.name = object.name;
        pod.place = object.place;
        pod.object = *object.pod;
        pod.failure = std::move(failure);
        return pod;
    }

    /// Leaves as many pods of the entry as quotas admit.
    void admit(const kube::manifest& object, kube::quota_book& quotas, queued_pods& entry) const {
        const std::int64_t pods = entry.one_per_node ? kube::daemon_pods(*state_, entry.pod) : entry.count;
        kube::quota_admission admission = quotas.admit(object, pods);
        kube::add_flavor_rules(admission.rules, entry.pod.request.rules);
        if (!admission.short_of) return;
        entry.held = pods - admission.pods;
        entry.short_of = std::move(admission.short_of);
        if (entry.one_per_node) {
            entry.admitted = admission.pods;
        } else {
            entry.count = admission.pods;
        }
    }

    queued_pods& add(kube::snapshot_pod pod, pod_origin origin) {
        queued_pods entry{.pod = std::move(pod), .origin = origin};
        entry.gang = gang_of(entry.pod);
        if (origin == pod_origin::evicted) entry.pod.unserved = kube::why_unserved(state_->dialects, entry.pod);
        entry.unreadable = why_not_placed(entry.pod);
        if (const auto object = by_name_.find(entry.pod.full_name()); object != by_name_.end()) {
            entry.priority = priorities_.priority_of(*object->second);
            entry.created = object->second->created;
        }
        result_.pods.push_back(std::move(entry));
        return result_.pods.back();
    }

    void set_minimum(const std::string& gang, placing_unit& unit) {
        std::int64_t pods = 0;
        for (const std::size_t i : unit.entries) pods += result_.pods[i].wanted();
        const auto said = minimum_.find(gang);
        const auto running = running_.find(gang);
        const std::int64_t run = running == running_.end() ? 0 : running->second;
        unit.is_minimum_said = said != minimum_.end();
        unit.minimum = said == minimum_.end() ? pods : std::max<std::int64_t>(said->second - run, 0);
    }

    const kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    stop_signal stop_;
    std::map<std::string, const kube::manifest*> by_name_;
    kube::priority_classes priorities_;
    std::map<std::string, std::int64_t> minimum_; ///< by gang, where it is said
    std::map<std::string, std::int64_t> running_; ///< pods by gang
    pod_queue result_;
};

/// Places a queue, unit by unit.
class placer {
public:
    placer(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue, pod_id first_id,
           const std::function<void(std::size_t)>& on_refusal, const stop_signal& stop)
        : state_{&state}, decider_{&decider}, queue_{&queue}, on_refusal_{&on_refusal}, next_id_{first_id.value()},
          stop_{stop} {
        result_.entries.resize(queue.pods.size());
    }

    [[nodiscard]] queue_outcome run() {
        for (const placing_unit& unit : queue_->units) {
            if (stop_.raised()) break;
            place(unit);
        }
        for (const entry_outcome& entry : result_.entries) {
            result_.placed += static_cast<std::int64_t>(entry.placed.size());
            result_.refused += entry.refused;
        }
        return std::move(result_);
    }

private:
    void place(const placing_unit& unit) {
        if (unit.minimum == 0) {
            for (const std::size_t i : unit.entries) place_entry(i);
            return;
        }
        const std::uint32_t first_id = next_id_;
        vgpualloc::trial scope{*state_->book};
        std::int64_t placed = 0;
        for (const std::size_t i : unit.entries) {
            place_entry(i);
            placed += static_cast<std::int64_t>(result_.entries[i].placed.size());
        }
        if (placed >= unit.minimum) return scope.keep();
        scope.undo();
        next_id_ = first_id;
        for (const std::size_t i : unit.entries) {
            entry_outcome& outcome = result_.entries[i];
            outcome.refused += static_cast<std::int64_t>(outcome.placed.size());
            outcome.placed.clear();
            outcome.gang_fitting = placed;
        }
    }

    void place_entry(std::size_t position) {
        const queued_pods& entry = queue_->pods[position];
        entry_outcome& outcome = result_.entries[position];
        if (entry.unreadable) {
            outcome.refused = entry.count;
            return;
        }
        if (entry.one_per_node) return place_on_every_node(entry, outcome);
        const auto request = decider_->intern(entry.pod.request);
        VGA_ASSERT(request.has_value(), "what a dialect reads is within the core's limits");
        for (std::int64_t i = 0; i < entry.count && !stop_.poll(); ++i) {
            const auto where = decider_->decide(*request);
            if (!where) { // and so it is for all that are like this one
                outcome.refused = entry.count - i;
                outcome.reasons = where.error();
                if (*on_refusal_ && !stop_.raised()) (*on_refusal_)(position); // which takes long
                return;
            }
            book(entry, *where, outcome);
        }
    }

    void place_on_every_node(const queued_pods& entry, entry_outcome& outcome) {
        for (std::size_t n = 0; n < state_->nodes().nodes.size() && !stop_.poll(); ++n) {
            if (entry.admitted && std::ssize(outcome.placed) >= *entry.admitted) return;
            if (!state_->book->is_present(node_index{n})) continue;
            const auto decision = decider_->ask_node(node_index{n}, entry.pod.request);
            if (decision.answer.code == rejection_code::none) book(entry, decision.where, outcome);
        }
    }

    void book(const queued_pods& entry, const vgpualloc::placement& where, entry_outcome& outcome) {
        const pod_id id{next_id_++};
        const auto reserved = state_->book->reserve(vgpualloc::booking_for(id, entry.pod.request, where));
        VGA_ASSERT(reserved.has_value(), "the ledger accepts what the allocator decides");
        const auto committed = state_->book->commit(id);
        VGA_ASSERT(committed.has_value(), "a reserved pod is committed");
        outcome.placed.push_back(where);
    }

    kube::snapshot* state_;
    vgpualloc::allocator* decider_;
    const pod_queue* queue_;
    const std::function<void(std::size_t)>* on_refusal_;
    std::uint32_t next_id_;
    stop_signal stop_;
    queue_outcome result_;
};

} // namespace

pod_queue make_queue(const kube::snapshot& state, const std::vector<std::string>& node_names,
                     const std::vector<kube::manifest>& objects, const std::vector<pod_id>& evicted,
                     const std::vector<kube::manifest>& added, const stop_signal& stop, bool has_other_nodes) {
    queue_maker maker{state, objects, stop};
    maker.add_evicted(evicted, node_names);
    maker.add_waiting();
    maker.add_new(added, has_other_nodes);
    return maker.take();
}

queue_outcome place_all(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue, pod_id first_id,
                        const std::function<void(std::size_t)>& on_refusal, const stop_signal& stop) {
    return placer{state, decider, queue, first_id, on_refusal, stop}.run();
}

} // namespace vgpuops::whatif
