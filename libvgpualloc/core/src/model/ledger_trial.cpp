// Trials: what a step was before is kept, and put back in reverse order.
#include <algorithm>
#include <utility>

#include "undo_log.hpp"
#include "vgpualloc/model/ledger.hpp"

namespace vgpualloc {

std::size_t ledger::begin_trial() {
    if (undo_ == nullptr) undo_ = std::make_shared<undo_log>();
    undo_->outer.push_back(trial_);
    trial_ = ++trial_count_;
    events_.push_back({.kind = ledger_event_kind::trial_begun});
    return undo_->steps.size();
}

void ledger::end_trial(std::size_t begin, bool keep) {
    while (!keep && undo_->steps.size() > begin) {
        const undo_log::step last = std::move(undo_->steps.back());
        undo_->steps.pop_back();
        std::visit([this](const auto& step) { undo_log::undo(*this, step); }, last);
    }
    events_.push_back({.kind = keep ? ledger_event_kind::trial_kept : ledger_event_kind::trial_undone});
    trial_ = undo_->outer.back();
    undo_->outer.pop_back();
    if (!in_trial()) undo_->steps.clear();
}

/// Before the first change of a node's use in a trial.
void ledger::save_use(node_index where) {
    node_record& owner = records_[where.at()];
    if (owner.saved_in == trial_) return;
    undo_->steps.emplace_back(undo_log::use_of(*this, where));
    owner.saved_in = trial_;
}

ledger::undo_log::use_step ledger::undo_log::use_of(const ledger& book, node_index where) {
    const node_record& owner = book.records_[where.at()];
    undo_log::use_step use{.where = where,
                           .host = owner.host,
                           .slots = owner.slots,
                           .states = {book.devices(where).begin(), book.devices(where).end()},
                           .host_over = book.overcommitted_hosts_.contains(where.value()),
                           .devices_over = {},
                           .saved_in = owner.saved_in};
    for (std::uint32_t device = 0; device < owner.count; ++device) {
        if (book.overcommitted_.contains({where.value(), device})) use.devices_over.push_back(device);
    }
    return use;
}

/// Before the next event of an owner.
void ledger::note_owner(owner_id owner) {
    undo_->steps.emplace_back(undo_log::owner_step{.owner = owner, .before = entry_of(owner), .event = events_.next()});
}

/// Before anything of a node but its use changes; the next event is the change's, if the change has one. A node that
/// was removed counted until its last pod ended just now.
void ledger::save_structure(node_index where, bool counted) {
    if (!in_trial()) return;
    node_record& owner = records_[where.at()];
    undo_log::structure_step step{.use = undo_log::use_of(*this, where),
                                  .described = cluster_.nodes[where.at()],
                                  .waiting = owner.described ? std::make_unique<node>(*owner.described) : nullptr,
                                  .present = owner.present,
                                  .named = counted,
                                  .rank = ranks_[where.at()],
                                  .free_nodes = free_nodes_.size(),
                                  .event = events_.next()};
    undo_->steps.emplace_back(std::move(step));
    owner.saved_in = 0; // its use is saved anew after the change
}

/// After a node was put at the end, before anything is said of it.
void ledger::note_added_node(node_index where) {
    if (!in_trial()) return;
    undo_->steps.emplace_back(undo_log::added_step{.where = where, .event = events_.next()});
}

void ledger::undo_log::undo(ledger& book, const owner_step& step) {
    live_entry& entry = book.entry_of(step.owner);
    book.live_count_ -= entry.state == status::absent ? 0U : 1U;
    book.live_count_ += step.before.state == status::absent ? 0U : 1U;
    ledger_event& event = book.events_[step.event];
    const std::uint32_t former_slot = step.before.slot;
    entry = step.before;
    if (!is_of_booking(event.kind)) return; // a new description moved its shares; that is undone as a whole
    event.undone = true;
    if (event.kind != ledger_event_kind::commit) {
        book.count_users(book.bookings_[event.subject], gives_back(event.kind));
    }
    ledger_event inverse{.kind = ledger_event_kind::adopt, .undoes = true, .subject = former_slot};
    if (event.kind == ledger_event_kind::commit) return;
    if (books(event.kind)) {
        inverse.subject = event.subject;
        inverse.kind =
            event.kind == ledger_event_kind::adopt ? ledger_event_kind::release : ledger_event_kind::rollback;
    }
    book.events_.push_back(inverse);
}

void ledger::undo_log::undo(ledger& book, const use_step& step) {
    node_record& owner = book.records_[step.where.at()];
    owner.host = step.host;
    owner.slots = step.slots;
    owner.saved_in = step.saved_in;
    std::ranges::copy(step.states, book.states_.begin() + static_cast<std::ptrdiff_t>(owner.first));
    for (std::uint32_t device = 0; device < owner.count; ++device) {
        book.overcommitted_.erase({step.where.value(), device});
    }
    for (const std::uint32_t device : step.devices_over) book.overcommitted_.insert({step.where.value(), device});
    if (step.host_over) {
        book.overcommitted_hosts_.insert(step.where.value());
    } else {
        book.overcommitted_hosts_.erase(step.where.value());
    }
}

void ledger::undo_log::undo(ledger& book, const structure_step& step) {
    const node_index where = step.use.where;
    node_record& owner = book.records_[where.at()];
    node_change inverse{.where = where};
    for (const std::uint32_t slot : owner.slots) { // the bookings that the change made
        const bool was_there = std::ranges::find(step.use.slots, slot) != step.use.slots.end();
        if (!was_there) inverse.replaced.push_back(slot);
    }
    for (std::uint32_t device = 0; device < owner.count; ++device) book.overcommitted_.erase({where.value(), device});
    node& current = book.cluster_.nodes[where.at()];
    if (const auto named = book.names_.find(current.name);
        named != book.names_.end() && named->second == where.value()) {
        book.names_.erase(named);
    }
    current = step.described;
    // Where no names are listed, all are when the first one is asked for.
    if (step.named && !book.names_.empty()) book.names_.emplace(current.name, where.value());
    book.place_devices(where, current.devices);
    owner.described = step.waiting ? std::make_unique<node>(*step.waiting) : nullptr;
    owner.present = step.present;
    book.ranks_[where.at()] = step.rank;
    book.renew_version(where);
    undo(book, step.use);
    if (book.free_nodes_.size() > step.free_nodes) book.free_nodes_.pop_back();
    if (book.free_nodes_.size() < step.free_nodes) book.free_nodes_.push_back(where.value());
    note_undone(book, step.event, std::move(inverse));
}

void ledger::undo_log::undo(ledger& book, const added_step& step) {
    VGA_ASSERT(step.where.at() + 1 == book.cluster_.nodes.size(),
               "nodes that a trial added are taken away from the end");
    const auto named = book.names_.find(book.cluster_.nodes.back().name);
    if (named != book.names_.end() && named->second == step.where.value()) book.names_.erase(named);
    book.place_devices(step.where, {});
    book.cluster_.nodes.pop_back();
    book.records_.pop_back();
    book.ranks_.pop_back();
    note_undone(book, step.event, {.where = step.where});
}

/// `event` is that of the change that was taken back; the end of the last pod of a node that was removed has none of
/// its own.
void ledger::undo_log::note_undone(ledger& book, std::uint64_t event, node_change inverse) {
    if (event < book.events_.next() && is_of_node(book.events_[event].kind)) book.events_[event].undone = true;
    book.note_change(ledger_event_kind::node_changed, std::move(inverse));
    book.events_[book.events_.next() - 1].undoes = true;
}

} // namespace vgpualloc
