// The pods of a snapshot: what they ask for, where they are and what they have.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "snapshot_parts.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::kube {

std::string label_of(const manifest& pod) {
    const std::string name = "pod " + full_name_of(pod);
    return pod.place == name ? name : pod.place + ": " + name; // name_place() has been there
}

namespace {

/// A problem of an object, with the object's place before what the problem says of its own.
error placed(const manifest& object, error problem) {
    problem.where = place_of(object, problem) + (problem.where.empty() ? "" : ": " + problem.where);
    return problem;
}

std::string kind_of(const kubernetes::container& container, bool at_init) {
    return container.stays ? "sidecar " : at_init ? "init container " : "container ";
}

/// Finds out which container each entry of a request is of. A dialect may order the entries as it likes, but what a
/// container asks for alone it asks for in the pod as well.
class entry_owners {
public:
    entry_owners(snapshot_pod& pod, const dialect& spoken) : pod_{&pod}, spoken_{&spoken} {
        const auto& entries = pod.request.containers;
        pod.container_names.assign(entries.size(), {});
        for (std::size_t i = entries.size(); i-- > 0;) unnamed_[entries[i]].push_back(i);
    }

    void name_entries() {
        if (spoken_->asks_as_one()) return;
        read_all();
        const bool init_apart = spoken_->counts_init_apart(pod_->object);
        for (const bool ends : {false, true}) {
            for (std::size_t i = 0; i < names_.size(); ++i) {
                if (ends_[i] != ends) continue;
                if ((ends && init_apart) || !match(i)) without_entry_.push_back(i);
            }
        }
        std::vector<std::size_t> unnamed;
        for (const auto& [request, positions] : unnamed_)
            unnamed.insert(unnamed.end(), positions.begin(), positions.end());
        pod_->counts_at_once = !without_entry_.empty() || !unnamed.empty();
        if (init_apart) return;
        std::ranges::sort(unnamed);
        for (std::size_t i = 0; i < std::min(unnamed.size(), without_entry_.size()); ++i) {
            pod_->container_names[unnamed[i]] = names_[without_entry_[i]];
        }
    }

private:
    void read_all() {
        kubernetes::pod part = pod_->object; // copied once
        for (const auto* const list : {&pod_->object.init_containers, &pod_->object.containers}) {
            const bool at_init = list == &pod_->object.init_containers;
            if (at_init && !spoken_->reads_init_containers()) continue;
            for (const kubernetes::container& container : *list) {
                part.init_containers.clear();
                part.containers.assign(1, container);
                const auto alone = spoken_->read_pod(part);
                if (!alone) continue;
                for (const device_request& request : alone->containers) {
                    pod_->own_requests.push_back({kind_of(container, at_init) + container.name, request});
                    names_.push_back(container.name);
                    ends_.push_back(at_init && !container.stays);
                }
            }
        }
    }

    /// Names the first entry that asks for just the same; false if there is none.
    bool match(std::size_t own) {
        const auto same = unnamed_.find(pod_->own_requests[own].request);
        if (same == unnamed_.end() || same->second.empty()) return false;
        pod_->container_names[same->second.back()] = names_[own];
        same->second.pop_back();
        return true;
    }

    snapshot_pod* pod_;
    const dialect* spoken_;
    std::map<device_request, std::vector<std::size_t>> unnamed_; ///< entries by what they ask for, the first one last
    // by own_requests
    std::vector<std::string> names_;
    std::vector<bool> ends_;                 ///< before the containers start
    std::vector<std::size_t> without_entry_; ///< an entry was raised for them, or what others have is enough
};

} // namespace

namespace {

/// What a pod requires of others, or the names of what it requires where nothing looks at that.
void read_peers(const manifest& object, const pod_sets* sets, snapshot_pod& pod) {
    const pod_traits traits{.ns = pod.ns, .labels = pod.object.labels, .terminating = pod.terminating};
    const auto peers = sets == nullptr ? std::nullopt : sets->peers_of(traits, object.peers.get());
    if (peers) {
        pod.request.peers = *peers;
    } else if (object.peers) {
        for (std::string& name : names_of(*object.peers)) pod.rules_ignored.push_back(std::move(name));
    }
}

} // namespace

