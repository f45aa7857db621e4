// Owners that Kueue or Volcano has not let in, so that they make no pods.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "overview_parts.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

using kube::queue_facts;
using kube::resource_amounts;
using owner_key = std::array<std::string, 3>; // kind, namespace and name

/// The queues of Kueue by name.
struct kueue_queues {
    std::map<std::string, const kube::manifest*> local{}; ///< with their namespaces
    std::map<std::string, const kube::manifest*> of_cluster{};
};

kueue_queues queues_among(const std::vector<kube::manifest>& objects) {
    kueue_queues result;
    for (const kube::manifest& object : objects) {
        if (!object.queueing) continue;
        if (object.kind == "LocalQueue") result.local.emplace(kube::full_name_of(object), &object);
        if (object.kind == "ClusterQueue") result.of_cluster.emplace(object.name, &object);
    }
    return result;
}

/// What is written for a resource in a list of amounts; 0 where nothing can be read.
std::int64_t written_amount(const vgpualloc::kubernetes::text_map& amounts, const std::string& resource) {
    const auto written = amounts.find(resource);
    if (written == amounts.end()) return 0;
    return kube::amount_of(resource, written->second).value_or(0);
}

/// A flavor of a ClusterQueue that has a resource.
struct flavor_quota {
    std::string flavor{};
    std::int64_t most = 0;
    std::int64_t left = 0; ///< below 0 if it has borrowed
};

/// The flavors in the order in which Kueue tries them.
std::vector<flavor_quota> flavors_with(const queue_facts& queue, const std::string& resource) {
    std::vector<flavor_quota> result;
    for (const kube::flavor_amounts& flavor : queue.quota) {
        if (!flavor.amounts.contains(resource)) continue;
        const std::int64_t most = written_amount(flavor.amounts, resource);
        const auto used = std::ranges::find(queue.reserved, flavor.flavor, &kube::flavor_amounts::flavor);
        const std::int64_t taken = used == queue.reserved.end() ? 0 : written_amount(used->amounts, resource);
        result.push_back({.flavor = flavor.flavor, .most = most, .left = most - taken});
    }
    return result;
}

/// What of one resource the queue lacks for the pod sets, in Kueue's words; empty: nothing. A pod set takes one flavor.
std::string shortage_of(const queue_facts& queue, const std::string& resource,
                        const std::vector<resource_amounts>& pod_sets) {
    std::vector<flavor_quota> flavors = flavors_with(queue, resource);
    for (const resource_amounts& requests : pod_sets) {
        const auto entry = requests.find(resource);
        if (entry == requests.end()) continue;
        const std::int64_t amount = entry->second;
        if (flavors.empty()) return fmt::format("resource {} unavailable in ClusterQueue", resource);
        const auto open =
            std::ranges::find_if(flavors, [&](const flavor_quota& flavor) { return amount <= flavor.left; });
        if (open != flavors.end()) {
            open->left -= amount;
            continue;
        }
        const flavor_quota& first = flavors.front();
        if (amount > first.most && queue.cohort.empty()) {
            return fmt::format("insufficient quota for {} in flavor {}, request > maximum capacity ({} > {})", resource,
                               first.flavor, kube::queue_amount_words(resource, amount),
                               kube::queue_amount_words(resource, first.most));
        }
        return fmt::format("insufficient unused quota for {} in flavor {}, {} more needed{}", resource, first.flavor,
                           kube::queue_amount_words(resource, amount - first.left),
                           queue.cohort.empty() ? ""
                                                : fmt::format("; what cohort {} lends is not counted", queue.cohort));
    }
    return {};
}

/// What its queues say of a Workload of which Kueue says nothing.
std::string computed_words(const kube::manifest& workload, const kueue_queues& queues) {
    const std::string& local_name = workload.queueing->queue;
    const auto local = queues.local.find(kube::namespace_of(workload) + "/" + local_name);
    if (local == queues.local.end()) return fmt::format("LocalQueue {} is not among the objects", local_name);
    const queue_facts& of_local = *local->second->queueing;
    if (!of_local.stopped.empty()) return fmt::format("LocalQueue {} is stopped ({})", local_name, of_local.stopped);
    const auto queue = queues.of_cluster.find(of_local.queue);
    if (queue == queues.of_cluster.end()) {
        return fmt::format("ClusterQueue {} is not among the objects", of_local.queue);
    }
    const queue_facts& facts = *queue->second->queueing;
    if (!facts.stopped.empty()) return fmt::format("ClusterQueue {} is stopped ({})", of_local.queue, facts.stopped);
    std::vector<resource_amounts> pod_sets;
    resource_amounts all;
    for (const kube::manifest& set : workload.queueing->pod_sets) {
        kube::add_pods(set, set.replicas, pod_sets.emplace_back());
        kube::add_pods(set, set.replicas, all);
    }
    for (const std::string& resource : kube::devices_first(all)) {
        // A queue that says nothing of the number of pods does not limit it.
        if (resource == "pods" && flavors_with(facts, resource).empty()) continue;
        std::string words = shortage_of(facts, resource, pod_sets);
        if (!words.empty()) return words;
    }
    return fmt::format("ClusterQueue {} has the quota; Kueue has not reserved it", of_local.queue);
}

