// The ledger's operations: check everything, then change everything.
#include "vgpualloc/model/ledger.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace vgpualloc {

ledger::ledger(const cluster& owned) : cluster_{&owned} {
    for (const device_spec& kind : owned.kinds) {
        VGA_ASSERT(kind.mode != nullptr && kind.memory > mib{0} && kind.cores > core_percent{0},
                   "every kind of device has a mode, memory and compute");
    }
    first_device_.reserve(owned.nodes.size() + 1);
    std::size_t total = 0;
    for (const node& each : owned.nodes) {
        first_device_.push_back(total);
        total += each.devices.size();
    }
    first_device_.push_back(total);
    hosts_.resize(owned.nodes.size());
    devices_.resize(total);
    pods_on_node_.resize(owned.nodes.size());
}

void ledger::expect_pods(std::size_t count) {
    bookings_.reserve(count);
    live_.reserve(count);
    events_.reserve(2 * count);
}

rejection_detail ledger::why_not_host(node_index where, milli_cpu cpu, mib memory) const noexcept {
    const node& capacity = cluster_->nodes[where.at()];
    const host_use& used = hosts_[where.at()];
    if (used.pods + 1 > capacity.pods_max) {
        return {.code = rejection_code::too_many_pods, .wanted = 1, .available = capacity.pods_max - used.pods};
    }
    if (const auto left = capacity.cpu - used.cpu; cpu > left) {
        return {.code = rejection_code::insufficient_cpu, .wanted = cpu.count(), .available = left.count()};
    }
    if (const auto left = capacity.memory - used.memory; memory > left) {
        return {.code = rejection_code::insufficient_memory, .wanted = memory.count(), .available = left.count()};
    }
    return {};
}

bool ledger::is_within(node_index where) const noexcept {
    const node& capacity = cluster_->nodes[where.at()];
    const host_use& used = hosts_[where.at()];
    return used.cpu <= capacity.cpu && used.memory <= capacity.memory && used.pods <= capacity.pods_max;
}

rejection_detail ledger::add_shares(const placement& where) {
    const std::size_t first = first_device_[where.node.at()];
    const std::size_t count = first_device_[where.node.at() + 1] - first;
    for (std::size_t i = 0; i < where.shares.size(); ++i) {
        const device_share& share = where.shares[i];
        rejection_detail refused;
        if (share.device.at() >= count) {
            refused = {.code = rejection_code::too_few_devices,
                       .wanted = static_cast<std::int64_t>(share.device.at()) + 1,
                       .available = static_cast<std::int64_t>(count)};
        } else {
            const device_spec& spec = cluster_->spec_of(where.node, share.device);
            device_state& state = devices_[first + share.device.at()];
            refused = spec.mode->why_not(spec, state, share.part);
            if (refused.code == rejection_code::none) state = spec.mode->with(spec, state, share.part);
        }
        if (refused.code != rejection_code::none) {
            remove_shares(where, i);
            return refused;
        }
    }
    return {};
}

void ledger::remove_shares(const placement& where, std::size_t count) {
    const std::size_t first = first_device_[where.node.at()];
    for (std::size_t i = count; i-- > 0;) {
        const device_share& share = where.shares[i];
        const device_spec& spec = cluster_->spec_of(where.node, share.device);
        device_state& state = devices_[first + share.device.at()];
        state = spec.mode->without(spec, state, share.part);
    }
}

expected<void, rejection_detail> ledger::reserve(booking wanted) {
    VGA_ASSERT(!is_live(wanted.pod), "a pod is booked at most once at a time");
    VGA_ASSERT(wanted.where.node.at() < hosts_.size(), "a placement names a node of the cluster");
    VGA_ASSERT(wanted.cpu >= milli_cpu{0} && wanted.memory >= mib{0}, "a request is not negative");
    const node_index where = wanted.where.node;
    if (const auto refused = why_not_host(where, wanted.cpu, wanted.memory); refused.code != rejection_code::none) {
        return unexpected(refused);
    }
    if (const auto refused = add_shares(wanted.where); refused.code != rejection_code::none) {
        return unexpected(refused);
    }
    record(std::move(wanted), ledger_event_kind::reserve, status::reserved);
    verify_step(where);
    return {};
}

void ledger::record(booking what, ledger_event_kind kind, status state) {
    const node_index where = what.where.node;
    host_use& host = hosts_[where.at()];
    host.cpu += what.cpu;
    host.memory += what.memory;
    ++host.pods;

    const auto position = static_cast<std::uint32_t>(bookings_.size());
    if (what.pod.at() >= live_.size()) live_.resize(what.pod.at() + 1);
    live_[what.pod.at()] = {.booking = position, .state = state};
    ++live_count_;
    pods_on_node_[where.at()].push_back(position);
    bookings_.push_back(std::move(what));
    events_.push_back({.kind = kind, .booking = position});
}

