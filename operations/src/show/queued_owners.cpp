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
#include "vgpualloc/kube/cluster_queues.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

using kube::queue_facts;
using owner_key = std::array<std::string, 3>; // kind, namespace and name

/// What its queues say of a Workload of which Kueue says nothing.
std::string computed_words(const kube::manifest& workload, const kube::cluster_queues& queues) {
    const queue_facts& facts = *workload.queueing;
    kube::queued_workload asking{.ns = kube::namespace_of(workload),
                                 .local_queue = facts.queue,
                                 .priority = workload.priority,
                                 .name = workload.name,
                                 .created = workload.created};
    for (const kube::manifest& set : facts.pod_sets) {
        kube::queued_pods& pods = asking.pod_sets.emplace_back(kube::queued_pods{.rules = set.rules});
        kube::add_pods(set, set.replicas, pods.requests);
    }
    if (std::string shortage = queues.ask(asking).because; !shortage.empty()) return shortage;
    return fmt::format("ClusterQueue {} has the quota; Kueue has not reserved it",
                       queues.cluster_queue_of(asking.ns, facts.queue));
}

/// Why a Workload is not admitted: as Kueue says it, without the pod set that it begins with.
std::string workload_words(const kube::manifest& workload, const kube::cluster_queues& queues) {
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
        const kube::cluster_queues queues{*objects_};
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
            if (reason == reasons.end() || reason->second.is_let_in || own == tasks.end()) continue;
            add(object, own->second, reason->second.because, to);
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
        std::int64_t lacks = 0;
        for (const kube::manifest* const object : pods) lacks += object->replicas;
        to.push_back({.name = ns + "/" + name,
                      .kind = kind,
                      .why = verdict::queue,
                      .because = std::move(because),
                      .since = holder.created,
                      .asked = *milli,
                      .lacks = lacks});
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