expected<snapshot_pod> read_request(const manifest& object, const dialect_set& dialects, const pod_sets* sets) {
    snapshot_pod pod{.ns = namespace_of(object),
                     .name = object.name,
                     .place = object.place,
                     .dialect = {},
                     .object = *object.pod,
                     .request = {},
                     .container_names = {},
                     .rules_ignored = object.rules_ignored,
                     .gates = object.gates,
                     .scheduler_name = object.scheduler_name,
                     .terminating = object.terminating};
    const auto asked_in = dialects.asked_by(*object.pod);
    if (asked_in.size() > 1) {
        std::string names;
        for (const std::size_t i : asked_in) names += (names.empty() ? "" : ", ") + std::string{dialects[i].name()};
        return unexpected(bad_value(error_code::unsupported, "resources", names, "devices of one dialect in a pod")
                              .at(label_of(object)));
    }
    if (!asked_in.empty()) {
        const dialect& spoken = dialects[asked_in.front()];
        auto request = spoken.read_pod(*object.pod);
        if (!request) return unexpected(placed(object, std::move(request).error()));
        pod.dialect = spoken.name();
        pod.request = *std::move(request);
        entry_owners{pod, spoken}.name_entries();
    }
    pod.request.cpu = object.cpu;
    pod.request.memory = object.memory;
    pod.request.rules = object.rules;
    pod.request.rules.resources = dialects.resources_needed(*object.pod);
    read_peers(object, sets, pod);
    if (auto checked = check_request(pod.request); !checked) {
        return unexpected(placed(object, std::move(checked).error()));
    }
    return pod;
}

snapshot_pod read_request_or_failure(const manifest& object, const dialect_set& dialects, const pod_sets* sets) {
    auto pod = read_request(object, dialects, sets);
    if (pod) return *std::move(pod);
    snapshot_pod unread{
        .ns = namespace_of(object),
        .name = object.name,
        .place = object.place,
        .dialect = {},
        .object = *object.pod,
        .request = {.cpu = object.cpu, .memory = object.memory, .containers = {}, .rules = object.rules},
        .container_names = {},
        .rules_ignored = object.rules_ignored,
        .gates = object.gates,
        .scheduler_name = object.scheduler_name,
        .terminating = object.terminating,
        .failure = std::move(pod).error()};
    read_peers(object, sets, unread);
    return unread;
}

namespace {

/// What the pod's annotations say that it has of the devices of its node.
std::vector<device_share> read_shares(const manifest& object, const described_node& node, const device_kinds& kinds,
                                      const dialect_set& dialects, std::vector<error>& warnings) {
    std::vector<device_share> shares;
    for (const std::size_t i : dialects.asked_by(*object.pod)) {
        const dialect_devices& own = node.by_dialect[i];
        const auto refuse = [&](const std::string& uuid, std::string expected_text) {
            warnings.push_back(bad_value(error_code::mismatch, "devices in dialect " + std::string{dialects[i].name()},
                                         uuid, std::move(expected_text))
                                   .at(label_of(object)));
        };
        auto assignment = dialects[i].read_assignment(*object.pod, own.registered);
        for (error& problem : assignment.problems) warnings.push_back(placed(object, std::move(problem)));
        for (device_share& share : assignment.shares) {
            const std::string& uuid = own.registered[share.device.at()].uuid;
            const auto device = own.index[share.device.at()];
            if (!device) {
                refuse(uuid, "a device that could be read; not counted");
                continue;
            }
            share.device = *device;
            const auto& spec = kinds.kinds[node.described.devices[device->at()].kind];
            if (spec.mode->why_not(spec, {}, share.part).code == rejection_code::mode_not_offered) {
                refuse(uuid, "a part that its mode " + std::string{spec.mode->name()} + " knows; not counted");
                continue;
            }
            if (!within_limits(share.part)) {
                refuse(uuid, "memory and compute that a device can have; not counted");
                continue;
            }
            shares.push_back(share);
        }
    }
    return shares;
}

/// The devices of a node as the kubelet gives them out to one pod.
class kubelet_units {
public:
    kubelet_units(const bound_place& at, const dialect_set& dialects) : at_{&at}, picked_(at.node.devices.size(), 0) {
        for (std::size_t d = 0; d < picked_.size(); ++d) {
            const dialect* const spoken = dialects.find(at.node.devices[d].dialect);
            serves_.push_back(spoken != nullptr && spoken->assigned_by_kubelet());
            states_.push_back(at.book.devices(at.where)[d]);
        }
    }

    /// Whether some device is of the kind that the entry asks for, whatever runs on it.
    [[nodiscard]] bool has_kind(const device_request& entry) const {
        for (std::size_t d = 0; d < picked_.size(); ++d) {
            if (serves_[d] && why_never(spec(d), entry) == rejection_code::none) return true;
        }
        return false;
    }

    /// The next device's worth of the entry: of a device in service, as kube-scheduler takes what runs from what is
    /// allocatable; of the one that the plugin prefers, then of the one that the pod has least of, then of the first.
    /// None: nothing is left.
    [[nodiscard]] std::optional<device_share> next(std::size_t container, const device_request& entry) {
        std::optional<std::size_t> best;
        std::tuple<bool, std::int64_t, std::int64_t> best_rank;
        const auto services = at_->book.services(at_->where);
        partition best_part;
        std::vector<partition> parts;
        for (std::size_t d = 0; d < picked_.size(); ++d) {
            if (!serves_[d] || why_never(spec(d), entry) != rejection_code::none) continue;
            parts.clear();
            spec(d).mode->candidates(spec(d), states_[d], entry, parts);
            if (parts.empty()) continue;
            const std::tuple rank{services[d] != service_state::in_service,
                                  unit_rank(*spec(d).mode, states_[d], parts.front()), picked_[d]};
            if (best && best_rank <= rank) continue;
            best = d;
            best_rank = rank;
            best_part = parts.front();
        }
        if (!best) return std::nullopt;
        states_[*best] = spec(*best).mode->with(spec(*best), states_[*best], best_part);
        ++picked_[*best];
        return device_share{
            .container = static_cast<std::uint32_t>(container), .device = device_index{*best}, .part = best_part};
    }

private:
    [[nodiscard]] const device_spec& spec(std::size_t d) const {
        return at_->book.nodes().kinds[at_->node.described.devices[d].kind];
    }

