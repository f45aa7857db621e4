// Owners whose pods are not made, which are not among those that wait: a quota, a queue or the API server keeps them.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "overview_parts.hpp"
#include "overview_tables.hpp"
#include "owner_names.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

/// What a quota keeps an owner from, without the owner.
held_job held_by(const kube::quota_shortage& shortage) {
    std::string because = shortage.container.empty()
                              ? fmt::format("quota {}: {} of {} used, {} more needed", shortage.quota, shortage.used,
                                            shortage.hard, shortage.needed)
                              : words_of(shortage);
    return {.because = std::move(because), .shortage = shortage};
}

using kind_and_name = std::pair<std::string, std::string>; // kind, and name with namespace

/// What the files have of the pods of one owner.
struct pods_of_owner {
    std::int64_t active = 0; ///< neither ended nor being deleted
    std::int64_t leaving = 0;
    std::int64_t succeeded = 0;
    bool has_unready = false;                ///< an active one waits or is not ready
    const kube::manifest* example = nullptr; ///< an active one
};

std::map<kind_and_name, pods_of_owner> count_pods(const std::vector<kube::manifest>& objects) {
    const owner_names owners{objects};
    std::map<kind_and_name, pods_of_owner> result;
    for (const kube::manifest& object : objects) {
        if (object.kind != "Pod" || !object.pod || object.controller.empty()) continue;
        const std::string ns = kube::namespace_of(object);
        for (const pod_owner& owner : owners.chain_of(ns, object.name, object.pod->labels)) {
            pods_of_owner& pods = result[{owner.kind, owner.name}];
            if (kube::has_ended(object)) {
                pods.succeeded += object.phase == "Succeeded" ? 1 : 0;
            } else if (object.terminating) {
                ++pods.leaving;
            } else {
                ++pods.active;
                pods.example = &object;
                if (object.node_name.empty() || object.is_unready) pods.has_unready = true;
            }
        }
    }
    return result;
}

/// Whether the object is a Job that could make pods now, or keeps a number of pods there.
bool may_make_pods(const kube::manifest& object) {
    if (!object.pod || object.terminating || object.replicas == 0) return false;
    if (object.kind == "Job") return object.api_version.starts_with("batch/") && object.phase.empty();
    constexpr std::array<std::string_view, 4> kinds{"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"};
    return std::ranges::find(kinds, object.kind) != kinds.end();
}

/// How many pods the owner would make now if nothing kept it.
std::int64_t lacking(const kube::manifest& owner, const pods_of_owner& pods) {
    if (owner.kind == "StatefulSet") { // it makes one after the other, and none in place of one that is still there
        return pods.has_unready || pods.leaving > 0 ? 0 : std::max<std::int64_t>(owner.replicas - pods.active, 0);
    }
    std::int64_t wanted = owner.replicas;
    if (owner.kind == "Job") {
        const std::int64_t succeeded = std::max(owner.succeeded, pods.succeeded);
        // Without a number of completions a Job makes no more pods once one has succeeded.
        if (owner.completions == 0 && succeeded > 0) return 0;
        if (owner.completions > 0) wanted = std::min(wanted, owner.completions - succeeded);
    }
    return std::max<std::int64_t>(wanted - pods.active, 0);
}

/// The name under which an owner is told: a Deployment makes its pods through ReplicaSets.
kind_and_name told_as(const kube::manifest& owner) {
    const std::string ns = kube::namespace_of(owner);
    const bool is_part = owner.kind == "ReplicaSet" && !owner.controller.empty();
    return is_part ? kind_and_name{owner.controller, ns + "/" + owner.controller_name}
                   : kind_and_name{owner.kind, ns + "/" + owner.name};
}

class makers_of_pods {
public:
    makers_of_pods(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen)
        : state_{&state}, objects_{&objects}, quotas_{objects}, admission_{objects} {
        for (const kube::manifest& object : objects) {
            if (object.kind == "ReplicaSet" && object.replicas > 0) has_sets_.insert(told_as(object));
            if (!may_make_pods(object)) continue;
            if (chosen.ns.empty() || kube::namespace_of(object) == chosen.ns) owners_.push_back(&object);
        }
    }

    void add_owners(std::vector<held_job>& to) {
        for (const kube::manifest* const owner : owners_) {
            const kind_and_name name = told_as(*owner);
            const bool is_by_sets = owner->kind == "Deployment" && has_sets_.contains(name);
            if (is_by_sets || !looked_at_.emplace(owner->kind, kube::full_name_of(*owner)).second) continue;
            add(*owner, name, to);
        }
    }

private:
    /// What keeps an owner that has such a pod from one more, without the owner.
    std::optional<held_job> kept_by(const kube::manifest& owner, const kube::manifest* example) {
        kube::manifest next_pod = owner;
        auto refusal = admission_.admit(next_pod);
        if (example != nullptr) { // it shows all that was added to the template, also by what the files do not have
            next_pod = *example;
            kube::manifest as_made = *example;
            if (refusal && !admission_.admit(as_made)) refusal.reset();
        }
        if (refusal) return held_job{.why = verdict::never, .because = std::move(*refusal).at("").message()};
        const auto shortage = quotas_.shortage_of(next_pod);
        if (!shortage) return std::nullopt;
        held_job held = held_by(*shortage);
        held.next_pod = std::move(next_pod);
        return held;
    }

