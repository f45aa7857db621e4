#include "vgpualloc/local/local_cluster.hpp"

#include <algorithm>

#include "vgpualloc/alloc/refusal.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpualloc {

namespace {

error bad_name(error_code code, const char* field, std::string_view value, const char* expectation) {
    return bad_value(code, field, value, expectation);
}
error unknown_node(std::string_view name) {
    return bad_name(error_code::unknown_name, "node", name, "the name of a node that is there");
}
error unknown_pod(std::string_view name) {
    return bad_name(error_code::unknown_name, "pod", name, "the name of a pod that is placed");
}

/// The refusal in one line: "insufficient_device_memory on GPU-0: wanted 65536 MiB, available 40960 MiB".
std::string words_of(const local_refusal& refused) {
    if (refused.refusal.code == rejection_code::none) return "fits";
    std::string words{to_string(refused.refusal.code)};
    if (!refused.uuid.empty()) words += " on " + refused.uuid;
    if (refused.unit.empty()) return words;
    const std::string unit = " " + std::string{refused.unit};
    return words + ": wanted " + std::to_string(refused.refusal.wanted) + unit + ", available " +
           std::to_string(refused.refusal.available) + unit;
}

} // namespace

expected<std::unique_ptr<local_cluster>> local_cluster::make(local_options options) {
    auto policies = parse_policies(options.policy, options.device_policy, options.policies, options.parameters);
    if (!policies) return unexpected(policies.error());
    return std::unique_ptr<local_cluster>{new local_cluster{*std::move(policies), std::move(options.mig)}};
}

local_cluster::local_cluster(owned_policies policies, mig_catalog mig)
    : policies_{std::move(policies)}, mig_{std::move(mig)}, alloc_{book_, policies_.pair()} {}

// ---- nodes and devices

/// The node for the ledger: as described, but for what was ordered.
expected<node> local_cluster::read(const known_node& known) {
    const local_node& described = known.described;
    node result{.name = described.name,
                .cpu = described.cpu,
                .memory = described.memory,
                .pods_max = described.pods_max,
                .host = described.host};
    result.host.unschedulable = result.host.unschedulable || known.drained;
    result.host.ready = result.host.ready && !known.failed;
    for (device_registration registered : described.devices) {
        if (registered.uuid.empty()) {
            error failure = bad_name(error_code::missing, "", "", "a uuid");
            failure.where = "node " + described.name;
            failure.field = "devices[" + std::to_string(result.devices.size()) + "].uuid";
            return unexpected(std::move(failure));
        }
        registered.healthy = registered.healthy && !known.failed_devices.contains(registered.uuid);
        const auto added = vgpualloc::add_device(book_.kinds(), result, registered, mig_);
        if (!added) return unexpected(added.error());
    }
    return result;
}

/// Notes what is known of a node from now on; while a trial is open, what was known before too.
void local_cluster::set_known(std::string_view name, std::optional<known_node> now) {
    const auto at = nodes_.find(name);
    if (trials_ > 0) {
        changes_.emplace_back(name, at == nodes_.end() ? std::nullopt : std::optional{std::move(at->second)});
    }
    if (now) {
        nodes_.insert_or_assign(std::string{name}, *std::move(now));
    } else if (at != nodes_.end()) {
        nodes_.erase(at);
    }
}

expected<void> local_cluster::add_node(const local_node& described) {
    known_node known{.described = described};
    auto read_node = read(known);
    if (!read_node) return unexpected(read_node.error());
    if (const auto added = book_.add_node(*std::move(read_node)); !added) return unexpected(added.error());
    set_known(described.name, std::move(known));
    return {};
}

/// Changes what is known of a node, and the ledger accordingly. Whether the ledger has changed.
expected<bool> local_cluster::change(std::string_view name, const std::function<void(known_node&)>& apply) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return unexpected(unknown_node(name));
    known_node known = at->second;
    apply(known);
    auto read_node = read(known);
    if (!read_node) return unexpected(read_node.error());
    auto changed = book_.update_node(book_.find_node(name), *std::move(read_node));
    if (!changed) return changed;
    set_known(std::string{name}, std::move(known));
    return changed;
}

expected<bool> local_cluster::update_node(const local_node& described) {
    return change(described.name, [&described](known_node& known) { known.described = described; });
}

expected<void> local_cluster::remove_node(std::string_view name) {
    if (!nodes_.contains(name)) return unexpected(unknown_node(name));
    if (auto removed = book_.remove_node(book_.find_node(name)); !removed) return removed;
    set_known(name, std::nullopt);
    return {};
}

expected<void> local_cluster::add_device(std::string_view node, const device_registration& described) {
    const auto changed =
        change(node, [&described](known_node& known) { known.described.devices.push_back(described); });
    if (!changed) return unexpected(changed.error());
    return {};
}

