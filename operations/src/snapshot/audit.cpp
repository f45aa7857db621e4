// The ledger against the annotations.
#include "vgpuops/snapshot/audit.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/kube/annotations.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpuops::snapshots {

using vgpualloc::device_share;
using vgpualloc::device_state;

namespace {

constexpr const char* state_words = "{} MiB, cores {}, {} containers";

std::string words_of(const vgpualloc::device_spec& spec, const device_state& state) {
    const auto use = spec.mode->use(spec, state);
    return fmt::format(state_words, use.memory.count(), use.compute.count(), state.slots);
}

/// Adds up what annotations say, device by device, with the modes' arithmetic and without the ledger.
class annotation_reader {
public:
    annotation_reader(std::span<const kube::manifest> objects, const kube::snapshot& state)
        : state_{&state}, sorted_{kube::sort_out(objects, state.dialects, passed_over_)} {
        for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
            states_.emplace_back(state.devices[n].size());
            shares_.emplace_back(state.devices[n].size());
            read_node(node_index{n});
        }
    }

    [[nodiscard]] const device_state& state_of(std::size_t node, std::size_t device) const {
        return states_[node][device];
    }
    [[nodiscard]] const std::vector<vgpualloc::partition>& parts_of(std::size_t node, std::size_t device) const {
        return shares_[node][device];
    }

private:
    void read_node(node_index where) {
        const auto& name = state_->nodes().nodes[where.at()].name;
        const kubernetes_node* const object = sorted_.nodes_by_name.at(name);
        const auto on_node = sorted_.pods_on_node.find(name);
        if (on_node == sorted_.pods_on_node.end()) return;
        for (std::size_t i = 0; i < state_->dialects.size(); ++i) {
            const auto& spoken = state_->dialects[i];
            const auto reading = spoken.read_node(sorted_.source_of(spoken, *object));
            if (reading.devices.empty()) continue;
            for (const auto* const pod : on_node->second) {
                if (!spoken.requests(*pod)) continue;
                for (const device_share& share : spoken.read_assignment(*pod, reading.devices).shares) {
                    add(where, spoken.name(), reading, share);
                }
            }
        }
    }

    void add(node_index where, std::string_view dialect, const vgpualloc::dialects::node_reading& reading,
             const device_share& share) {
        const auto& uuid = reading.devices[share.device.at()].uuid;
        const auto& known = state_->devices[where.at()];
        const auto is_same = [&](const kube::snapshot_device& device) {
            if (!uuid.empty()) return device.registered.uuid == uuid;
            return device.dialect == dialect && device.index == reading.index_of(share.device.at());
        };
        const auto position = std::ranges::find_if(known, is_same);
        if (position == known.end()) return; // could not be read, which is a warning of the snapshot
        const auto d = static_cast<std::size_t>(std::distance(known.begin(), position));
        const auto& spec = state_->nodes().spec_of(where, device_index{d});
        if (spec.mode->why_not(spec, {}, share.part).code == rejection_code::mode_not_offered) return;
        states_[where.at()][d] = spec.mode->with(spec, states_[where.at()][d], share.part);
        shares_[where.at()][d].push_back(share.part);
    }

    using kubernetes_node = vgpualloc::kubernetes::node;

    const kube::snapshot* state_;
    std::vector<error> passed_over_; ///< the snapshot has them as warnings
    kube::cluster_objects sorted_;
    std::vector<std::vector<device_state>> states_;                      ///< by node, then device
    std::vector<std::vector<std::vector<vgpualloc::partition>>> shares_; ///< likewise
};

void add_use(device_use& to, const vgpualloc::device_spec& spec, const device_state& state) {
    if (state == device_state{}) return;
    const auto use = spec.mode->use(spec, state);
    ++to.devices;
    to.memory_mib += use.memory.count();
    to.cores += use.compute.count();
    to.containers += state.slots;
}

void add_instance(device_use& to, const vgpualloc::device_spec& spec, const vgpualloc::partition& part) {
    const auto words = explaining::describe_part(spec, part);
    if (!words.name.empty()) ++to.instances[words.name];
}

