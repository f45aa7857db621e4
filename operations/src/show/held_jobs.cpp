// Jobs that a quota keeps from making pods, and what a queue does: nothing of them is among the pods that wait.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "overview_parts.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

using vgpualloc::kubernetes::quantity_unit;

/// The first resource of a quota of which too little is left for one pod; none: a pod may be made, or the quota does
/// not say what is used.
std::optional<held_job> held_by(const kube::manifest& quota, const kube::manifest& job,
                                const std::map<std::string, std::int64_t>& devices) {
    for (const auto& [limited, hard] : quota.quota_hard) {
        const auto needed = counted_by(job, devices, limited);
        if (!needed || needed->amount == 0) continue;
        const std::string& used = vgpualloc::kubernetes::value_of(quota.quota_used, limited);
        const auto most =
            vgpualloc::kubernetes::parse_quantity(hard, needed->unit, vgpualloc::kubernetes::rounding::down);
        const auto taken =
            vgpualloc::kubernetes::parse_quantity(used, needed->unit, vgpualloc::kubernetes::rounding::up);
        if (!most || !taken || *taken + needed->amount <= *most) continue;
        const bool is_in_thousandths = needed->unit == quantity_unit::thousandth;
        const std::string needed_words = std::to_string(needed->amount) + (is_in_thousandths ? "m" : "");
        return held_job{
            .because = fmt::format("quota {}: {} of {} used, {} more needed", quota.name, used, hard, needed_words),
            .quota = quota.name,
            .resource = limited,
            .used = used,
            .hard = hard,
            .needed = needed_words};
    }
    return std::nullopt;
}

void add_jobs_of_quotas(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                        const selection& chosen, std::vector<held_job>& to) {
    std::vector<const kube::manifest*> quotas;
    std::vector<const kube::manifest*> jobs; // that could make pods now
    for (const kube::manifest& object : objects) {
        if (object.kind == "ResourceQuota") quotas.push_back(&object);
        const bool is_job = object.kind == "Job" && object.pod && object.api_version.starts_with("batch/");
        if (!is_job || !object.phase.empty() || object.terminating || object.replicas == 0) continue;
        if (chosen.ns.empty() || kube::namespace_of(object) == chosen.ns) jobs.push_back(&object);
    }
    if (quotas.empty() || jobs.empty()) return;
    std::set<std::pair<std::string, std::string>> have_pods; // namespaces and names of Jobs
    for (const kube::manifest& object : objects) {
        if (object.controller == "Job") have_pods.emplace(kube::namespace_of(object), object.controller_name);
    }
    for (const kube::manifest* const job : jobs) {
        const std::string ns = kube::namespace_of(*job);
        if (!have_pods.emplace(ns, job->name).second) continue; // or it is in the objects twice
        const auto pod = kube::read_snapshot_pod(*job, state);
        if (!pod || !asks_for_devices(*pod)) continue;
        const auto devices = resources_of(state, pod->object);
        auto held = held_by_quotas(quotas, *job, devices);
        if (!held) continue;
        held->name = ns + "/" + job->name;
        held->asked = asked_by(state, pod->request);
        to.push_back(*std::move(held));
    }
}

} // namespace

std::optional<counted_amount> counted_by(const kube::manifest& maker,
                                         const std::map<std::string, std::int64_t>& devices,
                                         const std::string& limited) {
    if (limited == "pods" || limited == "count/pods") return counted_amount{.amount = 1};
    if (limited == "cpu" || limited == "requests.cpu") {
        return counted_amount{.amount = maker.cpu.count(), .unit = quantity_unit::thousandth};
    }
    if (limited == "memory" || limited == "requests.memory") return counted_amount{.amount = maker.memory.count()};
    constexpr std::string_view prefix = "requests.";
    const auto entry = devices.find(limited.starts_with(prefix) ? limited.substr(prefix.size()) : limited);
    if (entry == devices.end()) return std::nullopt;
    return counted_amount{.amount = entry->second};
}

std::optional<held_job> held_by_quotas(const std::vector<const kube::manifest*>& quotas, const kube::manifest& maker,
                                       const std::map<std::string, std::int64_t>& devices) {
    for (const kube::manifest* const quota : quotas) {
        if (kube::namespace_of(*quota) != kube::namespace_of(maker)) continue;
        if (auto held = held_by(*quota, maker, devices)) return held;
    }
    return std::nullopt;
}

std::vector<held_job> held_jobs(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                const selection& chosen) {
    std::vector<held_job> result;
    add_jobs_of_quotas(state, objects, chosen, result);
    add_queued_owners(state, objects, chosen, result);
    std::ranges::stable_sort(result, {}, &held_job::name);
    return result;
}

std::string held_words(const std::vector<held_job>& jobs) {
    const auto count = std::ssize(jobs);
    const bool are_alike =
        std::ranges::all_of(jobs, [&](const held_job& job) { return job.kind == jobs.front().kind; });
    const std::string kind = are_alike && count > 0 ? jobs.front().kind : "owner";
    return fmt::format("{} {}{} {} no pods", count, kind, count == 1 ? "" : "s", count == 1 ? "makes" : "make");
}

} // namespace vgpuops::show