expected<void> local_cluster::remove_device(std::string_view node, std::string_view uuid) {
    if (const auto device = find_device(node, uuid); !device) return unexpected(device.error());
    const auto changed = change(node, [uuid](known_node& known) {
        std::erase_if(known.described.devices, [uuid](const auto& device) { return device.uuid == uuid; });
        if (const auto failed = known.failed_devices.find(uuid); failed != known.failed_devices.end()) {
            known.failed_devices.erase(failed);
        }
    });
    if (!changed) return unexpected(changed.error());
    return {};
}

/// The index of a device that its node is described with.
expected<device_index> local_cluster::find_device(std::string_view node, std::string_view uuid) {
    const auto at = nodes_.find(node);
    if (at == nodes_.end()) return unexpected(unknown_node(node));
    const auto& described = at->second.described.devices;
    if (std::ranges::find(described, uuid, &device_registration::uuid) == described.end()) {
        return unexpected(bad_name(error_code::unknown_name, "uuid", uuid, "the uuid of a device of the node"));
    }
    const auto& devices = book_.nodes().nodes[book_.find_node(node).at()].devices;
    const auto which = std::ranges::find(devices, uuid, &device::uuid);
    VGA_ASSERT(which != devices.end(), "the ledger has the devices that nodes are described with");
    return device_index{which - devices.begin()};
}

expected<std::vector<std::string>> local_cluster::drain(std::string_view node) {
    const auto changed = change(node, [](known_node& known) { known.drained = true; });
    if (!changed) return unexpected(changed.error());
    return pods_on(node, {});
}

expected<std::vector<std::string>> local_cluster::fail(std::string_view node) {
    const auto changed = change(node, [](known_node& known) { known.failed = true; });
    if (!changed) return unexpected(changed.error());
    return pods_on(node, {});
}

expected<bool> local_cluster::restore(std::string_view node) {
    return change(node, [](known_node& known) { known.drained = known.failed = false; });
}

expected<std::vector<std::string>> local_cluster::drain(std::string_view node, std::string_view uuid) {
    const auto which = find_device(node, uuid);
    if (!which) return unexpected(which.error());
    const node_index where = book_.find_node(node);
    if (book_.services(where)[which->at()] != service_state::failed) { // which is more than a drain
        if (const auto ordered = book_.set_service(where, *which, service_state::draining); !ordered) {
            return unexpected(ordered.error());
        }
    }
    return pods_on(node, *which);
}

expected<std::vector<std::string>> local_cluster::fail(std::string_view node, std::string_view uuid) {
    const auto which = find_device(node, uuid);
    if (!which) return unexpected(which.error());
    const auto changed = change(node, [uuid](known_node& known) { known.failed_devices.emplace(uuid); });
    if (!changed) return unexpected(changed.error());
    const auto ordered = book_.set_service(book_.find_node(node), *which, service_state::failed); // if it is drained
    if (!ordered) return unexpected(ordered.error());
    return pods_on(node, *which);
}

expected<bool> local_cluster::restore(std::string_view node, std::string_view uuid) {
    const auto which = find_device(node, uuid);
    if (!which) return unexpected(which.error());
    const node_index where = book_.find_node(node);
    const service_state before = book_.services(where)[which->at()];
    if (const auto ordered = book_.set_service(where, *which, service_state::in_service); !ordered) return ordered;
    const auto changed = change(node, [uuid](known_node& known) {
        if (const auto failed = known.failed_devices.find(uuid); failed != known.failed_devices.end()) {
            known.failed_devices.erase(failed);
        }
    });
    if (!changed) return changed;
    return before != book_.services(where)[which->at()];
}

/// The names of the pods on a node, or only those on one of its devices.
expected<std::vector<std::string>> local_cluster::pods_on(std::string_view node, device_index only) {
    std::vector<std::string> result;
    for (const std::uint32_t slot : book_.live_on(book_.find_node(node))) {
        const booking& running = book_.bookings()[slot];
        const auto& shares = running.where.shares;
        const bool is_there = !only.valid() || std::ranges::any_of(shares, [only](const device_share& share) {
            return share.device == only;
        });
        if (is_there) result.push_back(names_.uid_of(running.owner.pod()));
    }
    std::ranges::sort(result);
    return result;
}

// ---- pods

local_decision local_cluster::describe(const placement& where) const {
    const node& chosen = book_.nodes().nodes[where.node.at()];
    local_decision result{.node = chosen.name};
    for (const device_share& share : where.shares) {
        const device_spec& spec = book_.nodes().spec_of(where.node, share.device);
        result.shares.push_back({.container = share.container,
                                 .uuid = chosen.devices[share.device.at()].uuid,
                                 .part = share.part,
                                 .amounts = spec.mode->describe(spec, share.part)});
    }
    return result;
}

