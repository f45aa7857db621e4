// Changes of a cluster.
#include "vgpuops/whatif/changes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "other_modes.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/node_set.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::whatif {

using vgpualloc::node;

namespace {

error unknown(const std::string& option, const std::string& value, std::string expected_text) {
    return bad_value(error_code::unknown_name, "", value, std::move(expected_text)).at(option);
}

std::vector<std::string> present_nodes(const kube::snapshot& state) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        if (state.book->is_present(node_index{n})) names.push_back(state.nodes().nodes[n].name);
    }
    return names;
}

/// Of a node that is to be uncordoned, or a set of nodes, where none is cordoned.
error not_cordoned(const kube::snapshot& state, const std::string& set) {
    std::vector<std::string> cordoned = present_nodes(state);
    std::erase_if(cordoned, [&](const std::string& name) {
        return !state.nodes().nodes[state.book->find_node(name).at()].host.unschedulable;
    });
    const std::string names = cordoned.empty() ? "; none is" : ": " + vgpuformats::some_of(cordoned);
    return bad_value(error_code::mismatch, "", set, "a node that is cordoned" + names).at("--uncordon");
}

/// What a removed node leaves behind in a snapshot: the ledger has it no more.
void forget_devices(kube::snapshot& state, node_index where) { state.devices[where.at()].clear(); }

} // namespace

expected<node_index> find_node(const kube::snapshot& state, const std::string& name, const std::string& option) {
    const node_index where = state.book->find_node(name);
    if (where.valid() && state.book->is_present(where)) return where;
    return unexpected(unknown(option, name, "a node of the cluster: " + vgpuformats::some_of(present_nodes(state))));
}

expected<std::vector<node_index>> nodes_named(const kube::snapshot& state, const std::string& set,
                                              const std::string& option) {
    const node_index where = state.book->find_node(set);
    if (where.valid() && state.book->is_present(where)) return std::vector{where};
    if (set.find_first_of("*?=!,([ ") == std::string::npos) {
        // A word may be the key of a label; else it was to be a name.
        const auto known = find_node(state, set, option);
        if (!kube::label_key_of(state.nodes().nodes, set)) return unexpected(known.error());
    }
    const auto members = kube::nodes_in_set(state.nodes().nodes, set, option);
    if (!members) return unexpected(members.error());
    std::vector<node_index> nodes;
    for (std::size_t n = 0; n < members->size(); ++n) {
        if ((*members)[n] && state.book->is_present(node_index{n})) nodes.push_back(node_index{n});
    }
    if (!nodes.empty()) return nodes;
    return unexpected(unknown(option, set, "a set that has nodes that are there"));
}

const kube::manifest& object_of(const std::vector<kube::manifest>& objects, const std::string& node_name) {
    const auto object = std::ranges::find_if(
        objects, [&](const kube::manifest& entry) { return entry.node && entry.name == node_name; });
    VGA_ASSERT(object != objects.end(), "the node is of these objects");
    return *object;
}

node_kind kind_of(const kube::snapshot& state, node_index where) {
    node_kind result{
        .described = state.nodes().nodes[where.at()], .devices = state.devices[where.at()], .extended = {}};
    auto& host = result.described.host;
    host.unschedulable = false;
    host.ready = true;
    host.unreachable = false;
    std::erase_if(host.taints, [](const vgpualloc::taint& entry) { return vgpualloc::is_state_taint(entry.key); });
    for (auto& device : result.described.devices) device.service = vgpualloc::service_state::in_service;
    for (auto& device : result.devices) device.registered.healthy = true;
    for (const auto& amounts : state.extended) result.extended.push_back(amounts[where.at()]);
    return result;
}

node_kind take_template(kube::snapshot& state, node_index where) {
    node_kind result = kind_of(state, where);
    const auto removed = state.book->remove_node(where);
    VGA_ASSERT(removed.has_value(), "the template is a node of the ledger");
    forget_devices(state, where);
    return result;
}

