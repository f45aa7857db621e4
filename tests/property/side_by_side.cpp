#include "side_by_side.hpp"

#include <algorithm>

#include "vgpualloc/model/trial.hpp"

namespace vgpualloc::property {

namespace {

/// Everything of a ledger that a decision may depend on.
struct whole_state {
    use_snapshot use;
    std::vector<node> nodes;
    std::vector<std::uint64_t> ranks;
    std::vector<pod_id> pods;
    std::vector<booking> bookings; ///< by position in `pods`

    explicit whole_state(const ledger& book) : use{use_of(book)}, nodes{book.nodes().nodes}, pods{book.live_pods()} {
        for (std::size_t i = 0; i < nodes.size(); ++i) ranks.push_back(book.rank_of(node_index{i}));
        for (const pod_id pod : pods) bookings.push_back(book.booking_of(pod));
    }
    bool operator==(const whole_state&) const = default;
};

cluster first_nodes(cluster owned, std::size_t count) {
    owned.nodes.resize(std::min(count, owned.nodes.size()));
    return owned;
}

} // namespace

void expect_equal(const std::vector<node_answer>& a, const std::vector<node_answer>& b) {
    RC_ASSERT(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        RC_ASSERT(a[i].code == b[i].code);
        RC_ASSERT(a[i].score == b[i].score);
    }
}

side_by_side::side_by_side(const policy_choice& choice, const world& in, allocator_options options,
                           std::size_t nodes_at_start)
    : in_{&in}, start_{first_nodes(in.owned, nodes_at_start)}, fast_policies_{choice, in},
      reference_policies_{choice, in}, fast_{fast_book_, fast_policies_.pair(), options},
      reference_{reference_book_, reference_policies_.pair()} {}

void side_by_side::apply(const operation& what) {
    const pod_request& request = request_of(what);
    switch (what.kind % 16) {
    case 0:
    case 1:
        release_one(what.salt);
        break;
    case 2:
        compare_answers(request);
        break;
    case 3:
        book_by_hand(request, what.salt);
        break;
    case 4:
    case 5:
        change_node(what);
        break;
    case 6:
        try_out(what, what.salt % 3 == 0);
        break;
    default:
        place(request);
        break;
    }
    RC_ASSERT(fast_book_.same_use(reference_book_));
}

void side_by_side::compare_answers(const pod_request& request) {
    reference_.observe();
    const auto answers = reference_.evaluate(request);
    expect_equal(fast_.evaluate(fast_.intern(request).value()), answers);
    for (std::size_t n = 0; n < answers.size(); ++n) {
        const node_index where{n};
        const auto quick = fast_.try_node(where, fast_.intern(request).value());
        const node_decision full = reference_.try_node(where, request);
        RC_ASSERT(quick.has_value() == (full.answer.code == rejection_code::none));
        if (!quick) {
            RC_ASSERT(quick.error() == full.answer.code);
            continue;
        }
        expect_equal({quick->answer}, {full.answer});
        RC_ASSERT(static_cast<const placement&>(*quick) == full.where);
    }
}

void side_by_side::check() const {
    fast_book_.check();
    const auto replayed = ledger::rebuild(start_, fast_book_.log());
    RC_ASSERT(replayed.has_value());
    RC_ASSERT(replayed->same_use(fast_book_));
}

void side_by_side::place(const pod_request& request) {
    const pod_id pod{pods_++};
    reference_.observe();
    if (pod.at() % 8 != 7) { // some pods are asked about that nobody has announced
        fast_.note_arrival(fast_.intern(request).value());
        reference_policies_.note_arrival(request, reference_book_);
    }
    const auto expected = reference_.decide(request);
    const auto fast = fast_.place(fast_book_, pod, fast_.intern(request).value());
    RC_ASSERT(fast.has_value() == expected.has_value());
    if (!fast) {
        RC_ASSERT(fast.error() == expected.error());
        return;
    }
    RC_ASSERT(static_cast<const placement&>(*fast) == *expected);
    for (const device_share& share : fast->shares) {
        RC_ASSERT(fast_book_.services(fast->node)[share.device.at()] == service_state::in_service);
    }
    RC_ASSERT(reference_book_.reserve(fast_book_.booking_of(pod)).has_value());
    RC_ASSERT(reference_book_.commit(pod).has_value());
}

void side_by_side::release_one(std::uint32_t salt) {
    const auto live = fast_book_.live_pods();
    if (live.empty()) return;
    const pod_id pod = live[salt % live.size()];
    on_both([&](ledger& book) {
        if (book.is_committed(pod)) {
            book.release(pod);
        } else if (salt % 3 == 0) {
            book.commit(pod);
        } else {
            book.rollback(pod);
        }
    });
}

/// A change that neither allocator made: they have to notice it in the log.
void side_by_side::book_by_hand(const pod_request& request, std::uint32_t salt) {
    const booking wanted = some_booking(fast_book_.nodes(), request, pod_id{pods_++}, salt);
    RC_ASSERT(fast_book_.reserve(wanted).has_value() == reference_book_.reserve(wanted).has_value());
}

void side_by_side::change_node(const operation& what) {
    const std::vector<node>& nodes = fast_book_.nodes().nodes;
    const node_index where{what.salt % nodes.size()};
    const node described = nodes[where.at()];
    const node& known = in_->owned.nodes[what.request % in_->owned.nodes.size()];
    if (!fast_book_.is_present(where) || !fast_book_.find_node(known.name).valid()) { // it returns, or a new one comes
        on_both([&](ledger& book) { static_cast<void>(book.add_node(known).has_value()); });
        return;
    }
    switch (what.request % 5) {
    case 0:
        on_both([&](ledger& book) { book.remove_node(where); });
        break;
    case 1:
        on_both([&](ledger& book) { book.set_schedulable(where, described.host.unschedulable); });
        break;
    case 2:
        on_both([&](ledger& book) { static_cast<void>(book.update_node(where, changed(described, what)).value()); });
        break;
    default:
        if (described.devices.empty()) return;
        on_both([&](ledger& book) {
            book.set_service(where, device_index{what.kind % described.devices.size()},
                             static_cast<service_state>(what.request / 5 % 4));
        });
        break;
    }
}

/// What a node may register as the next time: without a device, in another order, with another kind or less CPU.
node side_by_side::changed(node described, const operation& what) const {
    if (what.kind % 3 == 0) described.cpu = milli_cpu{static_cast<std::int64_t>(what.salt % 17) * 1000};
    if (what.kind % 5 == 0) std::ranges::reverse(described.devices);
    if (what.kind % 7 == 0 && !described.devices.empty()) described.devices.pop_back();
    if (what.kind % 4 == 0 && !described.devices.empty()) {
        described.devices.front().kind = what.salt % static_cast<std::uint32_t>(in_->owned.kinds.size());
    }
    if (what.kind % 11 == 0) described.host = {};
    return described;
}

void side_by_side::try_in_vain(const operation& what) {
    const std::uint32_t pods = pods_;
    try_out(what, false);
    pods_ = pods;
}

/// Whatever is done in a trial that is undone has not been.
void side_by_side::try_out(const operation& what, bool keep) {
    const whole_state before{fast_book_};
    const auto answers = fast_.evaluate(fast_.intern(request_of(what)).value());
    {
        trial fast_trial{fast_book_};
        trial reference_trial{reference_book_};
        for (std::uint32_t i = 0; i < 1 + what.salt % 4; ++i) {
            apply({.kind = what.kind / 16 + i * 5, .request = what.request + i, .salt = what.salt / 3 + i});
        }
        if (keep) {
            fast_trial.keep();
            reference_trial.keep();
        }
    }
    fast_book_.check();
    if (keep) return;
    RC_ASSERT(whole_state{fast_book_} == before);
    expect_equal(fast_.evaluate(fast_.intern(request_of(what)).value()), answers);
}

} // namespace vgpualloc::property
