// What differs between a cluster before and after.
#include "differences.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::whatif {

using vgpualloc::service_state;

std::string_view to_string(pod_fate fate) noexcept {
    constexpr std::array<std::string_view, pod_fate_count> names{"starts", "moves", "restarts",
                                                                 "stops",  "waits", "stays"};
    return names[static_cast<std::size_t>(fate)];
}

char mark_of(pod_fate fate) noexcept {
    constexpr std::string_view marks = "+~~-. ";
    return marks[static_cast<std::size_t>(fate)];
}

pod_fate fate_on(const answer& answered, const pod_answer& entry, const std::string& node) {
    if (entry.asked.origin != pod_origin::evicted) return pod_fate::starts;
    if (entry.is_recut) return pod_fate::restarts;
    if (entry.asked.from != node) return pod_fate::moves;
    return answered.is_anew ? pod_fate::stays : pod_fate::restarts;
}

pod_fate fate_of_refused(const pod_answer& entry) noexcept {
    return entry.asked.origin == pod_origin::evicted ? pod_fate::stops : pod_fate::waits;
}

show::verdict held_verdict(const pod_answer& entry) noexcept {
    const auto& shortage = entry.asked.short_of;
    return shortage && !shortage->queue.empty() ? show::verdict::queue : show::verdict::quota;
}

fate_counts count_fates(const answer& answered) {
    fate_counts result;
    const auto count_of = [&result](pod_fate fate) -> std::int64_t& {
        return result.pods[static_cast<std::size_t>(fate)];
    };
    for (const pod_answer& entry : answered.pods) {
        if (!entry.has_devices) continue;
        for (const auto& where : entry.placed) ++count_of(fate_on(answered, entry, where.node));
        const pod_fate without_place = fate_of_refused(entry);
        count_of(without_place) += entry.refused + entry.asked.held;
        if (without_place != pod_fate::waits) continue;
        result.waiting[static_cast<std::size_t>(entry.waits_for)] += entry.refused;
        result.waiting[static_cast<std::size_t>(held_verdict(entry))] += entry.asked.held;
    }
    count_of(pod_fate::stops) += std::ssize(answered.ended);
    return result;
}

facts_by_node facts_of(const kube::snapshot& state) {
    facts_by_node result;
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        const node_index where{n};
        if (!state.book->is_present(where)) continue;
        const vgpualloc::node& described = state.nodes().nodes[n];
        const auto services = state.book->services(where);
        result.emplace(
            described.name,
            node_facts{.takes_pods = !described.host.unschedulable,
                       .mode = state.devices[n].empty() ? std::string{} : state.devices[n].front().registered.mode,
                       .services = {services.begin(), services.end()}});
    }
    return result;
}

namespace {

/// Names of nodes by mark and words.
using changes_by_words = std::map<std::pair<char, std::string>, std::vector<std::string>>;

std::string cut_words(const layout_change& change) {
    std::string words = change.before + " -> " + change.after;
    if (change.cut_time && change.gpus > 0) {
        words +=
            fmt::format("; at least {:.1f} s a GPU", seconds_of(*change.cut_time) / static_cast<double>(change.gpus));
    }
    return words;
}

/// "GPU 1 fails": those that were in service.
std::string failed_words(const node_facts& before, const node_facts& after) {
    std::vector<std::size_t> failed;
    for (std::size_t d = 0; d < std::min(before.services.size(), after.services.size()); ++d) {
        if (before.services[d] == service_state::in_service && after.services[d] == service_state::failed) {
            failed.push_back(d);
        }
    }
    if (failed.empty()) return {};
    std::string words = failed.size() == 1 ? "GPU" : "GPUs";
    for (std::size_t i = 0; i < failed.size(); ++i) words += fmt::format("{}{}", i == 0 ? " " : ", ", failed[i]);
    return words + (failed.size() == 1 ? " fails" : " fail");
}

std::string change_words(const node_facts& before, const node_facts& after, const layout_change* cut) {
    std::vector<std::string> parts;
    if (!before.takes_pods && after.takes_pods) parts.emplace_back("takes pods again");
    if (before.takes_pods && !after.takes_pods) parts.emplace_back("takes no more pods");
    if (cut != nullptr) {
        parts.push_back(cut_words(*cut));
    } else if (before.mode != after.mode) {
        parts.push_back("mode " + before.mode + " -> " + after.mode);
    }
    if (std::string failed = failed_words(before, after); !failed.empty()) parts.push_back(std::move(failed));
    std::string words;
    for (const std::string& part : parts) words += (words.empty() ? "" : "; ") + part;
    return words;
}

void collect(const changes_by_words& changes, char mark, std::vector<node_change>& to) {
    std::vector<node_change> added;
    for (const auto& [key, nodes] : changes) {
        if (key.first == mark) added.push_back({.mark = mark, .nodes = nodes, .words = key.second});
    }
    std::ranges::sort(added, {}, [](const node_change& change) -> const auto& { return change.nodes.front(); });
    std::ranges::move(added, std::back_inserter(to));
}

} // namespace

