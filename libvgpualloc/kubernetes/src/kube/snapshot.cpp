// Snapshots: what the objects of a cluster add up to.
#include "vgpualloc/kube/snapshot.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::kube {

namespace {

/// The nodes of a snapshot, as read and by name.
struct snapshot_nodes {
    std::vector<const kubernetes::node*> objects;
    std::vector<described_node> described; ///< by object
    std::map<std::string, node_index> index;
};

/// Leaves out, with a warning, the nodes that a ledger would refuse.
snapshot_nodes read_nodes(const cluster_objects& objects, const dialect_set& dialects, cluster& nodes,
                          std::vector<error>& warnings, stop_signal stop) {
    snapshot_nodes result;
    for (const manifest* object : objects.nodes) {
        if (stop.poll()) break;
        std::vector<dialects::node_reading> readings;
        for (const auto& spoken : dialects) {
            readings.push_back(spoken->read_node(objects.source_of(*spoken, *object->node)));
        }
        described_node reading = describe_node(*object, std::move(readings), dialects, nodes, warnings);
        if (auto checked = check_node(reading.described); !checked) {
            warnings.push_back(refusal_of_node(*object, std::move(checked).error()));
            continue;
        }
        result.index.emplace(object->name, node_index{result.described.size()});
        result.objects.push_back(&*object->node);
        nodes.nodes.push_back(reading.described);
        result.described.push_back(std::move(reading));
    }
    return result;
}

/// What is wrong with the nodes of a cluster that has none.
error why_no_node(std::span<const manifest> objects, const cluster_objects& sorted,
                  const std::vector<error>& warnings) {
    if (!sorted.nodes.empty()) return warnings.back(); // the refusal of the last one
    for (const manifest& object : objects) {
        // A node without a name, or a list that is none.
        const bool could_have_one = object.node || object.kind.ends_with("List");
        if (could_have_one && !object.problems.empty()) return object.problems.front();
    }
    if (objects.empty()) {
        return bad_input(error_code::missing, "", "no object", "at least one object of kind Node").at("the cluster");
    }
    const std::string& kind = objects.front().kind;
    const std::string expected_text = "at least one object of kind Node in the cluster";
    auto failure = kind.empty() ? bad_input(error_code::missing, "kind", "missing", expected_text)
                                : bad_value(error_code::missing, "kind", kind, expected_text);
    return std::move(failure).at(objects.front().place);
}

/// What has no kind counts nowhere. One warning tells of all such objects.
void warn_of_kindless(std::span<const manifest> objects, std::vector<error>& warnings) {
    const auto is_kindless = [](const manifest& object) { return object.kind.empty(); };
    const auto first = std::ranges::find_if(objects, is_kindless);
    if (first == objects.end()) return;
    const std::ptrdiff_t others = std::ranges::count_if(objects, is_kindless) - 1;
    warnings.push_back(bad_input(error_code::missing, "kind", "missing",
                                 "the object's kind; an object without one is not counted" +
                                     (others > 0 ? " (" + std::to_string(others) + " more)" : std::string{}))
                           .at(first->place));
}

/// Books the pods and keeps those that wait.
class pod_reader {
public:
    pod_reader(const snapshot_nodes& nodes, snapshot& target) : nodes_{&nodes}, target_{&target} {}

    void read(const manifest& object) {
        auto pod = read_request_or_failure(object, target_->dialects, &target_->sets);
        const std::string node = node_of(object, target_->dialects);
        if (node.empty()) {
            if (object.terminating) { // kube-scheduler passes over it
                ++leaving_pods_;
                return;
            }
            if (!pod.failure && !object.problems.empty()) pod.failure = object.problems.front();
            if (!pod.failure) pod.unserved = why_unserved(target_->dialects, pod);
            target_->pending.push_back(std::move(pod));
            return;
        }
        if (pod.failure) target_->warnings.push_back(*pod.failure);
        const auto position = nodes_->index.find(node);
        if (position == nodes_->index.end()) {
            target_->warnings.push_back(
                bad_value(error_code::unknown_name, "node", node, "a node of the cluster; the pod counts nowhere")
                    .at(label_of(object)));
            target_->strays.push_back({.full_name = pod.full_name(), .name = pod.name, .node = node});
            return;
        }
        adopt(object, std::move(pod), position->second);
    }

