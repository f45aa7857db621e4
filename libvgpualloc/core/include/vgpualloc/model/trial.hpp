// A scope in which pods are booked and released and nodes changed to see what would be: undone at its end unless kept.
#pragma once

#include <cstddef>

#include "vgpualloc/model/ledger.hpp"

namespace vgpualloc {

/// Everything that happens to the ledger while it is open is taken back when it ends, bit for bit, unless keep() was
/// called. Trials nest: one that is kept belongs to the one around it. A trial costs as much as is done in it.
///
/// Whoever reads the log hears the undoing: the inverse events in reverse order, marked ledger_event::undoes, between
/// trial_begun and trial_undone. Policies that draw go back to where their random stream was (policy::enter_trial).
/// What a trial leaves behind is its events, until the next checkpoint, and kinds of devices that nothing has.
class trial {
public:
    explicit trial(ledger& book) : ledger_{&book}, begin_{book.begin_trial()} {}
    ~trial() {
        if (open_) ledger_->end_trial(begin_, false);
    }
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    /// Ends the trial and leaves everything as it is.
    void keep() { end(true); }
    /// Ends the trial and takes everything back.
    void undo() { end(false); }

private:
    void end(bool keep) {
        VGA_ASSERT(open_, "a trial ends once");
        open_ = false;
        ledger_->end_trial(begin_, keep);
    }

    ledger* ledger_;
    std::size_t begin_;
    bool open_ = true;
};

} // namespace vgpualloc