    /// Counted when the first is asked for: there may be many.
    const std::map<kind_and_name, pods_of_owner>& pods() {
        if (!pods_) pods_ = count_pods(*objects_);
        return *pods_;
    }

    void add(const kube::manifest& owner, const kind_and_name& name, std::vector<held_job>& to) {
        if (quotas_.empty()) { // most clusters
            kube::manifest next_pod = owner;
            if (!admission_.admit(next_pod)) return;
        }
        const auto pod = kube::read_snapshot_pod(owner, *state_);
        if (!pod || !asks_for_devices(*pod)) return;
        const auto own = pods().find({owner.kind, kube::full_name_of(owner)});
        const pods_of_owner has = own == pods().end() ? pods_of_owner{} : own->second;
        const std::int64_t lacks = lacking(owner, has);
        if (lacks == 0) return;
        auto held = kept_by(owner, has.example);
        if (!held) return;
        const auto [known, is_new] = positions_.emplace(name, to.size());
        if (!is_new) { // another ReplicaSet of the Deployment
            to[known->second].lacks += lacks;
            return;
        }
        held->kind = name.first;
        held->name = name.second;
        held->asked = asked_by(*state_, pod->request);
        held->lacks = lacks;
        const auto all = pods().find(name);
        if (all != pods().end()) held->pods = all->second.active;
        to.push_back(*std::move(held));
    }

    const kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    kube::resource_quotas quotas_;
    kube::pod_admission admission_;
    std::vector<const kube::manifest*> owners_;
    std::set<kind_and_name> has_sets_; ///< owners of ReplicaSets
    std::set<kind_and_name> looked_at_;
    std::optional<std::map<kind_and_name, pods_of_owner>> pods_;
    std::map<kind_and_name, std::size_t> positions_; ///< of owners that are held, in the list
};

} // namespace

std::vector<held_job> held_jobs(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                const selection& chosen) {
    std::vector<held_job> result;
    makers_of_pods{state, objects, chosen}.add_owners(result);
    add_queued_owners(state, objects, chosen, result);
    std::ranges::stable_sort(result, {}, &held_job::name);
    return result;
}

namespace {

/// "2 Jobs"; owners of several kinds are "owners".
std::string owners_words(const std::vector<const held_job*>& jobs) {
    const bool are_alike =
        std::ranges::all_of(jobs, [&](const held_job* job) { return job->kind == jobs.front()->kind; });
    return fmt::format("{} {}{}", jobs.size(), are_alike ? jobs.front()->kind : "owner", jobs.size() == 1 ? "" : "s");
}

} // namespace

std::string held_words(const std::vector<held_job>& jobs) {
    std::vector<const held_job*> without_pods;
    std::vector<const held_job*> with_some;
    std::int64_t lacks = 0;
    for (const held_job& job : jobs) {
        (job.pods == 0 ? without_pods : with_some).push_back(&job);
        if (job.pods > 0) lacks += job.lacks;
    }
    std::string words;
    if (!without_pods.empty()) {
        words = fmt::format("{} {} no pods", owners_words(without_pods), without_pods.size() == 1 ? "makes" : "make");
    }
    if (!with_some.empty()) {
        words += fmt::format("{}{} {} {}", words.empty() ? "" : ", ", owners_words(with_some),
                             with_some.size() == 1 ? "lacks" : "lack", several(lacks, "pod"));
    }
    return words;
}

std::string because_words(const held_job& job) {
    if (job.pods == 0) return job.because;
    return fmt::format("{} of {} not made; {}", job.lacks, several(job.pods + job.lacks, "pod"), job.because);
}

std::string unread_words(std::int64_t pods) {
    if (pods == 0) return {};
    return fmt::format(" {} {} for resources that are not read.", several(pods, "pod"), pods == 1 ? "waits" : "wait");
}

std::string waiting_words(std::int64_t pods, std::int64_t fit) {
    if (pods == 1) return fit == 1 ? "1 pod waits, and fits now" : "1 pod waits, and does not fit now";
    std::string words = fmt::format("{} pods wait, ", pods);
    if (fit == 0) return words + "none fits now";
    if (fit == 1) return words + "1 fits now";
    return words + (fit == pods ? "all" : std::to_string(fit)) + " fit now, each alone";
}

} // namespace vgpuops::show