/// Those who have a device, each with its part.
std::string users_of(const kube::snapshot& state, node_index where, device_index device) {
    std::vector<std::string> users;
    for (const std::uint32_t slot : state.book->live_on(where)) {
        const auto& booked = state.book->bookings()[slot];
        for (const device_share& share : booked.where.shares) {
            if (share.device != device) continue;
            const auto& spec = state.nodes().spec_of(where, device);
            users.push_back(fmt::format("{} ({})", state.bound[booked.owner.at()].pod.full_name(),
                                        explaining::describe_part(spec, share.part).words));
        }
    }
    std::ranges::sort(users);
    return vgpuformats::joined(users);
}

class auditor {
public:
    auditor(std::span<const kube::manifest> objects, const kube::snapshot& state)
        : objects_{objects}, state_{&state}, annotations_{objects, state} {}

    [[nodiscard]] audit run() {
        result_.differences = state_->warnings;
        for (const auto& spoken : state_->dialects) {
            dialect_audit& entry = result_.dialects.emplace_back();
            entry.dialect = spoken->name();
            entry.by_kubelet = spoken->assigned_by_kubelet();
        }
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) add_node(node_index{n});
        for (const auto& pod : state_->bound) ++dialect(pod.pod.dialect).running;
        for (const auto& pod : state_->pending) ++dialect(pod.dialect).waiting;
        tell_double_use();
        write_back();
        std::erase_if(result_.dialects, [](const dialect_audit& entry) {
            return entry.devices == 0 && entry.running == 0 && entry.waiting == 0;
        });
        return std::move(result_);
    }

