// A cluster that pods are placed on: the objects of Kubernetes, and what was decided beside them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "errors.hpp"
#include "python_policy.hpp"
#include "texts.hpp"
#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/live/live_figures.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/snapshot/anonymise.hpp"
#include "vgpuops/snapshot/audit.hpp"
#include "vgpuops/snapshot/normalise.hpp"
#include "vgpuops/whatif/catalog_kinds.hpp"

namespace vgpupython {

using vgpualloc::error_code;
using vgpualloc::live_cluster;
using vgpualloc::live_pod_state;
using vgpualloc::node_index;
using vgpualloc::rejection_code;
namespace explaining = vgpualloc::explaining;
namespace kube = vgpualloc::kube;

inline kube::manifest one_object(nb::bytes text, const std::string& name) {
    auto objects = value_or_raise(kube::read_told_objects({text.c_str(), text.size()}, name));
    if (objects.size() != 1) {
        raise(bad_value(error_code::malformed, "", std::to_string(objects.size()) + " objects", "one object").at(name));
    }
    return std::move(objects.front());
}

/// What a pod got, by the names that its node and devices have outside.
struct told_share {
    std::size_t container = 0;
    std::size_t device = 0;
    std::string uuid;
    explaining::explained_part part;
};

/// What Python keeps of a cluster beside the ledger, and its classes.
struct python_side {
    nb::object lock;  ///< of the cluster, which one thread may take more than once
    nb::list trials;  ///< those that are open
    nb::dict uids;    ///< by "<namespace>/<name>"
    nb::dict objects; ///< by kind, namespace and name
    nb::dict placed;  ///< weak references to placements, by uid
    nb::object pod_type;
    nb::object placement_type;
    nb::object rejection_type;
    nb::object pod_kind = nb::str("Pod"); ///< parts of keys in `objects`
    nb::object default_namespace = nb::str("default");
};

/// What a Placement is made of. Without `live` there is nothing more to read.
struct placed_pod {
    nb::object pod;
    nb::object node;
    double score = 0.0;
    nb::object uid;
    nb::object live;
    std::int64_t unix_ns = 0;
    nb::object shares{};
    nb::object annotations{};
};

/// What the policies of a cluster had learned.
struct kept_learning {
    std::shared_ptr<const vgpualloc::owned_policies> policies;
};

class living_cluster {
public:
    /// Contents of files; empty: none. Policies are texts or objects, or None.
    living_cluster(nb::object policy, nb::object device_policy, const std::string& config, const std::string& catalog,
                   const std::string& scheduler_config)
        : policies_{std::move(policy), std::move(device_policy)} {
        vgpualloc::live_option_texts texts;
        const auto set = [](std::optional<std::string>& to, const std::string& text) {
            if (!text.empty()) to = text;
        };
        if (!policies_.node.is_none()) texts.policy = label_of(policies_.node);
        if (!policies_.device.is_none()) texts.device_policy = label_of(policies_.device);
        set(texts.device_config, config);
        set(texts.catalog, catalog);
        set(texts.scheduler_config, scheduler_config);
        auto options = value_or_raise(vgpualloc::read_live_options(texts, {}, vgpualloc::all_policies()));
        options.make_policies = policies_.maker(
            [this](nb::python_error&& raised) {
                if (!raised_) raised_.emplace(std::move(raised));
            },
            &objects_);
        are_policies_own_ = static_cast<bool>(options.make_policies);
        auto live = live_cluster::make(std::move(options));
        raise_pending();
        live_ = value_or_raise(std::move(live));
        if (catalog.empty()) return;
        const auto file = value_or_raise(vgpuformats::parse_json(catalog, "catalog"));
        catalog_ = value_or_raise(vgpualloc::merge_file(catalog_, file, "catalog"));
    }

    /// Takes the pods that there are for the workload to expect.
    void learn() {
        static_cast<void>(live_->learn_workload());
        raise_pending();
    }

    /// None where no policy learns.
    [[nodiscard]] std::optional<kept_learning> copy_learning() {
        auto copy = live_->copy_learning();
        if (copy == nullptr) return std::nullopt;
        return kept_learning{std::move(copy)};
    }
    void restore_learning(const kept_learning& learning) { live_->restore_learning(*learning.policies); }

    void upsert(nb::bytes text) {
        const auto object = one_object(std::move(text), "object");
        // A policy in Python knows what devices have, and requests by it.
        are_policies_due_ = are_policies_due_ || (are_policies_own_ && object.kind != "Pod");
        static_cast<void>(live_->upsert(object));
    }
    bool remove_node(const std::string& name) {
        are_policies_due_ = are_policies_own_;
        return live_->remove_node(name);
    }
    bool remove_pod(const std::string& uid) { return live_->remove_pod(uid); }