expected<void, rejection_detail> ledger::adopt(booking found) {
    VGA_ASSERT(!is_live(found.pod), "a pod is booked at most once at a time");
    VGA_ASSERT(found.where.node.at() < hosts_.size(), "a placement names a node of the cluster");
    VGA_ASSERT(found.cpu >= milli_cpu{0} && found.memory >= mib{0}, "a request is not negative");
    const node_index where = found.where.node;
    const auto count = static_cast<std::int64_t>(devices(where).size());
    for (const device_share& share : found.where.shares) {
        const auto at = static_cast<std::int64_t>(share.device.at());
        if (at >= count) {
            return unexpected(
                rejection_detail{.code = rejection_code::too_few_devices, .wanted = at + 1, .available = count});
        }
        const device_spec& spec = cluster_->spec_of(where, share.device);
        const auto unknown = spec.mode->why_not(spec, device_state{}, share.part);
        if (unknown.code == rejection_code::mode_not_offered) return unexpected(unknown);
    }
    if (why_not_host(where, found.cpu, found.memory).code != rejection_code::none) {
        overcommitted_hosts_.insert(where.at());
    }
    for (const device_share& share : found.where.shares) {
        const device_spec& spec = cluster_->spec_of(where, share.device);
        device_state& state = devices_[device_position(where, share.device)];
        if (spec.mode->why_not(spec, state, share.part).code != rejection_code::none) {
            overcommitted_.insert(device_position(where, share.device));
        }
        state = spec.mode->with(spec, state, share.part);
    }
    record(std::move(found), ledger_event_kind::adopt, status::committed);
    verify_step(where);
    return {};
}

void ledger::commit(pod_id pod) {
    VGA_ASSERT(status_of(pod) == status::reserved, "only a reserved pod is committed");
    live_[pod.at()].state = status::committed;
    events_.push_back({.kind = ledger_event_kind::commit, .booking = live_[pod.at()].booking});
}

void ledger::rollback(pod_id pod) {
    VGA_ASSERT(status_of(pod) == status::reserved, "only a reserved pod is rolled back");
    take_back(pod, ledger_event_kind::rollback);
}

void ledger::release(pod_id pod) {
    VGA_ASSERT(status_of(pod) == status::committed, "only a committed pod is released");
    take_back(pod, ledger_event_kind::release);
}

void ledger::take_back(pod_id pod, ledger_event_kind kind) {
    live_entry& entry = live_[pod.at()];
    const booking& booked = bookings_[entry.booking];
    remove_shares(booked.where, booked.where.shares.size());
    host_use& host = hosts_[booked.where.node.at()];
    host.cpu -= booked.cpu;
    host.memory -= booked.memory;
    --host.pods;
    auto& here = pods_on_node_[booked.where.node.at()];
    const auto found = std::find(here.begin(), here.end(), entry.booking);
    VGA_ASSERT(found != here.end(), "a live pod is listed on its node");
    *found = here.back();
    here.pop_back();
    events_.push_back({.kind = kind, .booking = entry.booking});
    entry.state = status::absent;
    --live_count_;
    if (is_within(booked.where.node)) overcommitted_hosts_.erase(booked.where.node.at());
    if (!overcommitted_.empty()) recount_overcommitted(booked.where.node);
    verify_step(booked.where.node);
}

/// Where adopted pods overlap, taking one away says nothing about what is left: the rest is added up anew.
void ledger::recount_overcommitted(node_index where) {
    const std::size_t first = first_device_[where.at()];
    const std::size_t end = first_device_[where.at() + 1];
    for (auto at = overcommitted_.lower_bound(first); at != overcommitted_.end() && *at < end;) {
        const device_index which{*at - first};
        const device_spec& spec = cluster_->spec_of(where, which);
        device_state state{};
        bool over = false;
        for (const std::uint32_t position : pods_on_node_[where.at()]) {
            for (const device_share& share : bookings_[position].where.shares) {
                if (share.device != which) continue;
                over = over || spec.mode->why_not(spec, state, share.part).code != rejection_code::none;
                state = spec.mode->with(spec, state, share.part);
            }
        }
        devices_[*at] = state;
        at = over ? std::next(at) : overcommitted_.erase(at);
    }
}

