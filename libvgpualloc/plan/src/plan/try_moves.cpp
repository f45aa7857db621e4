// A plan carried out on the ledger itself, and undone.
#include <utility>

#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

namespace {

ledger::result carry_out(ledger& book, const pod_move& move, pod_id spare) {
    const booking* const running = book.find_booking(move.pod);
    if (running == nullptr || running->where != move.from) {
        return unexpected(rejection_detail{.code = rejection_code::pod_not_known});
    }
    booking moved = *running;
    moved.where = move.to;
    booking copy = moved;
    copy.owner = spare;
    if (auto booked = book.reserve(std::move(copy)); !booked) return unexpected(booked.error());
    if (auto released = book.release(move.pod); !released) return released;
    if (auto undone = book.rollback(spare); !undone) return undone;
    if (auto booked = book.reserve(std::move(moved)); !booked) return unexpected(booked.error());
    return book.commit(move.pod);
}

} // namespace

ledger::result try_moves(ledger& book, const move_plan& planned, const booking* blocked, pod_id spare,
                         const std::function<void(const ledger&)>& look) {
    const trial scope{book};
    for (const pod_move& move : planned.moves) {
        if (auto done = carry_out(book, move, spare); !done) return done;
    }
    if (blocked != nullptr) {
        booking entry = *blocked;
        entry.where = planned.where;
        if (auto booked = book.reserve(std::move(entry)); !booked) return unexpected(booked.error());
    }
    if (look) look(book);
    return {};
}

} // namespace vgpualloc::plan