expected<named_kinds> take_templates(kube::snapshot& state, const std::vector<kube::manifest>& templates,
                                     const std::string& option) {
    named_kinds kinds;
    for (const kube::manifest& object : templates) {
        if (!object.node) continue;
        const auto where = find_node(state, object.name, option);
        if (!where) return unexpected(object.problems.empty() ? where.error() : object.problems.front());
        kinds.emplace(object.name, take_template(state, *where));
    }
    return kinds;
}

std::vector<node_index> add_nodes(kube::snapshot& state, const node_kind& kind, std::int64_t count) {
    std::vector<node_index> added;
    const auto is_taken = [&](const std::string& name) {
        const node_index where = state.book->find_node(name);
        return where.valid() && state.book->is_present(where);
    };
    for (std::int64_t number = 1; std::ssize(added) < count; ++number) {
        const std::string name = kind.described.name + "-added-" + std::to_string(number);
        if (is_taken(name)) continue;
        node described = kind.described;
        described.name = name;
        for (auto& [label, value] : described.host.labels) {
            if (label == vgpualloc::hostname_label) value = name;
        }
        std::vector<kube::snapshot_device> devices = kind.devices;
        for (std::size_t d = 0; d < devices.size(); ++d) {
            std::string& uuid = described.devices[d].uuid;
            if (uuid.empty()) continue;
            uuid += "-" + name;
            devices[d].registered.uuid = uuid;
        }
        const auto where = state.book->add_node(std::move(described));
        VGA_ASSERT(where.has_value(), "a copy of a node is a node");
        if (where->at() >= state.devices.size()) {
            state.devices.resize(where->at() + 1);
            for (auto& amounts : state.extended) amounts.resize(where->at() + 1);
        }
        state.devices[where->at()] = std::move(devices);
        for (std::size_t i = 0; i < state.extended.size(); ++i) state.extended[i][where->at()] = kind.extended[i];
        added.push_back(*where);
    }
    return added;
}

void forget_nodes(kube::snapshot& state, const std::vector<node_index>& undone) {
    for (const node_index where : undone) forget_devices(state, where);
    const std::size_t nodes = state.nodes().nodes.size();
    state.devices.resize(nodes);
    for (auto& amounts : state.extended) amounts.resize(nodes);
}

namespace {

/// Applies changes one after the other.
class changer {
public:
    changer(kube::snapshot& state, const std::vector<kube::manifest>& objects, std::vector<pod_id> evicted,
            const named_kinds& kinds)
        : state_{&state}, objects_{&objects}, kinds_{&kinds}, evicted_{std::move(evicted)} {}

    /// Of a set, the nodes that are cordoned.
    expected<void> uncordon(const std::string& set) {
        const auto nodes = nodes_named(*state_, set, "--uncordon");
        if (!nodes) return unexpected(nodes.error());
        bool is_cordoned = false;
        for (const node_index where : *nodes) {
            if (!state_->nodes().nodes[where.at()].host.unschedulable) continue;
            is_cordoned = true;
            if (auto done = uncordon(where); !done) return done;
        }
        if (is_cordoned) return {};
        return unexpected(not_cordoned(*state_, set));
    }

    expected<void> drain(const std::string& set) {
        if (auto once = goes_once(set, "--drain"); !once) return once;
        const auto nodes = nodes_named(*state_, set, "--drain");
        if (!nodes) return unexpected(nodes.error());
        for (const node_index where : *nodes) {
            if (auto done = drain(where); !done) return done;
        }
        return {};
    }

    expected<void> fail(const failure& wanted) {
        if (auto once = goes_once(wanted.node, "--fail"); !once) return once;
        const auto nodes = nodes_named(*state_, wanted.node, "--fail");
        if (!nodes) {
            // What was taken for a device may be the rest of a label's key.
            const std::string key = wanted.node + "/" + wanted.device;
            if (wanted.device.empty() || !kube::label_key_of(state_->nodes().nodes, key))
                return unexpected(nodes.error());
            return fail({.node = key});
        }
        for (const node_index where : *nodes) {
            const bool has_devices = !state_->devices[where.at()].empty();
            if (!wanted.device.empty() && !has_devices && nodes->size() > 1) continue;
            auto done = wanted.device.empty() ? fail(where) : fail_device(where, wanted.device);
            if (!done) return done;
        }
        return {};
    }