    /// Adds a pod of a template under a name; its uid is "<namespace>/<name>".
    std::string add_pod(vgpualloc::live_template& like, const std::string& name) { return live_->add_like(like, name); }

    /// Placing keeps `side` up to date.
    void report_to(const python_side& side) {
        python_.emplace(side);
        lock_ = side.lock.attr("acquire");
        unlock_ = side.lock.attr("release");
    }

    /// A call of place() with a Pod, without policies in Python and open trials: as place_new(), in one step. None: it
    /// is no such call, and nothing has happened.
    nb::object place_quickly(nb::handle pod, nb::object name, const std::optional<std::string>& only,
                             std::int64_t unix_ns);

    /// Adds a pod like others, under a name or, for None, under the next one that is free, and places it as place()
    /// does. It is there only if it fits. `object` is what Python knows of it, a tuple whose third value is the
    /// live_template.
    nb::object place_new(nb::tuple object, nb::object name, const std::optional<std::string>& only,
                         std::int64_t unix_ns);

    nb::object spoken = nb::none(); ///< the dialect that a Pod is written in, where it was looked for
    bool is_as_read = false;        ///< the objects are those of the inputs

    /// Places a waiting pod where the policy prefers, or on one node: a Placement, or a Rejection where it does not
    /// fit. `shown` is the pod's name in it, `unix_ns` when it is decided.
    nb::object place(nb::str uid, nb::object shown, const std::optional<std::string>& only, std::int64_t unix_ns);

    /// What a pod has is given back. False if it has nothing.
    bool release(const std::string& uid) {
        const auto state = live_->state_of(uid);
        if (state == live_pod_state::reserved) return live_->rollback(uid).code == rejection_code::none;
        return live_->release(uid).code == rejection_code::none;
    }

    /// What a pod has that runs, to be given to it again; None: nothing.
    [[nodiscard]] std::optional<vgpualloc::live_holding> holding_of(const std::string& uid) const {
        return live_->holding_of(uid);
    }
    /// False where the node or a device is not there.
    bool give_again(const std::string& uid, const vgpualloc::live_holding& holding) {
        return live_->give_again(uid, holding).code == rejection_code::none;
    }

    [[nodiscard]] std::string state_of(const std::string& uid) const {
        switch (live_->state_of(uid)) {
        case live_pod_state::unknown:
            return "unknown";
        case live_pod_state::waiting:
            return "waiting";
        case live_pod_state::reserved:
            return "reserved";
        case live_pod_state::committed:
            return "runs";
        case live_pod_state::suspended:
            return "suspended";
        }
        return "unknown";
    }

    /// The name of the node that a pod has something on; empty: none.
    [[nodiscard]] std::string node_of(const std::string& uid) const {
        const auto* const held = live_->booking_of(uid);
        return held == nullptr ? std::string{} : live_->book().nodes().nodes[held->where.node.at()].name;
    }
    [[nodiscard]] std::vector<told_share> shares_of(const std::string& uid) const {
        std::vector<told_share> result;
        const auto* const held = live_->booking_of(uid);
        if (held == nullptr) return result;
        const auto& cluster = live_->book().nodes();
        const auto& devices = cluster.nodes[held->where.node.at()].devices;
        for (const auto& share : held->where.shares) {
            const auto& device = devices[share.device.at()];
            result.push_back({.container = share.container,
                              .device = share.device.at(),
                              .uuid = device.uuid,
                              .part = explaining::describe_part(cluster.kinds[device.kind], share.part)});
        }
        return result;
    }
    [[nodiscard]] nb::dict annotations_of(const std::string& uid, std::int64_t unix_ns) {
        nb::dict result;
        for (const auto& [key, value] : value_or_raise(live_->annotations_of(uid, unix_ns))) {
            result[nb::str(key.data(), key.size())] = value;
        }
        return result;
    }

