// The view of a cluster that changes.
#include "vgpualloc/kube/cluster_view.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::kube {

struct cluster_view::node_entry {
    manifest object;
    node_index where;
    described_node said;                   ///< what the ledger was told
    std::vector<snapshot_device> former{}; ///< what is no longer registered and may be kept by pods
    std::vector<error> warnings{};
};

struct cluster_view::pod_entry {
    std::string full_name;
    manifest object;
    std::string node{};   ///< that the object binds it to; empty: to none
    bool adopted = false; ///< its booking is the view's
    std::vector<error> warnings{};
};

cluster_view::cluster_view(dialect_set dialects)
    : dialects_{dialects}, adapted_{std::move(dialects)}, book_{std::make_unique<ledger>(cluster{})},
      traits_(dialects_.size()) {}
cluster_view::~cluster_view() = default;
cluster_view::cluster_view(cluster_view&& other) noexcept = default;
cluster_view& cluster_view::operator=(cluster_view&& other) noexcept = default;

bool cluster_view::upsert(const manifest& object) {
    if (object.node) return upsert_node(object);
    if (object.kind == "Pod" && object.pod) return upsert_pod(object);
    if (object.kind == "ConfigMap") return upsert_config_map(object);
    return false;
}

// ---- nodes

bool cluster_view::upsert_node(const manifest& object) {
    const auto known = nodes_.find(object.name);
    if (known != nodes_.end()) {
        if (known->second.object.says_the_same_as(object)) return false;
        count_traits(*known->second.object.node, -1);
        known->second.object = object;
        count_traits(*object.node, 1);
        refresh_node(known->second);
        return true;
    }
    auto& entry = nodes_.emplace(object.name, node_entry{.object = object, .where = {}, .said = {}}).first->second;
    count_traits(*object.node, 1);
    for (const auto& spoken : dialects_) {
        const std::string map_name = spoken->config_map_of(object.name);
        if (!map_name.empty()) config_map_users_[map_name].insert(object.name);
    }
    refresh_node(entry);
    return true;
}

bool cluster_view::remove_node(std::string_view name) {
    const auto known = nodes_.find(name);
    if (known == nodes_.end()) return false;
    unbook_pods_of(known->first);
    if (known->second.where.valid()) static_cast<void>(book_->remove_node(known->second.where));
    count_traits(*known->second.object.node, -1);
    for (const auto& spoken : dialects_) {
        const auto users = config_map_users_.find(spoken->config_map_of(name));
        if (users == config_map_users_.end()) continue;
        users->second.erase(known->first);
        if (users->second.empty()) config_map_users_.erase(users);
    }
    nodes_.erase(known);
    return true;
}

std::vector<dialects::node_reading> cluster_view::read_devices(const node_entry& entry) const {
    const kubernetes::node& object = *entry.object.node;
    std::vector<const kubernetes::pod*> bound;
    for (const std::string& full_name : names_on(object.name)) bound.push_back(&*pods_.at(full_name).object.pod);
    std::vector<dialects::node_reading> readings;
    for (const auto& spoken : dialects_) {
        const auto data = config_maps_.find(spoken->config_map_of(object.name));
        readings.push_back(
            spoken->read_node({.object = object,
                               .config_map = data == config_maps_.end() ? nullptr : one_that_counts(data->second),
                               .pods = bound}));
    }
    return readings;
}

/// Tells the ledger what the node is now. Where its devices are others, its pods are booked anew: so that the ledger is
/// the same whatever came first.
void cluster_view::refresh_node(node_entry& entry) {
    entry.warnings = entry.object.problems;
    described_node said = describe_node(entry.object, read_devices(entry), dialects_, book_->kinds(), entry.warnings);
    const bool is_new = !entry.where.valid();
    if (!is_new && said == entry.said) return;
    const bool same_devices =
        !is_new && said.described.devices == entry.said.described.devices && said.by_dialect == entry.said.by_dialect;
    const std::string& name = entry.object.name;
    if (!same_devices) unbook_pods_of(name);
    auto told = tell(entry.where, said.described);
    if (!told) {
        entry.warnings.push_back(refusal_of_node(entry.object, std::move(told).error()));
        unbook_pods_of(name);
        if (!is_new) static_cast<void>(book_->remove_node(entry.where));
        entry.where = {};
        entry.said = {};
        return;
    }
    entry.where = *told;
    std::vector<snapshot_device> earlier = std::move(entry.said.devices);
    std::ranges::move(entry.former, std::back_inserter(earlier));
    entry.said = std::move(said);
    keep_former(entry, earlier);
    if (!same_devices) book_pods_of(name);
}