    expected<void> set_mode(const mode_change& wanted) {
        const auto where = find_node(*state_, wanted.node, "--set-mode");
        if (!where) return unexpected(where.error());
        if (auto known = vgpualloc::find_mode_entry(wanted.mode); !known) {
            known.error().where = "--set-mode";
            return unexpected(known.error());
        }
        node described = state_->nodes().nodes[where->at()];
        if (described.devices.empty()) {
            return unexpected(unknown("--set-mode", wanted.node, "a node that has devices"));
        }
        if (!wanted.cut_as.empty()) return cut(*where, kinds_->at(wanted.cut_as));
        const auto has_it = [&](const kube::snapshot_device& device) { return device.registered.mode == wanted.mode; };
        if (std::ranges::all_of(state_->devices[where->at()], has_it)) return {};
        auto changed = registered_in(*where, wanted);
        if (!changed) return unexpected(changed.error());
        const std::vector<vgpualloc::device> former = std::exchange(described.devices, {});
        for (std::size_t d = 0; d < former.size(); ++d) {
            auto added = vgpualloc::add_device(state_->book->kinds(), described, (*changed)[d].registered,
                                               *state_->dialects.config().mig);
            if (!added) return unexpected(placed(std::move(added).error(), wanted));
            described.devices[d].service = former[d].service;
        }
        evict_with_devices(*where);
        const auto updated = state_->book->update_node(*where, std::move(described));
        if (!updated) return unexpected(updated.error());
        state_->devices[where->at()] = *std::move(changed);
        return {};
    }

    void place_anew() {
        kube::keep_modes(*state_);
        std::map<std::string, const kube::manifest*> pods;
        for (const kube::manifest& object : *objects_) {
            if (object.pod) pods.emplace(kube::full_name_of(object), &object);
        }
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) {
            const vgpualloc::host_facts& host = state_->nodes().nodes[n].host;
            if (!state_->book->is_present(node_index{n}) || host.unschedulable || !host.ready) continue;
            for (const pod_id pod : pods_on(node_index{n})) {
                if (state_->book->booking_of(pod).where.shares.empty()) continue;
                const kube::bound_pod& bound = state_->bound[pod.at()];
                const auto object = pods.find(bound.pod.full_name());
                if (object != pods.end() && kube::may_move(bound, *object->second, {})) evict(pod);
            }
        }
    }

    [[nodiscard]] std::vector<kube::kept_pod> take_kept() { return std::move(kept_); }
    [[nodiscard]] std::vector<pod_id> evicted() {
        std::ranges::sort(evicted_);
        return std::move(evicted_);
    }

private:
    /// As kubectl uncordon and the node controller after it: the taint of the cordon goes too.
    expected<void> uncordon(node_index where) {
        node described = state_->nodes().nodes[where.at()];
        described.host.unschedulable = false;
        std::erase_if(described.host.taints,
                      [](const vgpualloc::taint& entry) { return entry.key == "node.kubernetes.io/unschedulable"; });
        const auto updated = state_->book->update_node(where, std::move(described));
        if (!updated) return unexpected(updated.error());
        return {};
    }

    expected<void> drain(node_index where) {
        if (auto once = note(where, "--drain"); !once) return once;
        const auto of_nodes = pods_of_nodes();
        if (!budgets_) budgets_.emplace(*objects_);
        for (const pod_id pod : pods_on(where)) {
            const std::string name = state_->bound[pod.at()].pod.full_name();
            if (of_nodes.contains(name)) continue;
            std::string why = budgets_->why_kept(name);
            if (why.empty()) {
                evict(pod);
            } else {
                kept_.push_back({.name = name, .node = state_->nodes().nodes[where.at()].name, .why = std::move(why)});
            }
        }
        const auto closed = state_->book->set_schedulable(where, false);
        VGA_ASSERT(closed.has_value(), "the node is there");
        return {};
    }

