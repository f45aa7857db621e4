// The ledger's operations on pods: check everything, then change everything.
#include "vgpualloc/model/ledger.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "undo_log.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

ledger::ledger(cluster nodes) : cluster_{std::move(nodes)} {
    for (const device_spec& kind : cluster_.kinds) {
        VGA_ASSERT(kind.mode != nullptr && kind.memory > mib{0} && kind.cores > core_percent{0},
                   "every kind of device has a mode, memory and compute");
    }
    records_.resize(cluster_.nodes.size());
    ranks_.resize(cluster_.nodes.size());
    std::size_t total = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        records_[i].first = total;
        records_[i].count = static_cast<std::uint32_t>(cluster_.nodes[i].devices.size());
        ranks_[i] = next_rank_++;
        total += records_[i].count;
    }
    states_.resize(total);
    services_.reserve(total);
    for (const node& owned : cluster_.nodes) {
        for (const device& registered : owned.devices) services_.push_back(registered.service);
    }
}

ledger::~ledger() = default;
ledger::ledger(const ledger& other) = default;
ledger::ledger(ledger&& other) noexcept = default;
ledger& ledger::operator=(ledger&& other) noexcept = default;

ledger ledger::copy() const {
    VGA_ASSERT(!in_trial(), "a trial is undone in the ledger where it began");
    ledger same{*this};
    same.undo_ = nullptr;
    return same;
}

void ledger::expect_pods(std::size_t count) {
    expected_pods_ = std::max(expected_pods_, count);
    bookings_.reserve(count);
    generations_.reserve(count);
    live_.reserve(count);
    events_.reserve(2 * count);
}

rejection_detail ledger::why_not_host(node_index where, milli_cpu cpu, bytes memory) const noexcept {
    const node& capacity = cluster_.nodes[where.at()];
    const host_use& used = records_[where.at()].host;
    if (used.pods + 1 > capacity.pods_max) {
        return {.code = rejection_code::too_many_pods, .wanted = 1, .available = capacity.pods_max - used.pods};
    }
    // As in Kubernetes, a pod that asks for none of something fits however much of it is given out.
    if (const auto left = capacity.cpu - used.cpu; cpu > milli_cpu{0} && cpu > left) {
        return {.code = rejection_code::insufficient_cpu, .wanted = cpu.count(), .available = left.count()};
    }
    if (const auto left = capacity.memory - used.memory; memory > bytes{0} && memory > left) {
        return {.code = rejection_code::insufficient_memory, .wanted = memory.count(), .available = left.count()};
    }
    return {};
}

bool ledger::is_within(node_index where) const noexcept {
    const node& capacity = cluster_.nodes[where.at()];
    const host_use& used = records_[where.at()].host;
    return used.cpu <= capacity.cpu && used.memory <= capacity.memory && used.pods <= capacity.pods_max;
}

/// What is wrong with booking this at all, before anything is compared with what is free.
rejection_detail ledger::why_misused(const booking& entry) const noexcept {
    const auto refuse = [](rejection_code code) { return rejection_detail{.code = code}; };
    if (const auto refusal = why_no_owner(entry.owner); refusal.code != rejection_code::none) return refusal;
    const bool is_claim = entry.owner.is_claim();
    const milli_cpu cpu_max = is_claim ? milli_cpu{0} : host_cpu_max;
    const bytes memory_max = is_claim ? bytes{0} : host_memory_max;
    const bool valid_amounts =
        entry.cpu >= milli_cpu{0} && entry.cpu <= cpu_max && entry.memory >= bytes{0} && entry.memory <= memory_max;
    if (!valid_amounts) return refuse(rejection_code::amount_not_valid);
    if (const auto unknown = why_unknown(entry.where); unknown.code != rejection_code::none) return unknown;
    if (const auto refusal = why_not_claims(entry); refusal.code != rejection_code::none) return refusal;
    // What was adopted may be more than there is, but its sum has to be a number.
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    const host_use& used = records_[entry.where.node.at()].host;
    const bool adds_up =
        entry.cpu.count() <= largest - used.cpu.count() && entry.memory.count() <= largest - used.memory.count();
    return refuse(adds_up ? rejection_code::none : rejection_code::amount_not_valid);
}

/// Why nothing can be booked for this owner: it has no usable number, or has a booking.
rejection_detail ledger::why_no_owner(owner_id owner) const noexcept {
    const std::vector<live_entry>& entries = entries_of(owner);
    const bool is_dense = owner.at() <= std::max(entries.size(), expected_pods_) + pod_index_gap_max;
    const rejection_code unknown = owner.is_claim() ? rejection_code::claim_not_known : rejection_code::pod_not_known;
    if (!owner.valid() || owner.at() > pod_index_max || !is_dense) return {.code = unknown};
    if (owner.at() >= entries.size()) return {};
    const live_entry& entry = entries[owner.at()];
    if (entry.state != status::absent) return {.code = rejection_code::pod_is_live};
    return {.code = entry.generation > owner.generation() ? unknown : rejection_code::none};
}