    /// Out of service, or back: "in_service", "draining" or "failed". False if nothing has changed.
    bool set_service(const std::string& node, const std::string& uuid, const std::string& service) {
        const node_index where = node_named(node);
        using vgpualloc::service_state;
        const auto wanted = service == "draining" ? service_state::draining
                            : service == "failed" ? service_state::failed
                                                  : service_state::in_service;
        return value_or_raise(live_->set_service(where, uuid, wanted));
    }
    [[nodiscard]] std::string service_of(const std::string& node, const std::string& uuid) {
        const node_index where = node_named(node);
        const auto device = value_or_raise(live_->find_device(where, uuid));
        switch (live_->book().services(where)[device.at()]) {
        case vgpualloc::service_state::draining:
            return "draining";
        case vgpualloc::service_state::failed:
            return "failed";
        default:
            return "in_service";
        }
    }

    /// (fits, score, code, wanted, available, unit) of one node.
    nb::tuple ask_node(const std::string& uid, const std::string& node) {
        const node_index where = node_named(node);
        renew_policies();
        const auto opinion = live_->ask_node(uid, where);
        raise_pending();
        return nb::make_tuple(opinion.fits(), opinion.score, std::string{to_string(opinion.refusal.code)},
                              opinion.refusal.wanted, opinion.refusal.available, std::string{opinion.unit});
    }

    /// (uid, "<namespace>/<name>", state) of every pod, by name.
    [[nodiscard]] nb::list pods() const {
        std::vector<std::pair<std::string, std::string>> named;
        for (const std::string& uid : live_->pods()) named.emplace_back(live_->full_name_of(uid), uid);
        std::ranges::sort(named);
        nb::list result;
        for (const auto& [name, uid] : named) result.append(nb::make_tuple(uid, name, state_of(uid)));
        return result;
    }
    [[nodiscard]] std::vector<std::string> nodes() const {
        std::vector<std::string> names;
        const auto& nodes = live_->book().nodes().nodes;
        for (std::size_t node = 0; node < nodes.size(); ++node) {
            if (live_->book().is_present(node_index{node})) names.push_back(nodes[node].name);
        }
        std::ranges::sort(names);
        return names;
    }
    [[nodiscard]] std::vector<std::string> warnings() const {
        std::vector<std::string> sentences;
        for (const auto& warning : live_->view().warnings()) sentences.push_back(warning.message());
        return sentences;
    }

    /// Rows of nodes, or of their devices, as they are now.
    [[nodiscard]] nb::list node_rows() {
        nb::list rows;
        for (const auto& node : figures_of(*live_).nodes) {
            std::int64_t used = 0;
            for (const auto& device : node.devices) used += device.used.count();
            rows.append(nb::make_tuple(node.name, node.cpu.count(), node.cpu_used.count(), node.pods,
                                       node.devices.size(), used));
        }
        return rows;
    }
    [[nodiscard]] nb::list device_rows() {
        nb::list rows;
        for (const auto& node : figures_of(*live_).nodes) {
            for (const auto& device : node.devices) {
                rows.append(nb::make_tuple(node.name, device.index, device.uuid, device.model, device.mode,
                                           device.dialect, service_of(node.name, device.uuid), device.memory.count(),
                                           device.memory_used.count(), device.cores, device.cores_used, device.slots,
                                           device.slots_used, device.used.count()));
            }
        }
        return rows;
    }

    /// The dialects in which devices are registered, by name, each once.
    [[nodiscard]] std::vector<std::string> dialects() const {
        std::vector<std::string> names;
        for (const std::string& node : nodes()) {
            for (const auto& device : live_->view().devices_of(node)) names.push_back(device.dialect);
        }
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }

    /// What nodes of a described kind ("MODEL:MODE:DEVICES", …) are called.
    [[nodiscard]] std::string kind_name(const std::string& kind, bool like_cluster) const {
        return described(kind, like_cluster).name;
    }
    /// The objects of such nodes, node by node.
    [[nodiscard]] nb::list kind_objects(const std::string& kind, const std::vector<std::string>& names,
                                        bool like_cluster) const {
        const auto known = described(kind, like_cluster);
        nb::list result;
        for (const std::string& name : names) {
            const auto list =
                value_or_raise(vgpuops::whatif::described_node(known, name, live_->view().dialects(), "kind"));
            nb::list objects;
            for (const auto& object : list.find("items")->items) {
                objects.append(bytes_of(vgpuformats::print_json(object, 0)));
            }
            result.append(std::move(objects));
        }
        return result;
    }

    /// A list of objects as one snapshot, which every command reads.
    [[nodiscard]] nb::bytes snapshot(nb::bytes objects, bool nameless) const {
        auto list = normalised(objects);
        if (nameless) {
            const auto manifests = value_or_raise(vgpuops::snapshots::manifests_of(list, "snapshot"));
            const auto state = value_or_raise(kube::make_snapshot(manifests, live_->view().dialects()));
            list = vgpuops::snapshots::anonymised(list, state);
        }
        return bytes_of(vgpuops::snapshots::file_text(list));
    }