    expected<void> fail(node_index where) {
        if (auto once = note(where, "--fail"); !once) return once;
        const auto of_nodes = pods_of_nodes();
        for (const pod_id pod : pods_on(where)) {
            if (of_nodes.contains(state_->bound[pod.at()].pod.full_name())) {
                release(pod); // it goes with its node
            } else {
                evict(pod);
            }
        }
        std::erase_if(evicted_, [&](pod_id pod) { // a change of mode evicted it
            const kube::bound_pod& bound = state_->bound[pod.at()];
            return bound.node == where && of_nodes.contains(bound.pod.full_name());
        });
        const auto removed = state_->book->remove_node(where);
        VGA_ASSERT(removed.has_value(), "the node is there");
        forget_devices(*state_, where);
        return {};
    }

    /// Whether a node takes pods, and whether a GPU is in service, stays as it is.
    expected<void> cut(node_index where, const node_kind& kind) {
        evict_with_devices(where);
        const node& former = state_->nodes().nodes[where.at()];
        node described = kind.described;
        described.name = former.name;
        described.host.unschedulable = former.host.unschedulable;
        described.host.ready = former.host.ready;
        described.host.unreachable = former.host.unreachable;
        described.host.taints = former.host.taints;
        std::vector<kube::snapshot_device> devices = kind.devices;
        for (std::size_t d = 0; d < devices.size(); ++d) {
            std::string& uuid = described.devices[d].uuid;
            if (uuid.starts_with(kind.described.name)) uuid.replace(0, kind.described.name.size(), former.name);
            devices[d].registered.uuid = uuid;
            if (d < former.devices.size()) described.devices[d].service = former.devices[d].service;
        }
        const auto updated = state_->book->update_node(where, std::move(described));
        if (!updated) return unexpected(updated.error());
        state_->devices[where.at()] = std::move(devices);
        for (std::size_t i = 0; i < state_->extended.size(); ++i) state_->extended[i][where.at()] = kind.extended[i];
        return {};
    }

    void evict_with_devices(node_index where) {
        for (const pod_id pod : pods_on(where)) {
            if (!state_->book->booking_of(pod).where.shares.empty()) evict(pod);
        }
    }

    [[nodiscard]] static error placed(error refusal, const mode_change& wanted) {
        refusal.where = "--set-mode: node " + wanted.node + ": " + refusal.where;
        return refusal;
    }

    /// The devices of a node as their dialects register them in another mode: written and read again, so that they get
    /// what the configuration has for it (geometries of MIG), and that a mode which a dialect has no word for is
    /// refused.
    expected<std::vector<kube::snapshot_device>> registered_in(node_index where, const mode_change& wanted) const {
        std::vector<kube::snapshot_device> changed = state_->devices[where.at()];
        for (const auto& spoken : state_->dialects) {
            own_devices own{.node = &*object_of(*objects_, wanted.node).node, .spoken = spoken.get()};
            for (kube::snapshot_device& device : changed) {
                if (device.dialect == spoken->name()) own.devices.push_back(&device);
            }
            if (own.devices.empty()) continue;
            const auto reading = read_in(own, wanted.mode);
            if (!reads_all(reading, own, wanted.mode)) return unexpected(no_word_for(wanted, own));
            for (std::size_t d = 0; d < own.devices.size(); ++d) {
                if (!reading.devices[d].healthy) {
                    VGA_ASSERT(!reading.problems.empty(), "a dialect says why it cannot read a device");
                    error unmade = reading.problems.front();
                    unmade.where = "--set-mode: " + unmade.where;
                    return unexpected(std::move(unmade));
                }
                const bool healthy = own.devices[d]->registered.healthy;
                own.devices[d]->registered = reading.devices[d];
                own.devices[d]->registered.healthy = healthy;
            }
        }
        return changed;
    }

    [[nodiscard]] expected<void> goes_once(const std::string& name, const char* option) const {
        if (!gone_.contains(name)) return {};
        return unexpected(
            bad_value(error_code::duplicate, "", name, "every node once in --drain and --fail").at(option));
    }
    expected<void> note(node_index where, const char* option) {
        const std::string& name = state_->nodes().nodes[where.at()].name;
        if (auto once = goes_once(name, option); !once) return once;
        gone_.insert(name);
        return {};
    }