/// Why a pod cannot use the claims that it names.
rejection_detail ledger::why_not_claims(const booking& entry) const noexcept {
    for (const claim_id& claim : entry.claims) {
        const bool is_twice = std::find(entry.claims.begin(), &claim, claim) != &claim;
        if (is_twice || entry.owner.is_claim() || !is_live(claim)) return {.code = rejection_code::claim_not_known};
        if (booking_of(claim).where.node != entry.where.node) return {.code = rejection_code::claim_elsewhere};
    }
    return {};
}

/// A pod that uses claims was booked, or has given back what it had.
void ledger::count_users(const booking& entry, bool booked) {
    for (const claim_id claim : entry.claims) claim_users_[claim.at()] += booked ? 1U : ~0U;
}

/// Why a placement names a node or device that is not there, or amounts beyond the limits.
rejection_detail ledger::why_unknown(const placement& where) const noexcept {
    const auto refuse = [](rejection_code code) { return rejection_detail{.code = code}; };
    if (where.node.at() >= records_.size()) return refuse(rejection_code::node_not_known);
    if (!records_[where.node.at()].present) return refuse(rejection_code::node_gone);
    const auto count = static_cast<std::int64_t>(records_[where.node.at()].count);
    for (const device_share& share : where.shares) {
        if (!within_limits(share.part)) return refuse(rejection_code::amount_not_valid);
        const auto index = static_cast<std::int64_t>(share.device.at());
        if (index >= count) {
            return {.code = rejection_code::too_few_devices, .wanted = index + 1, .available = count};
        }
    }
    return {};
}

/// Why a part is none of its device's mode.
rejection_detail ledger::why_foreign(const placement& where) const {
    for (const device_share& share : where.shares) {
        const device_spec& spec = cluster_.spec_of(where.node, share.device);
        const auto refusal = spec.mode->why_not(spec, device_state{}, share.part);
        if (refusal.code == rejection_code::mode_not_offered) return refusal;
    }
    return {};
}

rejection_detail ledger::why_not_there(const placement& where) const {
    const rejection_detail unknown = why_unknown(where);
    return unknown.code == rejection_code::none ? why_foreign(where) : unknown;
}

rejection_detail ledger::add_shares(const placement& where) {
    const std::size_t first = records_[where.node.at()].first;
    for (std::size_t i = 0; i < where.shares.size(); ++i) {
        const device_share& share = where.shares[i];
        const device_spec& spec = cluster_.spec_of(where.node, share.device);
        device_state& state = states_[first + share.device.at()];
        rejection_detail refusal{.code = why_closed(services_[first + share.device.at()])};
        if (refusal.code == rejection_code::none) refusal = spec.mode->why_not(spec, state, share.part);
        if (refusal.code != rejection_code::none) {
            remove_shares(where, i);
            return refusal;
        }
        state = spec.mode->with(spec, state, share.part);
    }
    return {};
}

void ledger::remove_shares(const placement& where, std::size_t count) {
    const std::size_t first = records_[where.node.at()].first;
    for (std::size_t i = count; i-- > 0;) {
        const device_share& share = where.shares[i];
        const device_spec& spec = cluster_.spec_of(where.node, share.device);
        device_state& state = states_[first + share.device.at()];
        state = spec.mode->without(spec, state, share.part);
    }
}

expected<booking_id, rejection_detail> ledger::reserve(booking entry) {
    if (const auto misuse = why_misused(entry); misuse.code != rejection_code::none) return unexpected(misuse);
    const node_index where = entry.where.node;
    if (entry.owner.is_pod()) {
        const auto refusal = why_not_host(where, entry.cpu, entry.memory);
        if (refusal.code != rejection_code::none) return unexpected(refusal);
    }
    if (in_trial()) save_use(where);
    if (const auto refusal = add_shares(entry.where); refusal.code != rejection_code::none) {
        return unexpected(refusal);
    }
    const booking_id booked = record(std::move(entry), ledger_event_kind::reserve, status::reserved);
    verify_step(where);
    return booked;
}