    const bound_place* at_;
    std::vector<std::int64_t> picked_; ///< by device: of the pod
    std::vector<bool> serves_;         ///< by device: the kubelet chooses it
    std::vector<device_state> states_; ///< by device: with what the pod has so far
};

/// Whether the node has devices for the pod of which the kubelet chooses; the pod's shares are then some of them.
bool count_by_amount(const manifest& object, const snapshot_pod& pod, const bound_place& at,
                     const dialect_set& dialects, std::vector<device_share>& shares, std::vector<error>& warnings) {
    std::vector<device_request> entries = pod.request.containers;
    if (const dialect* const asked_in = dialects.find(pod.dialect)) {
        // Who else registers GPUs may count pods in another way; here it is kube-scheduler that has counted this one.
        const auto counted = asked_in->for_traits({});
        if (auto request = counted ? counted->read_pod(pod.object) : expected<pod_request>{pod.request}) {
            entries = std::move(request->containers);
        }
    }
    std::int64_t asked = 0;
    for (const device_request& entry : entries) asked += entry.count;
    const booking* const own = at.book.find_booking(at.id);
    if (own != nullptr && own->where.node == at.where && std::cmp_equal(own->where.shares.size(), asked)) {
        shares.assign(own->where.shares.begin(), own->where.shares.end());
        return true;
    }
    kubelet_units units{at, dialects};
    bool has_such = false;
    for (std::size_t c = 0; c < entries.size(); ++c) {
        const device_request& entry = entries[c];
        has_such = has_such || units.has_kind(entry);
        for (std::int64_t n = 0; n < entry.count; ++n) {
            const auto share = units.next(c, entry);
            if (!share) break;
            shares.push_back(*share);
        }
    }
    if (has_such && std::cmp_less(shares.size(), asked)) {
        warnings.push_back(bad_value(error_code::mismatch, "devices", std::to_string(asked),
                                     "no more than node " + at.node.described.name + " has beside its other pods, " +
                                         std::to_string(shares.size()))
                               .at(label_of(object)));
    }
    return has_such;
}

} // namespace

booking read_booking(const manifest& object, const snapshot_pod& pod, const bound_place& at,
                     const dialect_set& dialects, std::vector<error>& warnings) {
    const std::size_t warnings_before = warnings.size();
    auto shares = read_shares(object, at.node, at.book.nodes(), dialects, warnings);
    const bool asks = std::ranges::any_of(pod.request.containers, [](const auto& entry) { return entry.count > 0; });
    const bool told = !asks || !shares.empty() || warnings.size() != warnings_before;
    if (!told && !count_by_amount(object, pod, at, dialects, shares, warnings)) {
        warnings.push_back(bad_input(error_code::missing, "annotations", "missing",
                                     "its devices of node " + at.node.described.name + " in dialect " + pod.dialect +
                                         "; what it uses of them is not counted")
                               .at(label_of(object)));
    }
    const dialect* const spoken = dialects.find(pod.dialect);
    booking held{.owner = at.id,
                 .cpu = pod.request.cpu,
                 .memory = pod.request.memory,
                 .where = {.node = at.where, .shares = {}},
                 .tags = spoken == nullptr ? pod.request.tags : spoken->tags_of(*object.pod, pod.request, shares),
                 .peers = pod.request.peers};
    for (const device_share& share : shares) held.where.shares.push_back(share);
    return held;
}

bool adopt_booking(ledger& book, booking held, const manifest& object, std::vector<error>& warnings) {
    auto adopted = book.adopt(held);
    if (adopted) return true;
    const bool has_devices = !held.where.shares.empty();
    if (has_devices) { // a scheduler's booking may keep a device in the mode that it had
        held.where.shares.clear();
        adopted = book.adopt(std::move(held));
    }
    warnings.push_back(bad_input(error_code::mismatch, adopted ? "devices" : "spec", "not as its node is",
                                 adopted ? "parts that the devices of its node can have now; counted without"
                                         : "a pod that can be counted on its node (" +
                                               std::string{to_string(adopted.error().code)} + "); not counted")
                           .at(label_of(object)));
    return adopted.has_value();
}

} // namespace vgpualloc::kube
