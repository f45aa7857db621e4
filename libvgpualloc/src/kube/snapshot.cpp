// Snapshots: which objects count, and what they add up to.
#include "vgpualloc/kube/snapshot.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "device_info.hpp"
#include "snapshot_parts.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgputraces::manifest;

namespace {

bool has_ended(const manifest& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

snapshot_objects sort_out(std::span<const manifest> objects, std::vector<error>& warnings) {
    snapshot_objects sorted;
    std::set<std::string> seen;
    const auto is_new = [&](const manifest& each, const std::string& name) {
        if (seen.insert(each.kind + " " + name).second) return true;
        warnings.push_back({.code = error_code::duplicate,
                            .where = each.place,
                            .field = each.kind,
                            .value = name,
                            .expected = "every object once; only the first counts"});
        return false;
    };
    for (const manifest& each : objects) {
        if (each.node && is_new(each, each.name)) sorted.nodes.push_back(&each);
        if (each.kind != "Pod" || !each.pod || has_ended(each)) continue;
        if (!is_new(each, namespace_of(each) + "/" + each.name)) continue;
        sorted.pods.push_back(&each);
        if (const std::string node = node_of(each); !node.empty()) sorted.on_node[node].push_back(&*each.pod);
    }
    sorted.device_infos = read_device_infos(objects);
    return sorted;
}

/// Books the pods and keeps those that wait.
class pod_reader {
public:
    pod_reader(const snapshot_nodes& nodes, const std::vector<manifest_dialect>& dialects, snapshot& to)
        : nodes_{&nodes}, dialects_{&dialects}, to_{&to} {}

    void read(const manifest& from) {
        auto pod = read_or_warn(from);
        const std::string node = node_of(from);
        if (node.empty()) {
            to_->pending.push_back(std::move(pod));
            return;
        }
        const auto found = nodes_->index.find(node);
        if (found == nodes_->index.end()) {
            to_->warnings.push_back({.code = error_code::unknown_name,
                                     .where = from.place + ": pod " + pod.full_name(),
                                     .field = "node",
                                     .value = node,
                                     .expected = "a node of the cluster; the pod counts nowhere"});
            return;
        }
        adopt(from, std::move(pod), found->second);
    }

private:
    snapshot_pod read_or_warn(const manifest& from) {
        const bool waits = node_of(from).empty();
        auto read = read_request(from, *dialects_);
        if (read) {
            if (waits && !from.problems.empty()) read->failure = from.problems.front();
            return *std::move(read);
        }
        if (!waits) to_->warnings.push_back(read.error());
        return {.ns = namespace_of(from),
                .name = from.name,
                .place = from.place,
                .dialect = {},
                .object = *from.pod,
                .request = {.cpu = from.cpu, .memory = to_bytes(from.memory), .containers = {}},
                .container_names = {},
                .failure = read.error()};
    }

    void adopt(const manifest& from, snapshot_pod pod, node_index where) {
        const std::size_t told = to_->warnings.size();
        auto has = read_placement(from, where, *nodes_, *dialects_, to_->warnings);
        const bool asks = std::ranges::any_of(pod.request.containers, [](const auto& each) { return each.count > 0; });
        if (asks && has.shares.empty() && to_->warnings.size() == told) {
            to_->warnings.push_back({.code = error_code::missing,
                                     .where = from.place + ": pod " + pod.full_name(),
                                     .field = "annotations",
                                     .value = "",
                                     .expected = "what it has of the devices of node " +
                                                 nodes_->nodes.nodes[where.at()].name + " in dialect " + pod.dialect +
                                                 "; counted without"});
        }
        std::vector<std::string> tags = pod.request.tags;
        const auto speaks = std::ranges::find(*dialects_, pod.dialect, &manifest_dialect::name);
        if (speaks != dialects_->end() && speaks->tags_of) tags = speaks->tags_of(*from.pod, has.shares);
        const bool adopted = to_->book
                                 ->adopt({.pod = pod_id{to_->bound.size()},
                                          .cpu = pod.request.cpu,
                                          .memory = pod.request.memory,
                                          .where = std::move(has),
                                          .tags = std::move(tags)})
                                 .has_value();
        VGA_ASSERT(adopted, "shares that a ledger refuses to adopt were left out");
        to_->bound.push_back({.pod = std::move(pod), .node = where});
    }

    const snapshot_nodes* nodes_;
    const std::vector<manifest_dialect>* dialects_;
    snapshot* to_;
};

void warn_of_overcommitment(snapshot& made) {
    for (std::size_t n = 0; n < made.nodes().nodes.size(); ++n) {
        const auto& node = made.nodes().nodes[n];
        for (std::size_t d = 0; d < node.devices.size(); ++d) {
            const vgpualloc::device_index which{d};
            if (!made.book->is_overcommitted(node_index{n}, which)) continue;
            const auto& state = made.book->devices(node_index{n})[d];
            made.warnings.push_back({.code = error_code::mismatch,
                                     .where = "node " + node.name,
                                     .field = "device",
                                     .value = node.devices[d].uuid,
                                     .expected = "no more given out than it has: its pods have " +
                                                 std::to_string(state.memory.count()) + " MiB, cores " +
                                                 std::to_string(state.cores.count()) + " and " +
                                                 std::to_string(state.slots) + " slots"});
        }
    }
}

} // namespace

vgpualloc::workload snapshot::typical() const {
    std::map<std::pair<vgpualloc::milli_cpu, std::vector<vgpualloc::device_request>>, std::int64_t> counts;
    std::int64_t all = 0;
    const auto count = [&](const snapshot_pod& pod) {
        if (pod.failure) return;
        ++counts[{pod.request.cpu, pod.request.containers}];
        ++all;
    };
    for (const bound_pod& each : bound) count(each.pod);
    for (const snapshot_pod& each : pending) count(each);
    vgpualloc::workload made;
    for (const auto& [request, times] : counts) {
        made.typical.push_back({.cpu = request.first,
                                .containers = request.second,
                                .frequency = static_cast<double>(times) / static_cast<double>(all),
                                .weight = times});
    }
    return made;
}

vgpualloc::expected<snapshot> make_snapshot(std::span<const manifest> objects, const validate_options& with) {
    snapshot made;
    made.with = with;
    made.with.mindcluster = options_for(with.mindcluster, objects);
    made.warnings = with.warnings;
    const auto dialects = manifest_dialects(made.with);
    for (const manifest& each : objects) {
        const bool counts = each.node || each.kind == "Pod";
        if (counts) made.warnings.insert(made.warnings.end(), each.problems.begin(), each.problems.end());
    }
    const auto sorted = sort_out(objects, made.warnings);
    if (sorted.nodes.empty()) {
        return vgpualloc::unexpected(error{.code = error_code::missing,
                                           .where = "the cluster",
                                           .field = "",
                                           .value = "",
                                           .expected = "at least one object of kind Node"});
    }
    auto nodes = read_snapshot_nodes(sorted, dialects, *with.hami.catalog, made.warnings);
    made.book = std::make_unique<vgpualloc::ledger>(nodes.nodes);
    pod_reader reader{nodes, dialects, made};
    for (const manifest* each : sorted.pods) reader.read(*each);
    made.devices = std::move(nodes.devices);
    for (const manifest* each : sorted.nodes) made.ai_cores.push_back(ai_cores_of(*each->node));
    warn_of_overcommitment(made);
    return made;
}

vgpualloc::expected<snapshot_pod> read_snapshot_pod(const manifest& of, const validate_options& with) {
    if (!of.problems.empty()) return vgpualloc::unexpected(of.problems.front());
    if (const std::string node = node_of(of); !node.empty()) {
        return vgpualloc::unexpected(error{.code = error_code::mismatch,
                                           .where = of.place,
                                           .field = "pod",
                                           .value = namespace_of(of) + "/" + of.name,
                                           .expected = "a pod that waits; this one is on node " + node + " already"});
    }
    return read_request(of, manifest_dialects(with));
}

} // namespace vgpusim