std::uint32_t ledger::new_slot(booking&& entry) {
    if (free_slots_.empty()) {
        bookings_.push_back(std::move(entry));
        generations_.push_back(0);
        return static_cast<std::uint32_t>(bookings_.size() - 1);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    bookings_[slot] = std::move(entry);
    ++generations_[slot];
    return slot;
}

booking_id ledger::record(booking&& entry, ledger_event_kind kind, status state) {
    node_record& host_node = records_[entry.where.node.at()];
    host_node.host.cpu += entry.cpu;
    host_node.host.memory += entry.memory;
    host_node.host.pods += entry.owner.is_pod() ? 1 : 0;

    const owner_id owner = entry.owner;
    std::vector<live_entry>& entries = owner.is_claim() ? live_claims_ : live_;
    if (owner.at() >= entries.size()) {
        entries.resize(owner.at() + 1);
        claim_users_.resize(live_claims_.size());
    }
    if (in_trial()) note_owner(owner);
    count_users(entry, true);
    const std::uint32_t slot = new_slot(std::move(entry));
    entries[owner.at()] = {.slot = slot, .generation = owner.generation(), .state = state};
    ++live_count_;
    host_node.slots.push_back(slot);
    events_.push_back({.kind = kind, .subject = slot});
    return {.slot = slot, .generation = generations_[slot]};
}

expected<booking_id, rejection_detail> ledger::adopt(booking running) {
    if (const auto misuse = why_misused(running); misuse.code != rejection_code::none) return unexpected(misuse);
    const node_index where = running.where.node;
    if (const auto foreign = why_foreign(running.where); foreign.code != rejection_code::none) {
        return unexpected(foreign);
    }
    if (in_trial()) save_use(where);
    if (running.owner.is_pod() && why_not_host(where, running.cpu, running.memory).code != rejection_code::none) {
        overcommitted_hosts_.insert(where.value());
    }
    const std::size_t first = records_[where.at()].first;
    for (const device_share& share : running.where.shares) {
        const device_spec& spec = cluster_.spec_of(where, share.device);
        device_state& state = states_[first + share.device.at()];
        if (spec.mode->why_not(spec, state, share.part).code != rejection_code::none) {
            overcommitted_.insert({where.value(), share.device.value()});
        }
        state = spec.mode->with(spec, state, share.part);
    }
    const booking_id booked = record(std::move(running), ledger_event_kind::adopt, status::committed);
    verify_step(where);
    return booked;
}

namespace {

rejection_detail not_known(owner_id owner) {
    return {.code = owner.is_claim() ? rejection_code::claim_not_known : rejection_code::pod_not_known};
}

} // namespace

ledger::result ledger::commit(owner_id owner) {
    if (status_of(owner) != status::reserved) return unexpected(not_known(owner));
    if (in_trial()) note_owner(owner);
    live_entry& entry = entry_of(owner);
    entry.state = status::committed;
    events_.push_back({.kind = ledger_event_kind::commit, .subject = entry.slot});
    return {};
}

ledger::result ledger::rollback(owner_id owner) {
    return take_back(owner, ledger_event_kind::rollback, status::reserved);
}

ledger::result ledger::release(owner_id owner) {
    return take_back(owner, ledger_event_kind::release, status::committed);
}

ledger::result ledger::take_back(owner_id owner, ledger_event_kind kind, status needed) {
    if (status_of(owner) != needed) return unexpected(not_known(owner));
    if (owner.is_claim() && claim_users_[owner.at()] > 0) {
        return unexpected(
            rejection_detail{.code = rejection_code::claim_in_use, .wanted = 0, .available = claim_users_[owner.at()]});
    }
    const std::uint32_t slot = entry_of(owner).slot;
    const node_index where = bookings_[slot].where.node;
    if (in_trial()) {
        save_use(where);
        note_owner(owner);
    }
    const booking& held = bookings_[slot];
    remove_shares(held.where, held.where.shares.size());
    count_users(held, false);
    node_record& host_node = records_[where.at()];
    host_node.host.cpu -= held.cpu;
    host_node.host.memory -= held.memory;
    host_node.host.pods -= owner.is_pod() ? 1 : 0;
    const auto listed = std::ranges::find(host_node.slots, slot);
    VGA_ASSERT(listed != host_node.slots.end(), "a live booking is listed on its node");
    *listed = host_node.slots.back();
    host_node.slots.pop_back();
    entry_of(owner).state = status::absent;
    --live_count_;
    events_.push_back({.kind = kind, .subject = slot});
    if (is_within(where)) overcommitted_hosts_.erase(where.value());
    if (!overcommitted_.empty()) recount_overcommitted(where);
    if (host_node.described != nullptr || !host_node.present) settle(where);
    verify_step(where);
    return {};
}

/// Adds up the shares on a device anew, and notes whether they exceed it.
void ledger::recount(node_index where, std::uint32_t device) {
    const device_spec& spec = cluster_.spec_of(where, device_index{device});
    device_state state{};
    bool over = false;
    for (const std::uint32_t slot : records_[where.at()].slots) {
        for (const device_share& share : bookings_[slot].where.shares) {
            if (share.device.value() != device) continue;
            over = over || spec.mode->why_not(spec, state, share.part).code != rejection_code::none;
            state = spec.mode->with(spec, state, share.part);
        }
    }
    states_[records_[where.at()].first + device] = state;
    if (over) {
        overcommitted_.insert({where.value(), device});
    } else {
        overcommitted_.erase({where.value(), device});
    }
}

/// Where pods overlap, taking one away says nothing about what is left.
void ledger::recount_overcommitted(node_index where) {
    for (std::uint32_t device = 0; device < records_[where.at()].count; ++device) {
        if (overcommitted_.contains({where.value(), device})) recount(where, device);
    }
}

std::vector<pod_id> ledger::live_pods() const {
    std::vector<pod_id> pods;
    pods.reserve(live_count_);
    for (std::size_t i = 0; i < live_.size(); ++i) {
        if (live_[i].state != status::absent) pods.emplace_back(i, live_[i].generation);
    }
    return pods;
}

std::vector<claim_id> ledger::live_claims() const {
    std::vector<claim_id> claims;
    for (std::size_t i = 0; i < live_claims_.size(); ++i) {
        if (live_claims_[i].state != status::absent) claims.emplace_back(i, live_claims_[i].generation);
    }
    return claims;
}

void ledger::check_use(node_index where) const {
    const node_record& owner = records_[where.at()];
    const node& described = cluster_.nodes[where.at()];
    VGA_ASSERT(owner.count == described.devices.size(), "every device of a node has a place");
    std::vector<device_state> recounted(owner.count);
    host_use host;
    for (const std::uint32_t slot : owner.slots) {
        const booking& booked = bookings_[slot];
        VGA_ASSERT(booked.where.node == where, "a booking is listed on its own node");
        VGA_ASSERT(is_live(booked.owner) && entry_of(booked.owner).slot == slot, "a listed booking is live");
        VGA_ASSERT(booked.owner.is_pod() || (booked.cpu == milli_cpu{0} && booked.memory == bytes{0}),
                   "a claim has nothing of the host");
        host.cpu += booked.cpu;
        host.memory += booked.memory;
        host.pods += booked.owner.is_pod() ? 1 : 0;
        for (const claim_id claim : booked.claims) {
            VGA_ASSERT(is_live(claim) && booking_of(claim).where.node == where,
                       "the claims that a live pod uses are live and on its node");
        }
        for (const device_share& share : booked.where.shares) {
            VGA_ASSERT(share.device.at() < owner.count, "a booking names devices that its node has");
            const device_spec& spec = cluster_.spec_of(where, share.device);
            device_state& state = recounted[share.device.at()];
            VGA_ASSERT(is_overcommitted(where, share.device) ||
                           spec.mode->why_not(spec, state, share.part).code == rejection_code::none,
                       "no device exceeds its budgets");
            state = spec.mode->with(spec, state, share.part);
        }
    }
    VGA_ASSERT(host == owner.host, "host use is the sum of the live bookings");
    VGA_ASSERT(is_overcommitted(where) || is_within(where), "no node exceeds its capacity");
    VGA_ASSERT(std::ranges::equal(recounted, devices(where)), "device use is the sum of the live bookings");
    for (std::uint32_t device = 0; device < owner.count; ++device) {
        VGA_ASSERT(services_[owner.first + device] == described.devices[device].service,
                   "a device's service is what its node says");
    }
}

void ledger::check() const {
    std::size_t live = 0;
    std::size_t counting = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        check_use(node_index{i});
        live += records_[i].slots.size();
        if (!counts(records_[i])) continue;
        ++counting;
        if (names_.empty()) continue;
        const auto named = names_.find(cluster_.nodes[i].name);
        VGA_ASSERT(named != names_.end() && named->second == i, "every node is found by its name");
    }
    VGA_ASSERT(live == live_count_, "every live booking is on one node");
    std::vector<std::uint32_t> users(live_claims_.size(), 0);
    for (const pod_id pod : live_pods()) {
        for (const claim_id claim : booking_of(pod).claims) ++users[claim.at()];
    }
    VGA_ASSERT(users == claim_users_, "users of claims are the live pods that name them");
    VGA_ASSERT(names_.empty() || names_.size() == counting, "a name that no node has any more finds none");
}

void ledger::set_peers(pod_id pod, shared_peers peers) {
    VGA_ASSERT(is_live(pod), "only a live pod has peers");
    bookings_[entry_of(pod).slot].peers = std::move(peers);
    ++peers_version_;
}

} // namespace vgpualloc