expected<local_decision> local_cluster::place(std::string_view pod, const pod_request& request) {
    if (pod.empty()) return unexpected(bad_name(error_code::missing, "pod", pod, "a name"));
    if (is_placed(pod)) {
        return unexpected(bad_name(error_code::duplicate, "pod", pod, "a name that no other pod has"));
    }
    const auto known = alloc_.intern(request);
    if (!known) return unexpected(known.error());
    alloc_.note_arrival(*known);
    const auto placed = alloc_.place(book_, names_.add(pod), *known);
    if (!placed || trials_ > 0) forget_if_gone(pod);
    trim_log();
    if (!placed) return local_decision{.node = {}, .refused = placed.error()};
    return describe(*placed);
}

expected<void> local_cluster::release(std::string_view pod) {
    if (!is_placed(pod)) return unexpected(unknown_pod(pod));
    const auto released = book_.release(names_.find(pod));
    VGA_ASSERT(released.has_value(), "a placed pod is committed");
    forget_if_gone(pod);
    return {};
}

expected<local_decision> local_cluster::find(std::string_view pod) const {
    const booking* const running = book_.find_booking(names_.find(pod));
    if (running == nullptr) return unexpected(unknown_pod(pod));
    return describe(running->where);
}

std::vector<std::string> local_cluster::pods() const {
    std::vector<std::string> result;
    for (const pod_id pod : book_.live_pods()) result.push_back(names_.uid_of(pod));
    std::ranges::sort(result);
    return result;
}

local_refusal local_cluster::refusal_of(node_index where, const pod_request& request) {
    const node_decision decision = alloc_.ask_node(where, request);
    const node& asked = book_.nodes().nodes[where.at()];
    const rejection_code code = decision.answer.code;
    local_refusal result{
        .node = asked.name,
        .refusal = {.code = code, .wanted = decision.refusal.wanted, .available = decision.refusal.available},
        .unit = unit_of(code, nullptr, nullptr)};
    if (code == rejection_code::insufficient_memory) { // of the host, in bytes
        result.refusal.wanted = mib_up(bytes{decision.refusal.wanted});
        result.refusal.available = mib_down(bytes{decision.refusal.available});
    }
    const auto closest = decision.stopped_at ? closest_device(decision, code) : std::nullopt;
    if (closest) {
        const device_spec& spec = book_.nodes().kinds[asked.devices[*closest].kind];
        result.refusal = decision.stopped_by[*closest]->refusal;
        result.unit = unit_of(code, &spec, &request.containers[*decision.stopped_at]);
        result.uuid = asked.devices[*closest].uuid;
    }
    result.words = words_of(result);
    return result;
}

expected<std::vector<local_refusal>> local_cluster::why_not(const pod_request& request) {
    if (const auto known = alloc_.intern(request); !known) return unexpected(known.error());
    std::vector<local_refusal> result;
    for (const auto& [name, known] : nodes_) result.push_back(refusal_of(book_.find_node(name), request));
    trim_log();
    return result;
}

/// Gives a pod's name and number back if it has no booking. While a trial is open it may have one again at its end.
void local_cluster::forget_if_gone(std::string_view pod) {
    if (trials_ > 0) {
        names_in_doubt_.emplace_back(pod);
    } else if (!is_placed(pod)) {
        names_.remove(pod);
    }
}

/// Drops what the allocator has read of the ledger's log; nothing while a trial is open.
void local_cluster::trim_log() {
    if (trials_ == 0) book_.checkpoint(alloc_.next_event());
}

// ---- trials

local_cluster::trial_scope::trial_scope(local_cluster& cluster)
    : cluster_{&cluster}, scope_{cluster.book_}, first_change_{cluster.changes_.size()} {
    ++cluster.trials_;
}

local_cluster::trial_scope::~trial_scope() {
    if (kept_) {
        scope_.keep();
    } else {
        scope_.undo();
    }
    cluster_->end_trial(first_change_, kept_);
}

/// What is known of nodes and names follows the ledger, whose trial has ended.
void local_cluster::end_trial(std::size_t first_change, bool kept) {
    --trials_;
    while (!kept && changes_.size() > first_change) {
        auto& [name, before] = changes_.back();
        if (before) {
            nodes_.insert_or_assign(std::move(name), *std::move(before));
        } else {
            nodes_.erase(name);
        }
        changes_.pop_back();
    }
    if (trials_ > 0) return;
    changes_.clear();
    const std::vector<std::string> in_doubt = std::exchange(names_in_doubt_, {});
    for (const std::string& pod : in_doubt) forget_if_gone(pod);
}

} // namespace vgpualloc