std::vector<node_change> compare_nodes(const facts_by_node& before, const facts_by_node& after,
                                       const std::vector<layout_change>& layouts) {
    changes_by_words changes;
    for (const auto& [name, facts] : after) {
        const auto former = before.find(name);
        if (former == before.end()) {
            changes[{'+', "like " + name.substr(0, name.rfind("-added-"))}].push_back(name);
            continue;
        }
        const auto cut = std::ranges::find(layouts, name, &layout_change::node);
        const std::string words = change_words(former->second, facts, cut == layouts.end() ? nullptr : &*cut);
        if (!words.empty()) changes[{'~', words}].push_back(name);
    }
    for (const auto& [name, facts] : before) {
        if (!after.contains(name)) changes[{'-', "fails"}].push_back(name);
    }
    std::vector<node_change> result;
    for (const char mark : {'+', '~', '-'}) collect(changes, mark, result);
    return result;
}

std::vector<bool> counted_pods(const kube::snapshot& state) {
    return show::pods_that_run(state, show::used_by_pods(state));
}

cluster_view view_of(const kube::snapshot& state, const std::vector<bool>& counted,
                     const vgpualloc::power_catalog& power) {
    cluster_view result;
    show::add_devices(state, {}, result.seen);
    for (const pod_id id : state.book->live_pods()) {
        const bool is_of_snapshot = id.at() < counted.size();
        const bool counts = is_of_snapshot ? counted[id.at()] : !state.book->booking_of(id).where.shares.empty();
        result.seen.pods_run += counts ? 1 : 0;
    }
    result.energy = show::energy_of(result.seen.models, power);
    return result;
}

namespace {

/// What there is for the pods of requests that were refused, as show::rooms_of_waiting() has it of pods that wait. The
/// pods that a what-if placed are in the ledger and not in the snapshot, so one more pod is tried and not all.
show::rooms rooms_of_refused(kube::snapshot& state, vgpualloc::allocator& decider, const answer& answered,
                             const stop_signal& stop) {
    show::rooms result;
    for (const pod_answer& entry : answered.pods) {
        if (entry.refused > 0 && entry.has_devices && !entry.asked.unreadable) {
            result.try_emplace(entry.asked.pod.request);
        }
    }
    std::vector<const vgpualloc::pod_request*> requests;
    for (const auto& [request, available] : result) requests.push_back(&request);
    const std::vector<bool> alone = show::headroom{state}.fit_alone(requests, stop);
    const vgpualloc::idle_splitter splitter{*state.book};
    stop_signal end = stop;
    std::size_t position = 0;
    for (auto& [request, available] : result) {
        if (end.poll()) return result;
        const auto interned = decider.intern(request);
        VGA_ASSERT(interned.has_value(), "what a dialect reads is within the core's limits");
        vgpualloc::pod_request without_rules = request;
        without_rules.peers = {};
        const auto unruled = decider.intern(without_rules);
        available = {.fits_alone = alone[position++],
                     .more = decider.decide(*interned) ? 1 : 0,
                     .more_alone = unruled && decider.decide(*unruled) ? 1 : 0,
                     .asked_milli = show::asked_by(state, request),
                     .idle = splitter.of(request)};
        if (available.more_alone == 0) available.in_sum = show::idle_for_one(state, request);
    }
    return result;
}

} // namespace

void add_verdicts(kube::snapshot& state, vgpualloc::allocator& decider, answer& to, const stop_signal& stop) {
    const show::rooms available = rooms_of_refused(state, decider, to, stop);
    for (pod_answer& entry : to.pods) {
        if (entry.refused == 0) continue;
        const auto known = entry.asked.unreadable ? available.end() : available.find(entry.asked.pod.request);
        const show::room here = known == available.end() ? show::room{.is_readable = false} : known->second;
        entry.waits_for = show::verdict_of(entry.asked.pod, here, entry.gang_fitting >= 0);
    }
}

} // namespace vgpuops::whatif
