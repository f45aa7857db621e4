// Snapshots: what the objects of a cluster add up to.
#include "vgpualloc/kube/snapshot.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::kube {

namespace {

/// Books the pods and keeps those that wait.
class pod_reader {
public:
    pod_reader(const snapshot_nodes& nodes, snapshot& target) : nodes_{&nodes}, target_{&target} {}

    void read(const manifest& object) {
        auto pod = read_or_warn(object);
        const std::string node = node_of(object, target_->dialects);
        if (node.empty()) {
            target_->pending.push_back(std::move(pod));
            return;
        }
        const auto position = nodes_->index.find(node);
        if (position == nodes_->index.end()) {
            target_->warnings.push_back({.code = error_code::unknown_name,
                                         .where = object.place + ": pod " + pod.full_name(),
                                         .field = "node",
                                         .value = node,
                                         .expected = "a node of the cluster; the pod counts nowhere"});
            return;
        }
        adopt(object, std::move(pod), position->second);
    }

private:
    snapshot_pod read_or_warn(const manifest& object) {
        const bool waits = node_of(object, target_->dialects).empty();
        auto pod = read_request(object, target_->dialects);
        if (pod) {
            if (waits && !object.problems.empty()) pod->failure = object.problems.front();
            return *std::move(pod);
        }
        if (!waits) target_->warnings.push_back(pod.error());
        return {.ns = namespace_of(object),
                .name = object.name,
                .place = object.place,
                .dialect = {},
                .object = *object.pod,
                .request = {.cpu = object.cpu, .memory = to_bytes(object.memory), .containers = {}},
                .container_names = {},
                .failure = pod.error()};
    }

    void adopt(const manifest& object, snapshot_pod pod, node_index where) {
        const std::size_t warnings_before = target_->warnings.size();
        auto held = read_placement(object, where, *nodes_, target_->dialects, target_->warnings);
        const bool asks =
            std::ranges::any_of(pod.request.containers, [](const auto& entry) { return entry.count > 0; });
        if (asks && held.shares.empty() && target_->warnings.size() == warnings_before) {
            target_->warnings.push_back({.code = error_code::missing,
                                         .where = object.place + ": pod " + pod.full_name(),
                                         .field = "annotations",
                                         .value = "",
                                         .expected = "what it has of the devices of node " +
                                                     nodes_->nodes.nodes[where.at()].name + " in dialect " +
                                                     pod.dialect + "; counted without"});
        }
        const dialect* const spoken = target_->dialects.find(pod.dialect);
        const std::vector<device_share> shares{held.shares.begin(), held.shares.end()};
        auto tags = spoken == nullptr ? pod.request.tags : spoken->tags_of(*object.pod, pod.request, shares);
        const bool adopted = target_->book
                                 ->adopt({.pod = pod_id{target_->bound.size()},
                                          .cpu = pod.request.cpu,
                                          .memory = pod.request.memory,
                                          .where = std::move(held),
                                          .tags = std::move(tags)})
                                 .has_value();
        VGA_ASSERT(adopted, "shares that a ledger refuses to adopt were left out");
        target_->bound.push_back({.pod = std::move(pod), .node = where});
    }

    const snapshot_nodes* nodes_;
    snapshot* target_;
};

void warn_of_overcommitment(snapshot& state) {
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        const auto& node = state.nodes().nodes[n];
        for (std::size_t d = 0; d < node.devices.size(); ++d) {
            const device_index which{d};
            if (!state.book->is_overcommitted(node_index{n}, which)) continue;
            const auto& use = state.book->devices(node_index{n})[d];
            state.warnings.push_back({.code = error_code::mismatch,
                                      .where = "node " + node.name,
                                      .field = "device",
                                      .value = node.devices[d].uuid,
                                      .expected = "no more given out than it has: its pods have " +
                                                  std::to_string(use.memory.count()) + " MiB, cores " +
                                                  std::to_string(use.cores.count()) + " and " +
                                                  std::to_string(use.slots) + " slots"});
        }
    }
}

} // namespace

workload snapshot::typical() const {
    std::map<std::pair<milli_cpu, std::vector<device_request>>, std::int64_t> counts;
    std::int64_t all = 0;
    const auto count = [&](const snapshot_pod& pod) {
        if (pod.failure) return;
        ++counts[{pod.request.cpu, pod.request.containers}];
        ++all;
    };
    for (const bound_pod& runs : bound) count(runs.pod);
    for (const snapshot_pod& waits : pending) count(waits);
    workload result;
    for (const auto& [request, times] : counts) {
        result.typical.push_back({.cpu = request.first,
                                  .containers = request.second,
                                  .frequency = static_cast<double>(times) / static_cast<double>(all),
                                  .weight = times});
    }
    return result;
}

expected<snapshot> make_snapshot(std::span<const manifest> objects, const dialect_set& dialects) {
    std::vector<error> warnings = dialects.config().devices.warnings;
    for (const manifest& object : objects) {
        if (!object.node && object.kind != "Pod") continue;
        warnings.insert(warnings.end(), object.problems.begin(), object.problems.end());
    }
    const auto sorted = sort_out(objects, dialects, warnings);
    if (sorted.nodes.empty()) {
        return unexpected(error{.code = error_code::missing,
                                .where = "the cluster",
                                .field = "",
                                .value = "",
                                .expected = "at least one object of kind Node"});
    }
    const auto node_objects = sorted.node_objects();
    snapshot state;
    state.dialects = dialects.for_nodes(node_objects);
    state.warnings = std::move(warnings);
    auto nodes = read_snapshot_nodes(sorted, state.dialects, state.warnings);
    state.book = std::make_unique<ledger>(nodes.nodes);
    pod_reader reader{nodes, state};
    for (const manifest* pod : sorted.pods) reader.read(*pod);
    state.devices = std::move(nodes.devices);
    for (const auto& spoken : state.dialects) {
        auto& amounts = state.extended.emplace_back();
        for (const kubernetes::node* node : node_objects) amounts.push_back(spoken->extended_of(*node));
    }
    warn_of_overcommitment(state);
    return state;
}

expected<snapshot_pod> read_snapshot_pod(const manifest& object, const dialect_set& dialects) {
    if (!object.problems.empty()) return unexpected(object.problems.front());
    if (const std::string node = node_of(object, dialects); !node.empty()) {
        return unexpected(error{.code = error_code::mismatch,
                                .where = object.place,
                                .field = "pod",
                                .value = namespace_of(object) + "/" + object.name,
                                .expected = "a pod that waits; this one is on node " + node + " already"});
    }
    return read_request(object, dialects);
}

} // namespace vgpualloc::kube
