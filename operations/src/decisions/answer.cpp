// Replaying decision logs.
#include "vgpuops/decisions/answer.hpp"

#include <utility>

#include <fmt/format.h>

#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/version.hpp"

namespace vgpuops::decisions {

using vgpualloc::live_cluster;

namespace {

cluster_figures figures_at_end(live_cluster& cluster, const vgpualloc::workload& typical) {
    const vgpualloc::ledger& book = cluster.book();
    vgpualloc::fragmentation_model fragmentation{typical};
    cluster_figures figures;
    double unusable = 0.0;
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        const node_index where{n};
        if (!book.is_present(where)) continue;
        ++figures.nodes;
        figures.pods += book.host(where).pods;
        const auto states = book.devices(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const auto& spec = book.nodes().spec_of(where, device_index{d});
            ++figures.devices;
            figures.allocated_milli += spec.mode->used(spec, states[d]).count();
            figures.overcommitted += static_cast<std::int64_t>(book.is_overcommitted(where, device_index{d}));
        }
        if (typical.typical.empty()) continue;
        const auto view = cluster.view_of(where);
        unusable += fragmentation.buckets(*view.config, view.cpu_left).unusable();
    }
    if (!typical.typical.empty()) figures.unusable_milli = unusable;
    return figures;
}

/// What a side's options are at the end.
side side_of(live_cluster& cluster, const vgpualloc::workload& typical) {
    return {.policy = cluster.configured().policy,
            .device_policy = cluster.configured().device_policy,
            .at_end = figures_at_end(cluster, typical)};
}

what_if_answer compare(rerun& other, live_cluster& live) {
    what_if_answer result{.pods = other.finish(live)};
    static_cast<void>(live.learn_workload()); // for the measure alone: nothing is decided any more
    result.live = side_of(live, live.learned());
    result.replay = side_of(other.cluster(), live.learned());
    for (const pod_fate& fate : result.pods) {
        result.live.placed += static_cast<std::int64_t>(!fate.live_node.empty());
        result.live.waited += static_cast<std::int64_t>(fate.live_waited);
        result.live.waiting += static_cast<std::int64_t>(fate.live_waiting);
        result.replay.placed += static_cast<std::int64_t>(!fate.node.empty());
        result.replay.waited += static_cast<std::int64_t>(fate.waited);
        result.replay.waiting += static_cast<std::int64_t>(fate.waiting);
        const bool both = !fate.live_node.empty() && !fate.node.empty();
        result.on_another_node += static_cast<std::int64_t>(both && fate.live_node != fate.node);
    }
    return result;
}

} // namespace

expected<replay_answer> replay_log(const std::string& name, std::string_view text, const option_changes& changes) {
    replay_answer result{.log = name};
    log_reader reader{name, text};
    follower live;
    std::optional<rerun> other;
    if (changes.any()) other.emplace(changes);
    while (true) {
        const auto more = reader.next();
        if (!more) return unexpected(more.error());
        if (!*more) break;
        const log_event& event = reader.event();
        if (const auto applied = live.apply(event); !applied) return unexpected(applied.error());
        if (other) {
            if (const auto applied = other->apply(event, live.cluster()); !applied) return unexpected(applied.error());
        }
        if (event.kind == event_kind::start && !event.library.empty() && event.library != vgpualloc::version) {
            result.notes.push_back(fmt::format("line {}: version {} decided, this is version {}", event.line,
                                               event.library, vgpualloc::version));
        }
    }
    for (const std::size_t line : reader.cut_off()) {
        result.notes.push_back(fmt::format("line {}: cut off, passed by", line));
    }
    if (other) result.what_if = compare(*other, live.cluster());
    result.figures = live.figures();
    result.differences = live.differences();
    if (other && !result.differences.empty()) {
        result.notes.push_back(fmt::format("this library decides {} things otherwise than the log says under its own "
                                           "options: replay it without others to see them",
                                           result.differences.size()));
    }
    return result;
}

} // namespace vgpuops::decisions
