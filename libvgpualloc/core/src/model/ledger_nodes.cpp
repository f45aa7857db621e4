// The ledger's operations on nodes: they come, are described anew, and go; what runs on them stays counted.
#include <algorithm>
#include <utility>

#include "undo_log.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

/// The devices that a node is to have, given what it is said to be and what still runs on the ones it has.
struct ledger::layout {
    static constexpr std::uint32_t is_new = ~std::uint32_t{0};

    std::vector<device> devices;
    std::vector<std::uint32_t> old_indices; ///< by new index: where the device is now, or is_new
    bool waits = false;                     ///< pods keep the node from being what it is said to be
};

namespace {

error unknown_node(node_index where) {
    return bad_value(error_code::unknown_name, "node", std::to_string(where.value()), "a node that is there");
}

/// Where a described device is among those of the node: by uuid, or without one by its index.
std::uint32_t old_index_of(const device& described, std::size_t index, const std::vector<device>& devices,
                           std::uint32_t none) {
    if (described.uuid.empty()) {
        return index < devices.size() && devices[index].uuid.empty() ? static_cast<std::uint32_t>(index) : none;
    }
    // Mostly the order has not changed.
    if (index < devices.size() && devices[index].uuid == described.uuid) return static_cast<std::uint32_t>(index);
    const auto at = std::ranges::find(devices, described.uuid, &device::uuid);
    return at == devices.end() ? none : static_cast<std::uint32_t>(at - devices.begin());
}

bool is_ordered(service_state service) noexcept {
    return service == service_state::draining || service == service_state::reconfiguring;
}

std::vector<std::uint32_t> kinds_of(const std::vector<device>& devices) {
    std::vector<std::uint32_t> kinds;
    for (const device& registered : devices) kinds.push_back(registered.kind);
    std::ranges::sort(kinds);
    const auto repeated = std::ranges::unique(kinds);
    kinds.erase(repeated.begin(), repeated.end());
    return kinds;
}

} // namespace

void ledger::name_nodes() {
    if (!names_.empty()) return;
    for (std::uint32_t i = 0; i < cluster_.nodes.size(); ++i) {
        if (counts(records_[i])) names_.emplace(cluster_.nodes[i].name, i);
    }
}

node_index ledger::find_node(std::string_view name) {
    name_nodes();
    const auto at = names_.find(name);
    return at == names_.end() ? node_index::none() : node_index{at->second};
}

/// What a node was last said to be, with what set_service() and set_schedulable() said since.
const node& ledger::last_described(node_index where) const noexcept {
    const node* const waiting = records_[where.at()].described.get();
    return waiting != nullptr ? *waiting : cluster_.nodes[where.at()];
}

/// A description comes from who knows whether devices are healthy. That a device drains, or is being cut anew, was
/// ordered by somebody else, and stays until set_service() says otherwise.
void ledger::keep_orders(node_index where, node& described) const {
    const std::vector<device>& devices = last_described(where).devices;
    const std::vector<device>& running = cluster_.nodes[where.at()].devices; // also those that are no longer named
    for (std::size_t i = 0; i < described.devices.size(); ++i) {
        device& next = described.devices[i];
        if (is_ordered(next.service)) continue;
        const std::uint32_t index = old_index_of(next, i, devices, layout::is_new);
        if (index != layout::is_new) {
            if (is_ordered(devices[index].service)) next.service = devices[index].service;
            continue;
        }
        const std::uint32_t left = old_index_of(next, i, running, layout::is_new);
        if (left != layout::is_new && running[left].service == service_state::draining)
            next.service = running[left].service;
    }
}

void ledger::note_change(ledger_event_kind kind, node_change change) {
    events_.push_back({.kind = kind, .subject = static_cast<std::uint32_t>(changes_.next())});
    changes_.push_back(std::move(change));
}

/// check_node(), and that the kinds of its devices are registered.
expected<void> ledger::check_described(const node& described) const {
    if (auto checked = check_node(described); !checked) return checked;
    for (std::size_t i = 0; i < described.devices.size(); ++i) {
        if (described.devices[i].kind < cluster_.kinds.size()) continue;
        return unexpected(bad_value(error_code::out_of_range, "devices[" + std::to_string(i) + "].kind",
                                    std::to_string(described.devices[i].kind),
                                    "a kind that was registered with ledger::kinds()")
                              .at("node " + described.name));
    }
    return {};
}

node_index ledger::new_node_index() {
    if (!free_nodes_.empty()) {
        const node_index where{free_nodes_.back()};
        save_structure(where, counts(records_[where.at()]));
        free_nodes_.pop_back();
        return where;
    }
    const node_index where{cluster_.nodes.size()};
    cluster_.nodes.emplace_back();
    records_.emplace_back();
    ranks_.emplace_back();
    records_.back().present = false;
    renew_version(where);
    note_added_node(where);
    return where;
}

