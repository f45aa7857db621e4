// Overviews: pools, shapes, users and pods that wait of one snapshot.
#include "vgpuops/show/overview.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "overview_parts.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuops/show/pod_use.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::show {

std::set<std::string> pods_of_short_gangs(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                          const stop_signal& stop) {
    std::set<std::string> names;
    whatif::pod_queue queue = whatif::make_queue(state, {}, objects, {}, {}, stop);
    const auto has_minimum = [](const whatif::placing_unit& unit) { return unit.minimum > 0; };
    const std::vector<whatif::placing_unit> units = std::exchange(queue.units, {});
    if (std::ranges::none_of(units, has_minimum)) return names;
    const auto policies = vgpualloc::make_policies("best_fit", "", {});
    VGA_ASSERT(policies.has_value(), "best_fit needs no parameters");
    vgpualloc::allocator decider{*state.book, policies->pair()};
    stop_signal end = stop;
    for (const whatif::placing_unit& unit : units) {
        if (!has_minimum(unit) || end.poll()) continue;
        vgpualloc::trial scope{*state.book};
        queue.units = {unit};
        const auto outcome = whatif::place_all(state, decider, queue, pod_id{state.bound.size()}, {}, stop);
        for (const std::size_t position : unit.entries) {
            if (outcome.entries[position].placed.empty()) names.insert(queue.pods[position].pod.full_name());
        }
    }
    return names;
}

void add_waiting(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                 const std::set<std::string>& short_gangs, const rooms& available, overview& to) {
    std::map<std::string, std::string> since;
    for (const kube::manifest& object : objects) {
        if (object.kind == "Pod" && !object.created.empty()) {
            since.emplace(kube::namespace_of(object) + "/" + object.name, object.created);
        }
    }
    std::map<vgpualloc::pod_request, verdict> first; // by shape
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!asks_for_devices(pod)) continue;
        const auto known = pod.failure ? available.end() : available.find(pod.request);
        const room here = known == available.end() ? room{.is_readable = false} : known->second;
        const std::string name = pod.full_name();
        const verdict why = verdict_of(pod, here, short_gangs.contains(name));
        const auto moment = since.find(name);
        to.waiting.push_back({.name = name, .why = why, .since = moment == since.end() ? "" : moment->second});
        if (known == available.end()) continue;
        const auto [entry, is_new] = first.emplace(pod.request, why);
        if (!is_new) entry->second = std::min(entry->second, why);
    }
    to.pods_wait = static_cast<std::int64_t>(to.waiting.size());
    std::ranges::sort(to.waiting, {}, &waiting_pod::name);
    std::size_t position = 0; // rooms and shapes have one order
    for (const auto& [request, here] : available) {
        if (const auto entry = first.find(request); entry != first.end()) {
            to.shapes[position].first_verdict = entry->second;
        }
        ++position;
    }
    std::ranges::stable_sort(to.shapes, {}, [](const shape_row& row) {
        return std::tuple{row.wait == 0, -row.wait, row.first_verdict, -row.run, std::string_view{row.name}};
    });
}

namespace {

/// What the quotas of devices say, by namespace. A resource is named as pods name it.
std::map<std::string, std::vector<quota_amount>> quotas_of(const kube::snapshot& state,
                                                           const std::vector<kube::manifest>& objects) {
    std::map<std::string, std::vector<quota_amount>> result;
    for (const kube::manifest& object : objects) {
        for (const auto& [limited, hard] : object.quota_hard) {
            constexpr std::string_view prefix = "requests.";
            std::string resource = limited.starts_with(prefix) ? limited.substr(prefix.size()) : limited;
            const auto reads = [&](const auto& spoken) { return spoken->reads_resource(resource); };
            if (std::ranges::none_of(state.dialects, reads)) continue;
            const std::string& used = vgpualloc::kubernetes::value_of(object.quota_used, limited);
            result[kube::namespace_of(object)].push_back({.resource = std::move(resource), .used = used, .hard = hard});
        }
    }
    return result;
}

/// What of the cluster Kubernetes decides by and nothing here looked at. Quotas are shown.
std::vector<std::string> not_looked_at(kube::snapshot& state) {
    std::vector<const kube::snapshot_pod*> pods;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (asks_for_devices(pod)) pods.push_back(&pod);
    }
    std::erase_if(state.rule_objects, [](const auto& object) { return object.kind == "ResourceQuota"; });
    return explaining::not_considered(state, pods);
}

} // namespace

void add_users(const kube::snapshot& state, const std::vector<kube::manifest>& objects, overview& to) {
    std::map<std::string, user_row> rows;
    const std::vector<std::int64_t> used = used_by_pods(state);
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        if (!asks_for_devices(state.bound[i].pod) && used[i] == 0) continue;
        user_row& row = rows[state.bound[i].pod.ns];
        ++row.run;
        ++to.pods_run;
        row.used += used[i];
    }
    std::map<vgpualloc::pod_request, std::int64_t> known;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!asks_for_devices(pod)) continue;
        user_row& row = rows[pod.ns];
        ++row.wait;
        const auto [entry, is_new] = known.try_emplace(pod.request);
        if (is_new) entry->second = asked_by(state, pod.request);
        row.asked += entry->second;
    }
    auto quotas = quotas_of(state, objects);
    for (auto& [name, row] : rows) {
        row.name = name;
        row.quotas = std::move(quotas[name]);
        to.users.push_back(std::move(row));
    }
    std::ranges::stable_sort(to.users, std::ranges::greater{},
                             [](const user_row& row) { return std::pair{row.used, row.asked}; });
}

expected<overview> overview_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                               const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    overview result;
    result.pods_all = static_cast<std::int64_t>(state->bound.size() + state->pending.size() + state->strays.size());
    add_pools(*state, result);
    const rooms available = add_shapes(*state, result, stop);
    const auto short_gangs = pods_of_short_gangs(*state, objects, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    add_waiting(*state, objects, short_gangs, available, result);
    add_users(*state, objects, result);
    result.warnings = state->warnings;
    result.not_looked_at = not_looked_at(*state);
    return result;
}

} // namespace vgpuops::show
