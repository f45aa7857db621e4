// Pods of one owner.
#include "vgpuops/why/owner.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "../show/overview_parts.hpp"
#include "../show/owner_names.hpp"
#include "owned_pods.hpp"
#include "try_quota.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/pod_use.hpp"
#include "waiting_groups.hpp"

namespace vgpuops::why {

namespace {

/// The object among the makers of a pod that has the name, with or without its namespace; null: none has it.
const show::pod_owner* owner_named(const std::vector<show::pod_owner>& chain, const std::string& name) {
    const auto has_name = [&](const show::pod_owner& owner) {
        return owner.kind != "Pod" && (owner.name == name || owner.name.substr(owner.name.find('/') + 1) == name);
    };
    // Of several alike in name the topmost is meant: a RayJob and its Job.
    for (std::size_t i = chain.size(); i > 0; --i) {
        if (has_name(chain[i - 1])) return &chain[i - 1];
    }
    return nullptr;
}

/// Takes the pods that the owner made, and its own name, into the answer.
class member_reader {
public:
    member_reader(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const std::string& name)
        : state_{&state}, owners_{objects}, name_{&name} {}

    expected<std::optional<owner_answer>> read() {
        owner_answer result;
        std::set<std::string> nodes;
        const std::vector<std::int64_t> used = show::used_by_pods(*state_);
        const std::vector<bool> runs = show::pods_that_run(*state_, used);
        for (std::size_t i = 0; i < state_->bound.size(); ++i) {
            const kube::bound_pod& bound = state_->bound[i];
            if (!runs[i] || !is_member(bound.pod, result)) continue;
            result.running.names.push_back(bound.pod.full_name());
            result.running.used_milli += used[i];
            nodes.insert(state_->nodes().nodes[bound.node.at()].name);
        }
        for (const kube::snapshot_pod& pod : state_->pending) {
            if (show::asks_for_devices(pod) && is_member(pod, result)) members_.insert(pod.full_name());
        }
        if (names_.empty()) return std::nullopt;
        if (names_.size() > 1) {
            const std::vector<std::string> several{names_.begin(), names_.end()};
            return unexpected(bad_value(error_code::unknown_name, "", *name_,
                                        "one owner of that name, with its namespace: " + vgpuformats::some_of(several))
                                  .at("--pod"));
        }
        std::ranges::sort(result.running.names);
        result.running.nodes.assign(nodes.begin(), nodes.end());
        return result;
    }

    /// Full names of those that wait.
    [[nodiscard]] const std::set<std::string>& members() const { return members_; }

private:
    bool is_member(const kube::snapshot_pod& pod, owner_answer& to) {
        const std::vector<show::pod_owner> chain = owners_.chain_of(pod);
        const show::pod_owner* const owner = owner_named(chain, *name_);
        if (owner == nullptr) return false;
        if (names_.empty()) {
            to.name = owner->name;
            to.kind = owner->kind;
        }
        names_.insert(owner->name);
        return true;
    }

    const kube::snapshot* state_;
    show::owner_names owners_;
    const std::string* name_;
    std::set<std::string> names_;   ///< of owners
    std::set<std::string> members_; ///< that wait
};

} // namespace

std::vector<std::string> owners_of_pods(const kube::snapshot& state, const std::vector<kube::manifest>& objects) {
    const show::owner_names owners{objects};
    std::set<std::string> names;
    const auto add = [&](const kube::snapshot_pod& pod) {
        if (!show::asks_for_devices(pod)) return;
        for (const show::pod_owner& owner : owners.chain_of(pod)) {
            if (owner.kind != "Pod") names.insert(owner.name);
        }
    };
    for (const kube::snapshot_pod& pod : state.pending) add(pod);
    for (const kube::bound_pod& bound : state.bound) add(bound.pod);
    return {names.begin(), names.end()};
}

std::optional<show::held_job> held_owner(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                         const std::string& name) {
    std::vector<show::held_job> jobs = show::held_jobs(state, objects, {});
    std::erase_if(jobs, [&](const show::held_job& job) {
        return job.name != name && job.name.substr(job.name.find('/') + 1) != name;
    });
    return jobs.size() == 1 ? std::optional{jobs.front()} : std::nullopt;
}

expected<std::optional<owner_answer>> owner_of(const std::vector<kube::manifest>& objects,
                                               const vgpualloc::dialect_set& dialects, const std::string& name,
                                               const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    member_reader reader{*state, objects, name};
    auto result = reader.read();
    if (!result) return result;
    const auto held = held_owner(*state, objects, name);
    if (!*result) {
        if (!held) return result;
        *result = owner_answer{.name = held->name, .kind = held->kind}; // its pods are on nodes that are not there
    }
    // Their gangs may have pods of other owners, so that all that wait are looked at before the others go.
    auto waiting = groups_of_waiting(*state, objects, stop,
                                     [&](const std::string& pod) { return reader.members().contains(pod); });
    if (!waiting) return unexpected(std::move(waiting).error());
    (*result)->waiting = *std::move(waiting);
    if (!held || held->name != (*result)->name) return result;
    (*result)->not_made = held;
    const kube::manifest* const maker = held->why == show::verdict::quota ? maker_of(objects, *held) : nullptr;
    if (maker == nullptr) return result;
    quota_findings findings = look_at_quota(*state, objects, *maker, *held, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    (*result)->counted = std::move(findings.counted);
    (*result)->changes = std::move(findings.changes);
    return result;
}

} // namespace vgpuops::why