expected<node_index> ledger::add_node(node described) {
    if (auto checked = check_described(described); !checked) return unexpected(std::move(checked).error());
    node_index where = find_node(described.name);
    if (where.valid() && records_[where.at()].present) {
        return unexpected(bad_value(error_code::duplicate, "node", described.name, "a name that no other node has"));
    }
    node_change change{.where = where, .described = std::move(described)};
    if (where.valid()) {
        save_structure(where, counts(records_[where.at()]));
    } else {
        where = new_node_index();
        names_.emplace(change.described->name, where.value());
        ranks_[where.at()] = next_rank_++;
        change.where = where;
    }
    records_[where.at()].present = true;
    describe(where, *change.described, change);
    note_change(ledger_event_kind::node_added, std::move(change));
    verify_step(where);
    return where;
}

expected<bool> ledger::update_node(node_index where, node described) {
    if (!is_present(where)) return unexpected(unknown_node(where));
    if (described == last_described(where)) return false;
    keep_orders(where, described);
    return describe_anew(where, std::move(described));
}

/// Makes the node, which is there, what is described, to the letter.
expected<bool> ledger::describe_anew(node_index where, node described) {
    if (described == last_described(where)) return false;
    if (auto checked = check_described(described); !checked) return unexpected(std::move(checked).error());
    if (described.name != cluster_.nodes[where.at()].name) {
        return unexpected(bad_value(error_code::unknown_name, "node", described.name,
                                    "the name that the node has: " + cluster_.nodes[where.at()].name));
    }
    node_change change{.where = where, .described = std::move(described)};
    save_structure(where, counts(records_[where.at()]));
    describe(where, *change.described, change);
    note_change(ledger_event_kind::node_changed, std::move(change));
    verify_step(where);
    return true;
}

/// What the node's devices are to be. A device in use stays as long as it is used: one that is no longer named is out
/// of service, and so is one whose mode is to change, because the parts that run are of the mode it has.
ledger::layout ledger::plan_layout(node_index where, const node& described) const {
    const std::vector<device>& old = cluster_.nodes[where.at()].devices;
    std::vector<bool> leftover(old.size(), false);
    for (const std::uint32_t slot : records_[where.at()].slots) {
        for (const device_share& share : bookings_[slot].where.shares) leftover[share.device.at()] = true;
    }
    layout planned;
    for (std::size_t i = 0; i < described.devices.size(); ++i) {
        device next = described.devices[i];
        const std::uint32_t old_index = old_index_of(next, i, old, layout::is_new);
        if (old_index != layout::is_new && leftover[old_index]) {
            leftover[old_index] = false;
            const std::uint32_t old_kind = old[old_index].kind;
            if (cluster_.kinds[old_kind].mode != cluster_.kinds[next.kind].mode) {
                next.kind = old_kind;
                next.service = service_state::reconfiguring;
                planned.waits = true;
            }
        }
        planned.devices.push_back(std::move(next));
        planned.old_indices.push_back(old_index);
    }
    std::vector<std::uint32_t> last;
    for (std::uint32_t i = 0; i < old.size(); ++i) {
        if (leftover[i]) last.push_back(i);
    }
    std::ranges::stable_sort(last, {}, [&](std::uint32_t i) { return std::string_view{old[i].uuid}; });
    for (const std::uint32_t i : last) {
        planned.devices.push_back(old[i]);
        // A drain outlives a list without the device: the device may be named again while its pods run.
        if (old[i].service != service_state::draining) planned.devices.back().service = service_state::failed;
        planned.old_indices.push_back(i);
        planned.waits = true;
    }
    return planned;
}

void ledger::describe(node_index where, const node& described, node_change& change) {
    layout planned = plan_layout(where, described);
    node_record& owner = records_[where.at()];
    node& current = cluster_.nodes[where.at()];
    owner.described = planned.waits ? std::make_unique<node>(described) : nullptr;
    current.name = described.name;
    current.cpu = described.cpu;
    current.memory = described.memory;
    current.pods_max = described.pods_max;
    current.host = described.host;
    lay_out(where, std::move(planned), change);
    if (is_within(where)) {
        overcommitted_hosts_.erase(where.value());
    } else {
        overcommitted_hosts_.insert(where.value());
    }
}

/// Gives the node's devices places in the tables; what is there is for the caller to fill in.
void ledger::place_devices(node_index where, const std::vector<device>& devices) {
    node_record& owner = records_[where.at()];
    const auto count = static_cast<std::uint32_t>(devices.size());
    if (count != owner.count) {
        if (owner.count > 0) free_extents_[owner.count].push_back(owner.first);
        owner.first = states_.size();
        owner.count = count;
        if (const auto spare = free_extents_.find(count); spare != free_extents_.end()) {
            owner.first = spare->second.back();
            spare->second.pop_back();
            if (spare->second.empty()) free_extents_.erase(spare);
        } else {
            states_.resize(states_.size() + count);
            services_.resize(services_.size() + count);
        }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        services_[owner.first + i] = devices[i].service;
        states_[owner.first + i] = {};
    }
}