private:
    dialect_audit& dialect(const std::string& name) {
        const auto entry = std::ranges::find(result_.dialects, name, &dialect_audit::dialect);
        return entry == result_.dialects.end() ? without_devices_ : *entry;
    }

    void add_node(node_index where) {
        const auto& node = state_->nodes().nodes[where.at()];
        std::set<std::string> spoken_here;
        for (std::size_t d = 0; d < node.devices.size(); ++d) {
            const auto& spec = state_->nodes().spec_of(where, device_index{d});
            const auto& device = state_->device(where, device_index{d});
            auto& entry = dialect(device.dialect);
            if (spoken_here.insert(device.dialect).second) ++entry.nodes;
            ++entry.devices;
            entry.memory_mib += spec.memory.count();
            if (state_->book->services(where)[d] == vgpualloc::service_state::in_service) ++entry.in_service;
            const device_state& counted = state_->book->devices(where)[d];
            const device_state& annotated = annotations_.state_of(where.at(), d);
            add_use(entry.counted, spec, counted);
            add_use(entry.annotated, spec, annotated);
            for (const auto& part : annotations_.parts_of(where.at(), d)) add_instance(entry.annotated, spec, part);
            if (counted == annotated || entry.by_kubelet) continue;
            tell("node " + node.name, "device " + device.registered.uuid, words_of(spec, counted),
                 "what the annotations say: " + words_of(spec, annotated));
        }
        for (const std::uint32_t slot : state_->book->live_on(where)) {
            for (const device_share& share : state_->book->bookings()[slot].where.shares) {
                auto& entry = dialect(state_->device(where, share.device).dialect);
                add_instance(entry.counted, state_->nodes().spec_of(where, share.device), share.part);
            }
        }
    }

    void tell_double_use() {
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) {
            const auto& node = state_->nodes().nodes[n];
            for (std::size_t d = 0; d < node.devices.size(); ++d) {
                if (!state_->book->is_overcommitted(node_index{n}, device_index{d})) continue;
                tell("node " + node.name, "device " + node.devices[d].uuid,
                     users_of(*state_, node_index{n}, device_index{d}), "parts that the device has at the same time");
            }
            if (state_->book->is_overcommitted(node_index{n})) {
                const auto& used = state_->book->host(node_index{n});
                tell("node " + node.name, "host",
                     fmt::format("{} mCPU, {} MiB, {} pods", used.cpu.count(), vgpualloc::mib_up(used.memory),
                                 used.pods),
                     fmt::format("no more than it has: {} mCPU, {} MiB, {} pods", node.cpu.count(),
                                 vgpualloc::mib_down(node.memory), node.pods_max));
            }
        }
    }

    /// Writes the annotations of every pod anew from what the ledger has, and reads the whole cluster again.
    void write_back() {
        std::vector<kube::manifest> rewritten{objects_.begin(), objects_.end()};
        std::map<std::string, const kube::bound_pod*> bound;
        for (const kube::bound_pod& pod : state_->bound) bound.emplace(pod.pod.full_name(), &pod);
        std::set<std::string> written;
        for (kube::manifest& object : rewritten) {
            if (object.kind != "Pod" || !object.pod) continue;
            const auto entry = bound.find(kube::full_name_of(object));
            if (entry == bound.end()) continue;
            const auto& booked = booking_of(*entry->second);
            if (booked.where.shares.empty()) continue;
            const std::size_t asking = entry->second->pod.request.containers.size();
            const auto is_of_none = [asking](const device_share& share) { return share.container >= asking; };
            if (std::ranges::any_of(booked.where.shares, is_of_none)) {
                tell("pod " + entry->first, "annotations", shares_of(*state_, booked),
                     "devices for containers that ask for some, of which the pod has " + std::to_string(asking) +
                         "; they count, and cannot be written back");
                continue;
            }
            const auto annotations = kube::annotations_of(*state_, entry->second->pod, booked.where, "0");
            if (!annotations) {
                result_.differences.push_back(annotations.error());
                continue;
            }
            if (annotations->empty()) continue; // the kubelet's to say
            for (const auto& [key, value] : *annotations) object.pod->annotations[key] = value;
            written.insert(entry->first);
        }
        const auto again = kube::make_snapshot(rewritten, state_->dialects);
        VGA_ASSERT(again.has_value(), "the nodes are the same");
        compare(*again, bound, written);
    }

    void compare(const kube::snapshot& again, const std::map<std::string, const kube::bound_pod*>& bound,
                 const std::set<std::string>& written) {
        for (std::size_t i = 0; i < again.bound.size(); ++i) {
            const std::string name = again.bound[i].pod.full_name();
            if (!written.contains(name)) continue;
            const auto& before = booking_of(*bound.at(name));
            const auto& after = again.book->booking_of(pod_id{i});
            if (before.where == after.where && before.tags == after.tags) {
                ++result_.written_back;
                continue;
            }
            tell("pod " + name, "annotations", shares_of(again, after),
                 "as the ledger has it: " + shares_of(*state_, before));
        }
    }

    [[nodiscard]] const vgpualloc::booking& booking_of(const kube::bound_pod& pod) const {
        return state_->book->booking_of(pod_id{&pod - state_->bound.data()});
    }

    [[nodiscard]] static std::string shares_of(const kube::snapshot& state, const vgpualloc::booking& booked) {
        std::string list;
        for (const device_share& share : booked.where.shares) {
            const auto& spec = state.nodes().spec_of(booked.where.node, share.device);
            list += fmt::format("{}{} {}", list.empty() ? "" : ", ",
                                state.device(booked.where.node, share.device).registered.uuid,
                                explaining::describe_part(spec, share.part).words);
        }
        return list.empty() ? "no device" : list;
    }

    void tell(std::string where, std::string field, std::string value, std::string expected) {
        result_.differences.push_back(
            bad_value(error_code::mismatch, field, value, std::move(expected)).at(std::move(where)));
    }

    std::span<const kube::manifest> objects_;
    const kube::snapshot* state_;
    annotation_reader annotations_;
    dialect_audit without_devices_{}; ///< pods that ask for none
    audit result_;
};

} // namespace

audit audit_of(std::span<const kube::manifest> objects, const kube::snapshot& state) {
    return auditor{objects, state}.run();
}

} // namespace vgpuops::snapshots