namespace {

/// The registration of that uuid; null if there is none.
const snapshot_device* registered_as(std::string_view uuid, std::span<const snapshot_device> devices) {
    const auto same = std::ranges::find(devices, uuid, [](const auto& known) { return known.registered.uuid; });
    return same == devices.end() ? nullptr : &*same;
}

} // namespace

/// Of earlier registrations those of devices that the ledger keeps for their pods.
void cluster_view::keep_former(node_entry& entry, std::span<const snapshot_device> earlier) const {
    entry.former.clear();
    const auto& present = book_->nodes().nodes[entry.where.at()].devices;
    for (std::size_t d = entry.said.devices.size(); d < present.size(); ++d) {
        if (const auto* const known = registered_as(present[d].uuid, earlier)) entry.former.push_back(*known);
    }
}

/// What is registered, then what the ledger keeps for pods: by device index.
std::vector<snapshot_device> cluster_view::devices_on(const node_entry& entry) const {
    std::vector<snapshot_device> devices = entry.said.devices;
    if (!entry.where.valid()) return devices;
    const auto& present = book_->nodes().nodes[entry.where.at()].devices;
    for (std::size_t d = devices.size(); d < present.size(); ++d) {
        if (const auto* const known = registered_as(present[d].uuid, entry.former)) {
            devices.push_back(*known);
        } else { // its node was gone meanwhile
            devices.emplace_back().registered.uuid = present[d].uuid;
        }
    }
    return devices;
}

/// The node's index in the ledger, which now has it as described.
expected<node_index> cluster_view::tell(node_index where, const node& described) {
    if (!where.valid()) return book_->add_node(described);
    if (auto updated = book_->update_node(where, described); !updated) return unexpected(std::move(updated).error());
    return where;
}

const std::set<std::string>& cluster_view::names_on(std::string_view node) const {
    static const std::set<std::string> none;
    const auto names = pods_on_node_.find(node);
    return names == pods_on_node_.end() ? none : names->second;
}

/// After a pod of the node has changed: some dialects read devices from pods.
void cluster_view::refresh_devices(const std::string& node) {
    const auto known = nodes_.find(node);
    const auto looks = [](const auto& spoken) { return spoken->looks_at_pods(); };
    if (known != nodes_.end() && std::ranges::any_of(dialects_, looks)) refresh_node(known->second);
}

void cluster_view::count_traits(const kubernetes::node& object, int change) {
    bool differs = false;
    for (std::size_t i = 0; i < dialects_.size(); ++i) {
        const std::string trait = dialects_[i].trait_of(object);
        if (!trait.empty() && change > 0) differs = ++traits_[i][trait] == 1 || differs;
        if (!trait.empty() && change < 0 && --traits_[i][trait] == 0) {
            traits_[i].erase(trait);
            differs = true;
        }
    }
    if (!differs) return;
    std::vector<std::set<std::string>> present(dialects_.size());
    for (std::size_t i = 0; i < dialects_.size(); ++i) {
        for (const auto& [trait, count] : traits_[i]) present[i].insert(trait);
    }
    adapted_ = dialects_.for_traits(present);
    ++dialects_version_;
}

// ---- ConfigMaps

bool cluster_view::upsert_config_map(const manifest& object) {
    auto& of_name = config_maps_[object.name];
    const std::string ns = namespace_of(object);
    const auto known = of_name.find(ns);
    if (known != of_name.end() && known->second == object.data) return false;
    of_name[ns] = object.data;
    refresh_users_of(object.name);
    return true;
}

bool cluster_view::remove_config_map(std::string_view full_name) {
    const std::size_t slash = full_name.find('/');
    if (slash == std::string_view::npos) return false;
    const auto of_name = config_maps_.find(full_name.substr(slash + 1));
    if (of_name == config_maps_.end()) return false;
    const auto known = of_name->second.find(full_name.substr(0, slash));
    if (known == of_name->second.end()) return false;
    of_name->second.erase(known);
    const std::string name = of_name->first;
    if (of_name->second.empty()) config_maps_.erase(of_name);
    refresh_users_of(name);
    return true;
}

/// After what is said of a node's devices elsewhere has changed.
void cluster_view::refresh_users_of(const std::string& config_map) {
    const auto users = config_map_users_.find(config_map);
    if (users == config_map_users_.end()) return;
    for (const std::string& node : users->second) refresh_node(nodes_.at(node));
}