/// Bookings name devices by index: those whose devices have other indices now become new bookings of the same pods.
void ledger::move_shares(node_index where, const layout& planned, node_change& change) {
    const node_record& owner = records_[where.at()];
    std::vector<std::uint32_t> new_indices(owner.count, 0);
    bool moved = false;
    for (std::uint32_t i = 0; i < planned.old_indices.size(); ++i) {
        if (planned.old_indices[i] == layout::is_new) continue;
        new_indices[planned.old_indices[i]] = i;
        moved = moved || planned.old_indices[i] != i;
    }
    if (!moved) return;
    for (std::uint32_t& slot : records_[where.at()].slots) {
        booking entry = bookings_[slot];
        bool differs = false;
        for (device_share& share : entry.where.shares) {
            const device_index next{new_indices[share.device.at()]};
            differs = differs || next != share.device;
            share.device = next;
        }
        if (!differs) continue;
        const owner_id owner_of_slot = entry.owner;
        if (in_trial()) note_owner(owner_of_slot);
        change.replaced.push_back(slot);
        slot = new_slot(std::move(entry));
        entry_of(owner_of_slot).slot = slot;
    }
}

void ledger::lay_out(node_index where, layout planned, node_change& change) {
    node_record& owner = records_[where.at()];
    std::vector<device>& devices = cluster_.nodes[where.at()].devices;
    renew_version(where);
    if (planned.devices == devices) return;
    if (kinds_of(devices) != kinds_of(planned.devices)) ranks_[where.at()] = next_rank_++;
    move_shares(where, planned, change);
    for (std::uint32_t i = 0; i < owner.count; ++i) overcommitted_.erase({where.value(), i});
    place_devices(where, planned.devices);
    devices = std::move(planned.devices);
    std::vector<bool> used(owner.count, false);
    for (const std::uint32_t slot : owner.slots) {
        for (const device_share& share : bookings_[slot].where.shares) used[share.device.at()] = true;
    }
    for (std::uint32_t i = 0; i < owner.count; ++i) {
        if (used[i]) recount(where, i);
    }
}

/// After a pod of a node has ended: what only waited for that happens now.
void ledger::settle(node_index where) {
    node_record& owner = records_[where.at()];
    if (!owner.present) {
        if (!owner.slots.empty()) return;
        save_structure(where, true);
        free_node(where);
        return;
    }
    const layout planned = plan_layout(where, *owner.described);
    if (planned.devices == cluster_.nodes[where.at()].devices && planned.waits) return;
    node_change change{.where = where, .described = *owner.described};
    save_structure(where, counts(records_[where.at()]));
    describe(where, *change.described, change);
    note_change(ledger_event_kind::node_changed, std::move(change));
}

void ledger::free_node(node_index where) {
    node_record& owner = records_[where.at()];
    const auto named = names_.find(cluster_.nodes[where.at()].name);
    if (named != names_.end() && named->second == where.value()) names_.erase(named);
    place_devices(where, {});
    cluster_.nodes[where.at()] = node{};
    owner.described.reset();
    renew_version(where);
    free_nodes_.push_back(where.value());
}

expected<void> ledger::remove_node(node_index where) {
    if (!is_present(where)) return unexpected(unknown_node(where));
    name_nodes();
    save_structure(where, counts(records_[where.at()]));
    node_record& owner = records_[where.at()];
    owner.present = false;
    owner.described.reset();
    if (owner.slots.empty()) {
        free_node(where);
    } else {
        for (device& registered : cluster_.nodes[where.at()].devices) registered.service = service_state::failed;
        std::fill_n(services_.begin() + static_cast<std::ptrdiff_t>(owner.first), owner.count, service_state::failed);
        renew_version(where);
    }
    note_change(ledger_event_kind::node_removed, {.where = where});
    verify_step(where);
    return {};
}

expected<bool> ledger::set_service(node_index where, device_index device, service_state service) {
    if (!is_present(where)) return unexpected(unknown_node(where));
    node_record& owner = records_[where.at()];
    if (device.at() >= owner.count) {
        return unexpected(bad_value(error_code::unknown_name, "device", std::to_string(device.value()),
                                    "one of its " + std::to_string(owner.count) + " devices, from 0")
                              .at("node " + cluster_.nodes[where.at()].name));
    }
    auto& registered = cluster_.nodes[where.at()].devices[device.at()];
    if (owner.described == nullptr && registered.service == service) return false;
    if (owner.described != nullptr) { // what the device will be when its pods have gone
        node described = *owner.described;
        if (device.at() >= described.devices.size()) return false; // it only waits to go
        described.devices[device.at()].service = service;
        return describe_anew(where, std::move(described));
    }
    save_structure(where, counts(records_[where.at()]));
    registered.service = service;
    services_[owner.first + device.at()] = service;
    renew_version(where);
    note_change(ledger_event_kind::service_changed, {.where = where, .device = device, .service = service});
    verify_step(where);
    return true;
}

expected<bool> ledger::set_schedulable(node_index where, bool schedulable) {
    if (!is_present(where)) return unexpected(unknown_node(where));
    node described = last_described(where);
    if (described.host.unschedulable == !schedulable) return false;
    described.host.unschedulable = !schedulable;
    return describe_anew(where, std::move(described));
}

} // namespace vgpualloc