    expected<void> fail_device(node_index where, const std::string& wanted) {
        const std::string& node_name = state_->nodes().nodes[where.at()].name;
        const auto& devices = state_->devices[where.at()];
        std::vector<std::string> names;
        for (const auto& device : devices) names.push_back(device.registered.uuid);
        const auto device = std::ranges::find_if(devices, [&](const kube::snapshot_device& entry) {
            return entry.registered.uuid == wanted || std::to_string(entry.index) == wanted;
        });
        if (device == devices.end()) {
            return unexpected(unknown("--fail", node_name + "/" + wanted,
                                      "a device of that node, by uuid or number: " + vgpuformats::some_of(names)));
        }
        const device_index which{device - devices.begin()};
        for (const pod_id pod : pods_on(where)) {
            const auto& shares = state_->book->booking_of(pod).where.shares;
            if (std::ranges::any_of(shares, [&](const auto& share) { return share.device == which; })) evict(pod);
        }
        const auto failed = state_->book->set_service(where, which, vgpualloc::service_state::failed);
        VGA_ASSERT(failed.has_value(), "the device is there");
        return {};
    }

    [[nodiscard]] std::vector<pod_id> pods_on(node_index where) const {
        std::vector<pod_id> pods;
        for (const std::uint32_t slot : state_->book->live_on(where)) {
            pods.push_back(state_->book->bookings()[slot].owner.pod());
        }
        std::ranges::sort(pods);
        return pods;
    }

    /// Pods that belong to their node: of a DaemonSet, or static ones, which their kubelet runs.
    [[nodiscard]] std::set<std::string> pods_of_nodes() const { return names_of(kube::belongs_to_its_node); }

    template <class IsMeant>
    [[nodiscard]] std::set<std::string> names_of(IsMeant is_meant) const {
        std::set<std::string> names;
        for (const kube::manifest& object : *objects_) {
            if (is_meant(object)) names.insert(kube::full_name_of(object));
        }
        return names;
    }

    void release(pod_id pod) {
        const auto released = state_->book->release(pod);
        VGA_ASSERT(released.has_value(), "what runs was adopted");
    }
    /// A pod that nothing makes again ends.
    void evict(pod_id pod) {
        release(pod);
        const auto is_bare = [](const kube::manifest& object) {
            return object.kind == "Pod" && object.controller.empty();
        };
        if (!bare_pods_) bare_pods_ = names_of(is_bare);
        if (!bare_pods_->contains(state_->bound[pod.at()].pod.full_name())) evicted_.push_back(pod);
    }

    kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    std::optional<std::set<std::string>> bare_pods_; ///< names of those without a controller; none until it is needed
    const named_kinds* kinds_;                       ///< that nodes may become like
    std::set<std::string> gone_;
    std::vector<pod_id> evicted_;
    std::optional<kube::disruption_budgets> budgets_; ///< once something is drained
    std::vector<kube::kept_pod> kept_;
};

} // namespace

expected<std::vector<pod_id>> apply(kube::snapshot& state, const changes& wanted,
                                    const std::vector<kube::manifest>& objects, std::vector<pod_id> evicted,
                                    const named_kinds& kinds, std::vector<kube::kept_pod>* not_evicted) {
    changer changes_cluster{state, objects, std::move(evicted), kinds};
    for (const mode_change& entry : wanted.modes) {
        if (auto done = changes_cluster.set_mode(entry); !done) return unexpected(done.error());
    }
    for (const std::string& name : wanted.uncordoned) {
        if (auto done = changes_cluster.uncordon(name); !done) return unexpected(done.error());
    }
    for (const std::string& name : wanted.drained) {
        if (auto done = changes_cluster.drain(name); !done) return unexpected(done.error());
    }
    for (const failure& entry : wanted.failed) {
        if (auto done = changes_cluster.fail(entry); !done) return unexpected(done.error());
    }
    if (wanted.anew) changes_cluster.place_anew();
    if (not_evicted != nullptr) *not_evicted = changes_cluster.take_kept();
    return changes_cluster.evicted();
}

} // namespace vgpuops::whatif