// ---- pods

bool cluster_view::upsert_pod(const manifest& object) {
    const std::string full_name = full_name_of(object);
    if (has_ended(object)) return remove_pod(full_name);
    auto known = pods_.find(full_name);
    if (known != pods_.end() && known->second.object.says_the_same_as(object)) return false;
    if (known != pods_.end() && known->second.object.pod->uid != object.pod->uid) { // the same name, but another pod
        remove_pod(full_name);
        known = pods_.end();
    }
    if (known == pods_.end()) {
        static_cast<void>(ids_.add(full_name));
        known = pods_.try_emplace(full_name).first;
        known->second.full_name = full_name;
    }
    pod_entry& entry = known->second;
    entry.object = object;
    const std::string node = node_of(object, dialects_);
    const std::string former_node = entry.node;
    if (node != former_node) unbind(entry);
    entry.node = node;
    if (!node.empty()) pods_on_node_[node].insert(full_name);
    if (!former_node.empty() && node != former_node) refresh_devices(former_node);
    refresh_devices(node);
    book(entry);
    return true;
}

bool cluster_view::remove_pod(std::string_view full_name) {
    const auto known = pods_.find(full_name);
    if (known == pods_.end()) return false;
    const pod_id id = ids_.find(full_name);
    const std::string node = known->second.node;
    unbind(known->second);
    if (book_->is_live(id)) { // a scheduler's booking of a pod that is gone
        static_cast<void>(book_->is_committed(id) ? book_->release(id) : book_->rollback(id));
    }
    ids_.remove(full_name);
    pods_.erase(known);
    refresh_devices(node);
    for (const std::string& other : names_on(node)) { // what could not be counted beside it
        if (pod_entry& entry = pods_.at(other); !entry.adopted) book(entry);
    }
    return true;
}

/// Takes a pod off the node that it was bound to.
void cluster_view::unbind(pod_entry& entry) {
    unbook(entry);
    const auto names = pods_on_node_.find(entry.node);
    if (names == pods_on_node_.end()) return;
    names->second.erase(entry.full_name);
    if (names->second.empty()) pods_on_node_.erase(names);
}

void cluster_view::unbook(pod_entry& entry) {
    if (!std::exchange(entry.adopted, false)) return;
    const pod_id id = ids_.find(entry.full_name);
    const booking* const held = book_->find_booking(id); // its owner may have released it, and booked it elsewhere
    if (held == nullptr || book_->nodes().nodes[held->where.node.at()].name != entry.node) return;
    static_cast<void>(book_->release(id));
}

void cluster_view::unbook_pods_of(std::string_view node) {
    for (const std::string& full_name : names_on(node)) unbook(pods_.at(full_name));
}

void cluster_view::book_pods_of(std::string_view node) {
    for (const std::string& full_name : names_on(node)) book(pods_.at(full_name));
}

/// Makes the ledger have what the pod's object says.
void cluster_view::book(pod_entry& entry) {
    entry.warnings = entry.object.problems;
    if (entry.node.empty()) return;
    const snapshot_pod pod = read_request_or_failure(entry.object, dialects_);
    if (pod.failure) entry.warnings.push_back(*pod.failure);
    const auto known = nodes_.find(entry.node);
    if (known == nodes_.end() || !known->second.where.valid()) return; // it waits
    booking held = read_booking(
        entry.object, pod,
        {.where = known->second.where, .node = known->second.said, .book = *book_, .id = ids_.find(entry.full_name)},
        dialects_, entry.warnings);
    if (const booking* live = book_->find_booking(held.owner)) {
        if (*live == held) { // as a scheduler decided it, or unchanged
            if (!book_->is_committed(held.owner)) static_cast<void>(book_->commit(held.owner));
            entry.adopted = true;
            return;
        }
        // What is left of an attempt to bind it is older than what a scheduler has booked.
        if (!entry.adopted && entry.object.node_name.empty()) return;
        const bool committed = book_->is_committed(held.owner);
        static_cast<void>(committed ? book_->release(held.owner) : book_->rollback(held.owner));
    }
    entry.adopted = adopt_booking(*book_, std::move(held), entry.object, entry.warnings);
}

// ---- reading

std::optional<snapshot_pod> cluster_view::pod(std::string_view full_name) const {
    const auto known = pods_.find(full_name);
    if (known == pods_.end()) return std::nullopt;
    auto pod = read_request_or_failure(known->second.object, adapted_);
    if (!pod.failure && !known->second.object.problems.empty()) pod.failure = known->second.object.problems.front();
    return pod;
}

