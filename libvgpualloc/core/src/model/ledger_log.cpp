// Rebuilding a ledger, comparing two, and cutting the log.
#include <algorithm>
#include <optional>
#include <utility>

#include "undo_log.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

error log_error(std::size_t event, const char* expected_text) {
    return bad_value(error_code::malformed, "", "", expected_text).at("event " + std::to_string(event));
}

} // namespace

void ledger::checkpoint(std::uint64_t read) {
    if (in_trial()) return;
    read = std::min(read, events_.next());
    std::uint64_t changes = changes_.first();
    for (std::uint64_t number = events_.first(); number < read; ++number) {
        const ledger_event& event = events_[number];
        if (is_of_node(event.kind)) {
            const auto& replaced = change(event).replaced;
            changes = number_of_low(changes_.first(), event.subject) + 1;
            if (!event.undone) free_slots_.insert(free_slots_.end(), replaced.begin(), replaced.end());
        } else if (gives_back(event.kind) && !event.undone) {
            free_slots_.push_back(event.subject);
        }
    }
    events_.drop_below(read);
    changes_.drop_below(changes);
}

/// Whatever numbers the owners of another ledger have, it had room for them.
void ledger::expect_pods_of(std::span<const booking> bookings) {
    for (const booking& entry : bookings) {
        if (entry.owner.valid()) expected_pods_ = std::max(expected_pods_, entry.owner.at() + 1);
    }
}

expected<ledger> ledger::rebuild(cluster start, const ledger_log& log) {
    if (auto checked = check_cluster(start); !checked) return unexpected(std::move(checked).error());
    ledger book{std::move(start)};
    book.expect_pods_of(log.bookings);
    const auto repeat_booking = [&](const ledger_event& event, const booking& entry) {
        switch (event.kind) {
        case ledger_event_kind::reserve:
            return book.reserve(entry).has_value();
        case ledger_event_kind::adopt:
            return book.adopt(entry).has_value();
        case ledger_event_kind::commit:
            return book.commit(entry.owner).has_value();
        case ledger_event_kind::rollback:
            return book.rollback(entry.owner).has_value();
        default:
            return book.release(entry.owner).has_value();
        }
    };
    const auto repeat_change = [&](const ledger_event& event, const node_change& change) {
        if (event.kind == ledger_event_kind::node_removed) return book.remove_node(change.where).has_value();
        if (event.kind == ledger_event_kind::service_changed) {
            return book.set_service(change.where, change.device, change.service).has_value();
        }
        if (!change.described) return false;
        if (event.kind == ledger_event_kind::node_added) return book.add_node(*change.described) == change.where;
        if (!book.is_present(change.where)) return false;
        return book.describe_anew(change.where, *change.described).has_value();
    };
    for (std::size_t i = 0; i < log.events.size(); ++i) {
        const ledger_event& event = log.events[i];
        if (event.undone || event.undoes) continue;
        if (is_of_booking(event.kind)) {
            if (event.subject >= log.bookings.size()) return unexpected(log_error(i, "the event names no booking"));
            if (!repeat_booking(event, log.bookings[event.subject])) {
                return unexpected(log_error(i, "the booking can be made, or taken back, as the event says"));
            }
        } else if (is_of_node(event.kind)) {
            const std::uint64_t position = number_of_low(log.first_change, event.subject) - log.first_change;
            if (position >= log.changes.size()) return unexpected(log_error(i, "the event names no change"));
            if (!repeat_change(event, log.changes[static_cast<std::size_t>(position)])) {
                return unexpected(log_error(i, "the node can be changed as the event says"));
            }
        }
    }
    return book;
}

expected<ledger> ledger::rebuild(cluster now, std::span<const booking> live) {
    if (auto checked = check_cluster(now); !checked) return unexpected(std::move(checked).error());
    ledger book{std::move(now)};
    book.expect_pods_of(live);
    for (const bool claims : {true, false}) { // pods use them
        for (std::size_t i = 0; i < live.size(); ++i) {
            if (live[i].owner.is_claim() != claims) continue;
            if (book.is_live(live[i].owner)) {
                return unexpected(log_error(i, claims ? "the claim is booked twice" : "the pod is booked twice"));
            }
            if (!book.adopt(live[i])) return unexpected(log_error(i, "the booking is not of this cluster"));
        }
    }
    return book;
}

bool ledger::same_use(const ledger& other) const {
    if (records_.size() != other.records_.size() || live_count_ != other.live_count_) return false;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        const node_index where{i};
        if (records_[i].host != other.records_[i].host || records_[i].present != other.records_[i].present)
            return false;
        if (!std::ranges::equal(devices(where), other.devices(where))) return false;
        if (!std::ranges::equal(services(where), other.services(where))) return false;
        if (cluster_.nodes[i] != other.cluster_.nodes[i]) return false;
    }
    const auto same_booking = [&](owner_id owner) {
        return other.is_live(owner) && is_committed(owner) == other.is_committed(owner) &&
               booking_of(owner) == other.booking_of(owner);
    };
    return std::ranges::all_of(live_pods(), same_booking) && std::ranges::all_of(live_claims(), same_booking);
}

bool ledger::same_use_by_name(const ledger& other) const {
    std::map<std::string_view, node_index> others;
    std::size_t nodes = 0;
    for (std::size_t i = 0; i < other.records_.size(); ++i) {
        if (counts(other.records_[i])) others.emplace(other.cluster_.nodes[i].name, node_index{i});
    }
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (!counts(records_[i])) continue;
        ++nodes;
        const auto at = others.find(cluster_.nodes[i].name);
        if (at == others.end()) return false;
        const node_index theirs = at->second;
        const node_record& record = other.records_[theirs.at()];
        const bool same_node = record.host == records_[i].host && record.present == records_[i].present &&
                               cluster_.nodes[i].host == other.cluster_.nodes[theirs.at()].host;
        if (!same_node || !std::ranges::equal(devices(node_index{i}), other.devices(theirs))) return false;
        if (!std::ranges::equal(services(node_index{i}), other.services(theirs))) return false;
    }
    const auto same_booking = [&](owner_id owner) {
        if (!other.is_live(owner) || is_committed(owner) != other.is_committed(owner)) return false;
        booking entry = booking_of(owner);
        const booking& theirs = other.booking_of(owner);
        const auto at = others.find(cluster_.nodes[entry.where.node.at()].name);
        entry.where.node = at == others.end() ? node_index::none() : at->second;
        return entry == theirs;
    };
    return nodes == others.size() && live_count_ == other.live_count_ &&
           std::ranges::all_of(live_pods(), same_booking) && std::ranges::all_of(live_claims(), same_booking);
}

} // namespace vgpualloc