    /// Whether the ledger counts what the annotations of objects say, as `vgpusim snapshot --json` prints it.
    [[nodiscard]] nb::bytes audit(nb::bytes objects) const {
        const auto manifests = value_or_raise(vgpuops::snapshots::manifests_of(normalised(objects), "snapshot"));
        const auto state = value_or_raise(kube::make_snapshot(manifests, live_->view().dialects()));
        return bytes_of(vgpuops::snapshots::audit_json(vgpuops::snapshots::audit_of(manifests, state), state));
    }

    /// Calls visit(object), as long as it is 0, for everything in Python that this holds: a policy may hold its
    /// cluster.
    template <class Visit>
    int each_held(Visit visit) {
        int result = 0;
        const auto see = [&](nb::object& held) {
            if (result == 0 && held.is_valid()) result = visit(held);
        };
        see(policies_.node);
        see(policies_.device);
        if (python_) {
            see(python_->trials);
            see(python_->uids);
            see(python_->objects);
            see(python_->placed);
        }
        for (const auto& policy : objects_) {
            const auto object = policy.lock();
            if (object == nullptr) continue;
            for (nb::object* const held : {&object->subject, &object->score, &object->device_score, &object->arrived}) {
                see(*held);
            }
        }
        return result;
    }

private:
    /// A list of objects as a snapshot has them.
    [[nodiscard]] vgpuformats::document normalised(const nb::bytes& objects) const {
        const auto documents =
            value_or_raise(vgpuops::snapshots::cluster_documents({objects.c_str(), objects.size()}, "snapshot"));
        return vgpuops::snapshots::normalised(documents, live_->view().dialects());
    }

    /// As place(). `known_as` is the uid.
    nb::object decide(const std::string& uid, nb::object known_as, nb::object shown,
                      const std::optional<std::string>& only, std::int64_t unix_ns);

    /// Why a pod does not fit on the candidates.
    [[nodiscard]] nb::object rejection_of(const std::string& uid, const nb::object& shown);

    /// Policies of Python that have failed, or whose cluster has other nodes now, are made again.
    void renew_policies() {
        if (!std::exchange(are_policies_due_, false)) return;
        const auto renewed = live_->renew_policies();
        raise_pending();
        done_or_raise(renewed);
    }

    /// What Python has raised meanwhile; with a note that names the pod that is placed, if there is one.
    void raise_pending(const nb::object& pod = {}) {
        if (!raised_) return;
        are_policies_due_ = true; // those that have failed answer no more
        if (pod.is_valid()) add_note(*raised_, "placing pod " + std::string{nb::str(pod).c_str()});
        throw nb::python_error{*std::exchange(raised_, std::nullopt)};
    }

    /// The present node of that name, or InputError.
    [[nodiscard]] node_index node_named(const std::string& name) {
        const node_index where = live_->find_node(name);
        if (!where.valid()) raise(bad_value(error_code::unknown_name, "node", name, "a node of the cluster"));
        return where;
    }

    /// What a kind leaves open is as in the cluster, or a host has 16 CPUs and 128 GiB for each device.
    [[nodiscard]] vgpuops::whatif::described_kind described(const std::string& kind, bool like_cluster) const {
        vgpuops::whatif::open_amounts open = vgpuops::whatif::most_of(live_->book().nodes());
        open.dialects = dialects();
        const auto read = [&] {
            return value_or_raise(
                vgpuops::whatif::read_described_kind(kind, open, live_->view().dialects(), catalog_, "kind"));
        };
        if (like_cluster && !live_->book().nodes().nodes.empty()) return read();
        const std::int64_t devices = read().nodes.devices;
        open.cpu_milli = 16'000 * devices;
        open.memory_mib = 131'072 * devices;
        return read();
    }

    given_policies policies_;
    policy_objects objects_;        ///< of the policies that there are
    bool are_policies_own_ = false; ///< in Python
    bool are_policies_due_ = false; ///< to be made again
    std::optional<nb::python_error> raised_;
    std::unique_ptr<live_cluster> live_;
    vgpualloc::hardware_catalog catalog_ = vgpualloc::built_in_catalog();
    std::vector<node_index> candidates_;
    std::optional<python_side> python_;
    nb::object lock_; ///< methods of its lock
    nb::object unlock_;
    std::int64_t number_ = 0; ///< of the next pod without a name
};

} // namespace vgpupython