    void warn_of_leaving_pods() const {
        if (leaving_pods_ == 0) return;
        target_->warnings.push_back(bad_value(error_code::mismatch, "metadata.deletionTimestamp",
                                              std::to_string(leaving_pods_) +
                                                  (leaving_pods_ == 1 ? " pod without a node" : " pods without a node"),
                                              "pods that run: what is being deleted waits no more"));
    }

private:
    void adopt(const manifest& object, snapshot_pod pod, node_index where) {
        booking held = read_booking(object, pod,
                                    {.where = where,
                                     .node = nodes_->described[where.at()],
                                     .book = *target_->book,
                                     .id = pod_id{target_->bound.size()}},
                                    target_->dialects, target_->warnings);
        if (!adopt_booking(*target_->book, std::move(held), object, target_->warnings)) return;
        target_->bound.push_back({.pod = std::move(pod), .node = where});
    }

    const snapshot_nodes* nodes_;
    snapshot* target_;
    std::int64_t leaving_pods_ = 0; ///< that have no node
};

void warn_of_overcommitment(snapshot& state) {
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        const auto& node = state.nodes().nodes[n];
        for (std::size_t d = 0; d < node.devices.size(); ++d) {
            const device_index which{d};
            if (!state.book->is_overcommitted(node_index{n}, which)) continue;
            const auto& use = state.book->devices(node_index{n})[d];
            state.warnings.push_back(
                bad_value(error_code::mismatch, "device", node.devices[d].uuid,
                          "no more than it has: its pods use " + std::to_string(use.memory.count()) + " MiB, cores " +
                              std::to_string(use.cores.count()) + " and " + std::to_string(use.slots) + " slots")
                    .at("node " + node.name));
        }
    }
}

} // namespace

workload typical_of(const request_counts& counts) {
    std::int64_t all = 0;
    for (const auto& [request, times] : counts) all += times;
    workload result;
    for (const auto& [request, times] : counts) {
        result.typical.push_back({.cpu = request.first,
                                  .containers = request.second,
                                  .frequency = static_cast<double>(times) / static_cast<double>(all),
                                  .weight = times});
    }
    return result;
}

workload snapshot::typical() const {
    request_counts counts;
    const auto count = [&](const snapshot_pod& pod) {
        if (!pod.failure) ++counts[{pod.request.cpu, pod.request.containers}];
    };
    for (const bound_pod& runs : bound) count(runs.pod);
    for (const snapshot_pod& waits : pending) count(waits);
    return typical_of(counts);
}

std::vector<counted_request> snapshot::requests() const {
    std::map<pod_request, std::int64_t> counts;
    for (const bound_pod& runs : bound) {
        if (!runs.pod.failure) ++counts[runs.pod.request];
    }
    for (const snapshot_pod& waits : pending) {
        if (!waits.failure) ++counts[waits.request];
    }
    std::vector<counted_request> result;
    for (auto& [request, pods] : counts) result.push_back({.request = request, .pods = pods});
    return result;
}

namespace {

void hold_back_pods(std::span<const manifest> objects, std::vector<snapshot_pod>& pending) {
    std::map<std::string, group_hold> holds = groups_held_back(objects);
    if (holds.empty()) return;
    std::map<std::string, std::shared_ptr<const std::string>> reasons; // by group
    for (const auto& [group, hold] : holds) reasons.emplace(group, std::make_shared<const std::string>(hold.because));
    for (snapshot_pod& pod : pending) {
        const std::string group = pod_group_of(pod.ns, pod.object);
        const auto hold = holds.find(group);
        if (hold == holds.end() || (hold->second.is_let_in && !pod.gates.empty())) continue;
        if (hold->second.starting > 0) {
            --hold->second.starting;
            continue;
        }
        pod.queue_hold = reasons.at(group);
    }
}

/// Of an extended resource Kubernetes counts requests only.
std::vector<std::string> limits_of_hami(const manifest& quota, const dialect_config& config) {
    const auto& names = config.devices.hami ? *config.devices.hami : dialects::hami::options{};
    std::vector<std::string> keys;
    for (const std::string& name : {names.memory_name, names.cores_name}) {
        if (quota.quota_hard.contains("limits." + name)) keys.push_back("limits." + name);
    }
    return keys;
}

} // namespace