std::vector<std::string> cluster_view::unbound_pods() const {
    std::vector<std::string> names;
    for (const auto& [full_name, entry] : pods_) {
        if (entry.node.empty()) names.push_back(full_name);
    }
    return names;
}

std::vector<std::string> cluster_view::waiting_pods() const {
    std::vector<std::string> names;
    for (const auto& [full_name, entry] : pods_) {
        if (!entry.node.empty() && !nodes_.contains(entry.node)) names.push_back(full_name);
    }
    return names;
}

std::vector<snapshot_device> cluster_view::devices_of(std::string_view node) const {
    const auto known = nodes_.find(node);
    return known == nodes_.end() ? std::vector<snapshot_device>{} : devices_on(known->second);
}

std::vector<error> cluster_view::warnings() const {
    std::vector<error> all = dialects_.config().devices.warnings;
    for (const auto& [name, entry] : nodes_) all.insert(all.end(), entry.warnings.begin(), entry.warnings.end());
    for (const auto& [name, entry] : pods_) all.insert(all.end(), entry.warnings.begin(), entry.warnings.end());
    return all;
}

const manifest* cluster_view::find_pod(std::string_view full_name) const {
    const auto known = pods_.find(full_name);
    return known == pods_.end() ? nullptr : &known->second.object;
}

/// Nodes that the ledger has, by rank, and then those that it refused.
std::vector<const cluster_view::node_entry*> cluster_view::nodes_by_rank() const {
    std::vector<const node_entry*> ranked;
    for (const auto& [name, entry] : nodes_) ranked.push_back(&entry);
    std::ranges::stable_sort(ranked, {}, [this](const node_entry* entry) {
        return std::pair{!entry->where.valid(), entry->where.valid() ? book_->rank_of(entry->where) : 0};
    });
    return ranked;
}

cluster_view cluster_view::read_as(dialect_set dialects) const {
    cluster_view result{std::move(dialects)};
    result.config_maps_ = config_maps_; // before there are nodes that they are of
    for (const node_entry* entry : nodes_by_rank()) result.upsert(entry->object);
    for (const auto& [name, entry] : pods_) result.upsert(entry.object);
    return result;
}

snapshot cluster_view::to_snapshot() const {
    return to_snapshot([this](const std::string& full_name) { return *pod(full_name); });
}

snapshot cluster_view::to_snapshot(const std::function<snapshot_pod(const std::string&)>& read) const {
    snapshot state;
    state.dialects = adapted_;
    state.warnings = warnings();
    cluster nodes;
    static_cast<device_kinds&>(nodes) = book_->nodes();
    std::vector<std::optional<node_index>> position(book_->nodes().nodes.size()); // none: it was removed
    state.extended.resize(adapted_.size());
    for (const node_entry* entry : nodes_by_rank()) {
        if (entry->object.terminating) state.leaving_nodes.push_back(entry->object.name);
        if (!entry->where.valid()) continue;
        position[entry->where.at()] = node_index{nodes.nodes.size()};
        nodes.nodes.push_back(book_->nodes().nodes[entry->where.at()]);
        const auto services = book_->services(entry->where);
        for (std::size_t d = 0; d < services.size(); ++d) nodes.nodes.back().devices[d].service = services[d];
        state.devices.push_back(devices_on(*entry));
        for (std::size_t i = 0; i < adapted_.size(); ++i) {
            state.extended[i].push_back(adapted_[i].extended_of(*entry->object.node));
        }
    }
    std::vector<booking> live;
    for (const auto& [full_name, entry] : pods_) {
        const booking* const held = book_->find_booking(ids_.find(full_name));
        if (held != nullptr && position[held->where.node.at()]) {
            live.push_back(*held);
            live.back().owner = pod_id{state.bound.size()};
            live.back().where.node = *position[held->where.node.at()];
            state.bound.push_back({.pod = read(full_name), .node = live.back().where.node});
        } else if (entry.node.empty()) {
            if (!entry.object.terminating) state.pending.push_back(read(full_name));
        } else {
            state.strays.push_back({.full_name = full_name, .name = entry.object.name, .node = entry.node});
        }
    }
    auto rebuilt = ledger::rebuild(std::move(nodes), live);
    VGA_ASSERT(rebuilt.has_value(), "what a ledger has can be counted anew");
    state.book = std::make_unique<ledger>(*std::move(rebuilt));
    return state;
}

} // namespace vgpualloc::kube