/// Why a Workload is not admitted: as Kueue says it, without the pod set that it begins with.
std::string workload_words(const kube::manifest& workload, const kueue_queues& queues) {
    const queue_facts& facts = *workload.queueing;
    if (!facts.stopped.empty()) return fmt::format("Workload {} is not active", workload.name);
    if (facts.has_quota && !facts.checks_open.empty()) {
        return fmt::format("quota is reserved; not ready: admission check {}", vgpuformats::joined(facts.checks_open));
    }
    if (facts.message.empty()) {
        return facts.has_quota ? "quota is reserved; Kueue has not admitted it" : computed_words(workload, queues);
    }
    constexpr std::string_view beginning = "couldn't assign flavors to pod set ";
    const std::size_t end = facts.message.find(": ");
    const bool has_set = facts.message.starts_with(beginning) && end != std::string::npos;
    return has_set ? facts.message.substr(end + 2) : facts.message;
}

/// What templates ask for with their numbers, milli-GPU; none: no devices.
std::optional<std::int64_t> asked_by_all(const kube::snapshot& state, const std::vector<const kube::manifest*>& pods) {
    std::optional<std::int64_t> sum;
    for (const kube::manifest* const object : pods) {
        if (!object->pod) continue;
        const auto pod = kube::read_snapshot_pod(*object, state);
        if (!pod || !asks_for_devices(*pod)) continue;
        sum = sum.value_or(0) + asked_by(state, pod->request) * object->replicas;
    }
    return sum;
}

class owner_reader {
public:
    owner_reader(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen)
        : state_{&state}, objects_{&objects}, chosen_{&chosen} {
        for (const kube::manifest& object : objects) {
            if (object.kind != "Pod" || object.controller.empty() || kube::has_ended(object)) continue;
            have_pods_.insert({object.controller, kube::namespace_of(object), object.controller_name});
        }
    }

    void add_workloads(std::vector<held_job>& to) const {
        const kueue_queues queues = queues_among(*objects_);
        for (const kube::manifest& object : *objects_) {
            if (object.kind != "Workload" || !object.queueing) continue;
            const queue_facts& facts = *object.queueing;
            if (facts.is_let_in || facts.has_ended || facts.is_of_pods || object.terminating) continue;
            std::vector<const kube::manifest*> pods;
            for (const kube::manifest& set : facts.pod_sets) pods.push_back(&set);
            add(object, pods, workload_words(object, queues), to);
        }
    }

    /// Volcano makes the pods of a Job when its queue has let the PodGroup in.
    void add_volcano_jobs(std::vector<held_job>& to) const {
        const auto reasons = kube::groups_held_back(*objects_);
        if (reasons.empty()) return;
        std::map<std::string, std::vector<const kube::manifest*>> tasks; // by namespace and name of their Job
        for (const kube::manifest& object : *objects_) {
            if (object.kind != "Job" || !kube::has_roles(object) || object.terminating) continue;
            tasks[kube::namespace_of(object) + "/" + object.name.substr(0, object.name.find('/'))].push_back(&object);
        }
        for (const kube::manifest& object : *objects_) {
            if (object.kind != "PodGroup" || object.controller != "Job") continue;
            const std::string ns = kube::namespace_of(object);
            const auto reason = reasons.find(ns + "/" + object.name);
            const auto own = tasks.find(ns + "/" + object.controller_name);
            if (reason != reasons.end() && own != tasks.end()) add(object, own->second, reason->second, to);
        }
    }

private:
    /// `holder`: the object by which a queue holds its owner back.
    void add(const kube::manifest& holder, const std::vector<const kube::manifest*>& pods, std::string because,
             std::vector<held_job>& to) const {
        const std::string ns = kube::namespace_of(holder);
        if (!chosen_->ns.empty() && ns != chosen_->ns) return;
        const bool is_owned = !holder.controller.empty();
        const std::string& kind = is_owned ? holder.controller : holder.kind;
        const std::string& name = is_owned ? holder.controller_name : holder.name;
        if (have_pods_.contains({kind, ns, name})) return;
        const auto milli = asked_by_all(*state_, pods);
        if (!milli) return;
        to.push_back({.name = ns + "/" + name,
                      .kind = kind,
                      .by_queue = true,
                      .because = std::move(because),
                      .since = holder.created,
                      .asked = *milli});
    }

    const kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    const selection* chosen_;
    std::set<owner_key> have_pods_;
};

} // namespace

void add_queued_owners(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen,
                       std::vector<held_job>& to) {
    const auto may_hold = [](const kube::manifest& object) { return object.queueing != nullptr; };
    if (std::ranges::none_of(objects, may_hold)) return;
    const owner_reader reader{state, objects, chosen};
    reader.add_workloads(to);
    reader.add_volcano_jobs(to);
}

} // namespace vgpuops::show