const booking& ledger::booking_of(pod_id pod) const {
    VGA_ASSERT(is_live(pod), "only a live pod has a booking");
    return bookings_[live_[pod.at()].booking];
}

void ledger::check_node(node_index where) const {
    const std::size_t first = first_device_[where.at()];
    const std::size_t count = first_device_[where.at() + 1] - first;
    std::vector<device_state> recounted(count);
    host_use host;
    for (const std::uint32_t position : pods_on_node_[where.at()]) {
        const booking& booked = bookings_[position];
        VGA_ASSERT(booked.where.node == where, "a booking is listed on its own node");
        host.cpu += booked.cpu;
        host.memory += booked.memory;
        ++host.pods;
        for (const device_share& share : booked.where.shares) {
            const device_spec& spec = cluster_->spec_of(where, share.device);
            device_state& state = recounted[share.device.at()];
            VGA_ASSERT(is_overcommitted(where, share.device) ||
                           spec.mode->why_not(spec, state, share.part).code == rejection_code::none,
                       "no device exceeds its budgets");
            state = spec.mode->with(spec, state, share.part);
        }
    }
    VGA_ASSERT(host == hosts_[where.at()], "host use is the sum of the live bookings");
    VGA_ASSERT(is_overcommitted(where) || is_within(where), "no node exceeds its capacity");
    VGA_ASSERT(std::equal(recounted.begin(), recounted.end(), devices(where).begin()),
               "device use is the sum of the live bookings");
}

void ledger::check() const {
    std::size_t live = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        check_node(node_index{i});
        live += pods_on_node_[i].size();
    }
    VGA_ASSERT(live == live_count_, "every live pod is on one node");
}

bool ledger::same_use(const ledger& other) const {
    if (hosts_ != other.hosts_ || devices_ != other.devices_ || live_count_ != other.live_count_) return false;
    for (std::size_t i = 0; i < live_.size(); ++i) {
        const pod_id pod{i};
        if (!is_live(pod)) continue;
        if (!other.is_live(pod) || is_committed(pod) != other.is_committed(pod)) return false;
        if (booking_of(pod) != other.booking_of(pod)) return false;
    }
    return true;
}

namespace {

error log_error(std::size_t event, const char* expected_text) {
    return {.code = error_code::malformed,
            .where = "event " + std::to_string(event),
            .field = "",
            .value = "",
            .expected = expected_text};
}

bool names_known_parts(const cluster& owned, const booking& entry) {
    if (!entry.pod.valid() || entry.where.node.at() >= owned.nodes.size()) return false;
    return entry.cpu >= milli_cpu{0} && entry.memory >= mib{0};
}

} // namespace

expected<ledger> ledger::rebuild(const cluster& owned, std::span<const ledger_event> events,
                                 std::span<const booking> bookings) {
    ledger result{owned};
    for (std::size_t i = 0; i < events.size(); ++i) {
        const ledger_event& event = events[i];
        if (event.booking >= bookings.size()) return unexpected(log_error(i, "the event names no booking"));
        const booking& entry = bookings[event.booking];
        if (!names_known_parts(owned, entry)) return unexpected(log_error(i, "the booking is not of this cluster"));
        const status now = result.status_of(entry.pod);
        const status needed = books(event.kind)                          ? status::absent
                              : event.kind == ledger_event_kind::release ? status::committed
                                                                         : status::reserved;
        if (now != needed) return unexpected(log_error(i, "the pod is not in the state that the event needs"));
        switch (event.kind) {
        case ledger_event_kind::reserve:
            if (!result.reserve(entry)) return unexpected(log_error(i, "the booking does not fit"));
            break;
        case ledger_event_kind::commit:
            result.commit(entry.pod);
            break;
        case ledger_event_kind::rollback:
            result.rollback(entry.pod);
            break;
        case ledger_event_kind::release:
            result.release(entry.pod);
            break;
        case ledger_event_kind::adopt:
            if (!result.adopt(entry)) return unexpected(log_error(i, "the booking is not of this cluster"));
            break;
        }
    }
    return result;
}

expected<ledger> ledger::rebuild(const cluster& owned, std::span<const booking> live) {
    ledger result{owned};
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (!names_known_parts(owned, live[i])) {
            return unexpected(log_error(i, "the booking is not of this cluster"));
        }
        if (result.is_live(live[i].pod)) return unexpected(log_error(i, "the pod is booked twice"));
        if (!result.reserve(live[i])) return unexpected(log_error(i, "the booking does not fit"));
        result.commit(live[i].pod);
    }
    return result;
}

} // namespace vgpualloc