expected<snapshot> make_snapshot(std::span<const manifest> objects, const dialect_set& dialects, stop_signal stop) {
    std::vector<error> warnings = dialects.config().devices.warnings;
    for (const manifest& object : objects) {
        if (!object.node && object.kind != "Pod") continue;
        warnings.insert(warnings.end(), object.problems.begin(), object.problems.end());
    }
    const auto sorted = sort_out(objects, dialects, warnings);
    snapshot state;
    state.dialects = dialects.for_nodes(sorted.node_objects());
    state.warnings = std::move(warnings);
    cluster owned;
    auto nodes = read_nodes(sorted, state.dialects, owned, state.warnings, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    if (nodes.objects.empty()) return unexpected(why_no_node(objects, sorted, state.warnings));
    warn_of_kindless(objects, state.warnings);
    state.book = std::make_unique<ledger>(std::move(owned));
    state.sets.add_namespaces(objects);
    for (const manifest* pod : sorted.pods) state.sets.add_rules_of(*pod);
    pod_reader reader{nodes, state};
    for (const manifest* pod : sorted.pods) {
        if (stop.poll()) return unexpected(stop_signal::stopped());
        reader.read(*pod);
    }
    reader.warn_of_leaving_pods();
    hold_back_pods(objects, state.pending.own_items());
    for (const manifest& object : objects) {
        if (!is_rule_kind(object.kind)) continue;
        state.rule_objects.push_back({.kind = object.kind,
                                      .ns = is_of_the_cluster(object.kind) ? std::string{} : namespace_of(object),
                                      .name = object.name,
                                      .extended_resource = object.extended_resource,
                                      .limits_of_devices = limits_of_hami(object, dialects.config())});
    }
    for (const manifest* node : sorted.nodes) {
        if (node->terminating) state.leaving_nodes.push_back(node->name);
    }
    for (described_node& node : nodes.described) state.devices.push_back(std::move(node.devices));
    for (const auto& spoken : state.dialects) {
        auto& amounts = state.extended.emplace_back();
        for (const kubernetes::node* node : nodes.objects) amounts.push_back(spoken->extended_of(*node));
    }
    warn_of_overcommitment(state);
    return state;
}

snapshot snapshot::copy() const {
    return {.book = std::make_unique<ledger>(book->copy()),
            .devices = devices,
            .extended = extended,
            .bound = bound,
            .pending = pending,
            .strays = strays,
            .leaving_nodes = leaving_nodes,
            .rule_objects = rule_objects,
            .warnings = warnings,
            .dialects = dialects,
            .sets = sets};
}

void snapshot::expect_pods(std::span<const manifest> pods) {
    sets.add_namespaces(pods);
    bool has_new = false;
    for (const manifest& object : pods) {
        if (object.pod && sets.add_rules_of(object)) has_new = true;
    }
    if (!has_new) return;
    const auto count_anew = [&](snapshot_pod& pod) {
        auto rules = pod.request.peers.empty() ? std::vector<peer_rule>{} : pod.request.peers->rules;
        const pod_traits traits{.ns = pod.ns, .labels = pod.object.labels, .terminating = pod.terminating};
        pod.request.peers = sets.peers_of(traits, std::move(rules));
    };
    auto& running = bound.own_items();
    for (std::size_t i = 0; i < running.size(); ++i) {
        count_anew(running[i].pod);
        book->set_peers(pod_id{i}, running[i].pod.request.peers);
    }
    for (snapshot_pod& pod : pending.own_items()) count_anew(pod);
}

namespace {

expected<void> check_waits(const manifest& object, const dialect_set& dialects) {
    if (!object.problems.empty()) return unexpected(object.problems.front());
    if (const std::string node = node_of(object, dialects); !node.empty()) {
        return unexpected(bad_value(error_code::mismatch, "pod", full_name_of(object),
                                    "a pod that waits; this one is on node " + node + " already")
                              .at(object.place));
    }
    return {};
}

} // namespace

std::optional<error> why_unserved(const dialect_set& dialects, const snapshot_pod& pod) {
    auto mistaken = dialects.mistaken_resources(pod.object);
    if (!mistaken.empty()) {
        std::string place = pod.place + ": " + mistaken.front().where;
        return std::move(mistaken.front()).at(std::move(place));
    }
    auto served = dialects.check_scheduler(pod.dialect, pod.scheduler_name);
    if (served) return std::nullopt;
    return std::move(served).error().at(pod.place);
}

expected<snapshot_pod> read_snapshot_pod(const manifest& object, const dialect_set& dialects) {
    if (auto checked = check_waits(object, dialects); !checked) return unexpected(std::move(checked).error());
    return read_request(object, dialects);
}

expected<snapshot_pod> read_snapshot_pod(const manifest& object, const snapshot& state) {
    if (auto checked = check_waits(object, state.dialects); !checked) return unexpected(std::move(checked).error());
    auto pod = read_request(object, state.dialects, &state.sets);
    if (pod) pod->unserved = why_unserved(state.dialects, *pod);
    return pod;
}

} // namespace vgpualloc::kube
