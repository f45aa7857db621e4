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
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/node_set.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::show {

short_gangs pods_of_short_gangs(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                const stop_signal& stop) {
    short_gangs result;
    whatif::pod_queue queue = whatif::make_queue(state, {}, objects, {}, {}, stop);
    const auto has_minimum = [](const whatif::placing_unit& unit) { return unit.minimum > 0; };
    const std::vector<whatif::placing_unit> units = std::exchange(queue.units, {});
    if (std::ranges::none_of(units, has_minimum)) return result;
    const vgpualloc::owned_policies policies = best_fit();
    vgpualloc::allocator decider{*state.book, policies.pair()};
    stop_signal end = stop;
    for (const whatif::placing_unit& unit : units) {
        if (!has_minimum(unit) || end.poll()) continue;
        vgpualloc::trial scope{*state.book};
        queue.units = {unit};
        const auto outcome = whatif::place_all(state, decider, queue, pod_id{state.bound.size()}, {}, stop);
        for (const std::size_t position : unit.entries) {
            const std::int64_t fitting = outcome.entries[position].gang_fitting;
            if (fitting < 0) continue;
            const whatif::queued_pods& entry = queue.pods[position];
            result.insert(
                {entry.pod.full_name(),
                 {.fitting = fitting, .minimum = unit.minimum, .group = entry.gang, .is_said = unit.is_minimum_said}});
        }
    }
    return result;
}

first_verdicts add_waiting(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                           const selection& chosen, const short_gangs& gangs, const rooms& available, overview& to) {
    std::map<std::string, std::string> since;
    for (const kube::snapshot_pod& pod : state.pending) since.emplace(pod.full_name(), std::string{});
    for (const kube::manifest& object : objects) {
        if (object.kind != "Pod" || !object.node_name.empty()) continue;
        const auto entry = since.find(kube::full_name_of(object));
        if (entry != since.end() && entry->second.empty()) entry->second = object.created;
    }
    first_verdicts result;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!is_listed(pod, chosen)) continue;
        if (asks_for_unread(state, pod)) ++to.pods_unread;
        if (!asks_for_devices(pod)) continue;
        const auto known = pod.failure ? available.end() : available.find(pod.request);
        const room here = known == available.end() ? room{.is_readable = false} : known->second;
        const std::string name = pod.full_name();
        const auto gang = gangs.find(name);
        const verdict why = verdict_of(pod, here, gang != gangs.end());
        to.waiting.push_back({.name = name, .why = why, .since = since[name]});
        if (gang != gangs.end()) to.waiting.back().gang = gang->second;
        if (known == available.end()) continue;
        const auto [entry, is_new] = result.emplace(pod.request, why);
        if (!is_new) entry->second = std::min(entry->second, why);
    }
    to.pods_wait = static_cast<std::int64_t>(to.waiting.size());
    std::ranges::sort(to.waiting, {}, &waiting_pod::name);
    return result;
}

namespace {

/// What of the cluster Kubernetes decides by and nothing here looked at.
std::vector<std::string> not_looked_at(const kube::snapshot& state) {
    std::vector<const kube::snapshot_pod*> pods;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (asks_for_devices(pod) || asks_for_unread(state, pod)) pods.push_back(&pod);
    }
    return explaining::not_considered(state, pods);
}

} // namespace

expected<overview> overview_while(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                                  const selection& chosen, const stop_signal& stop, const waiting_visitor& visit) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    const auto by = grouping_of(*state, chosen.by);
    if (!by) return unexpected(by.error());
    std::vector<bool> set;
    if (!chosen.nodes.empty()) {
        auto nodes = kube::nodes_in_set(state->nodes().nodes, chosen.nodes, "-l");
        if (!nodes) return unexpected(std::move(nodes).error());
        set = *std::move(nodes);
    }
    if (auto checked = check_namespace(*state, chosen.ns); !checked) return unexpected(std::move(checked).error());
    overview result{.by = by->name};
    result.pods_all = static_cast<std::int64_t>(state->bound.size() + state->pending.size() + state->strays.size());
    const rooms waiting = rooms_of_waiting(*state, chosen, stop);
    const short_gangs gangs = pods_of_short_gangs(*state, objects, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const first_verdicts verdicts = add_waiting(*state, objects, chosen, gangs, waiting, result);
    result.makes_no_pods = held_jobs(*state, objects, chosen);
    if (visit) visit(*state, waiting, result);
    keep_nodes(*state, set);
    add_devices(*state, *by, result);
    add_shapes(*state, chosen, set.empty() ? waiting : rooms{}, verdicts, result, stop);
    add_pod_rows(*state, objects, chosen, *by, waiting, result);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    result.warnings = state->warnings;
    result.not_looked_at = not_looked_at(*state);
    return result;
}

expected<overview> overview_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                               const selection& chosen, const stop_signal& stop) {
    return overview_while(objects, dialects, chosen, stop, {});
}

} // namespace vgpuops::show
