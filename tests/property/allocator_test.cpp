// The indexed allocator against the reference, and what a decision must not depend on. Every listed policy takes part.
#include "support.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vgpualloc/alloc/reference.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc::property {
namespace {

class allocator_property : public testing::TestWithParam<policy_choice> {};

void expect_equal(const std::vector<node_answer>& a, const std::vector<node_answer>& b) {
    RC_ASSERT(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        RC_ASSERT(a[i].code == b[i].code);
        RC_ASSERT(a[i].score == b[i].score); // compared exactly, as decisions are
    }
}

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

/// Two ledgers and two sets of policies, driven alike: pods, nodes, devices and trials.
class side_by_side {
public:
    side_by_side(const policy_choice& choice, const world& in, allocator_options options)
        : in_{&in}, fast_policies_{choice, in}, reference_policies_{choice, in},
          fast_{fast_book_, fast_policies_.pair(), options}, reference_{reference_book_, reference_policies_.pair()} {}

    void apply(const operation& what) {
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
            try_out(what);
            break;
        default:
            place(request);
            break;
        }
        RC_ASSERT(fast_book_.same_use(reference_book_));
    }

    void compare_answers(const pod_request& request) {
        reference_.observe();
        expect_equal(fast_.evaluate(fast_.intern(request).value()), reference_.evaluate(request));
    }
    void check() const {
        fast_book_.check();
        const auto replayed = ledger::rebuild(in_->owned, fast_book_.log());
        RC_ASSERT(replayed.has_value());
        RC_ASSERT(replayed->same_use(fast_book_));
    }

private:
    [[nodiscard]] const pod_request& request_of(const operation& what) const {
        return in_->requests[what.request % in_->requests.size()];
    }

    template <class Change>
    void on_both(Change&& change) {
        change(fast_book_);
        change(reference_book_);
    }

    void place(const pod_request& request) {
        const pod_id pod{pods_++};
        reference_.observe();
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

    void release_one(std::uint32_t salt) {
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
    void book_by_hand(const pod_request& request, std::uint32_t salt) {
        const booking wanted = some_booking(fast_book_.nodes(), request, pod_id{pods_++}, salt);
        RC_ASSERT(fast_book_.reserve(wanted).has_value() == reference_book_.reserve(wanted).has_value());
    }

    void change_node(const operation& what) {
        const std::vector<node>& nodes = fast_book_.nodes().nodes;
        const node_index where{what.salt % nodes.size()};
        const node described = nodes[where.at()];
        if (!fast_book_.is_present(where)) { // it returns, or a new one comes
            node added = in_->owned.nodes[what.request % in_->owned.nodes.size()];
            on_both([&](ledger& book) { static_cast<void>(book.add_node(added).has_value()); });
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
            on_both(
                [&](ledger& book) { static_cast<void>(book.update_node(where, changed(described, what)).value()); });
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
    [[nodiscard]] node changed(node described, const operation& what) const {
        if (what.kind % 3 == 0) described.cpu = milli_cpu{static_cast<std::int64_t>(what.salt % 17) * 1000};
        if (what.kind % 5 == 0) std::ranges::reverse(described.devices);
        if (what.kind % 7 == 0 && !described.devices.empty()) described.devices.pop_back();
        if (what.kind % 4 == 0 && !described.devices.empty()) {
            described.devices.front().kind = what.salt % static_cast<std::uint32_t>(in_->owned.kinds.size());
        }
        if (what.kind % 11 == 0) described.host = {};
        return described;
    }

    /// Whatever is done in a trial that is undone has not been.
    void try_out(const operation& what) {
        const whole_state before{fast_book_};
        const auto answers = fast_.evaluate(fast_.intern(request_of(what)).value());
        const bool keep = what.salt % 3 == 0;
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

    const world* in_;
    ledger fast_book_{in_->owned};
    ledger reference_book_{in_->owned};
    policies_of fast_policies_;
    policies_of reference_policies_;
    allocator fast_;
    reference_allocator reference_;
    std::uint32_t pods_ = 0;
};

void expect_same_decisions(const policy_choice& choice, allocator_options options, bool names) {
    hold("fast path = reference", [&] {
        const world in = *worlds({.openb = choice.openb, .names = names && !choice.openb, .operations_max = 40});
        side_by_side both{choice, in, options};
        for (const operation& what : in.operations) both.apply(what);
        for (const pod_request& request : in.requests) both.compare_answers(request);
        both.check();
    });
}

TEST_P(allocator_property, decides_like_the_reference) { expect_same_decisions(GetParam(), {}, false); }

TEST_P(allocator_property, decides_like_the_reference_where_requests_name_devices_and_nodes) {
    expect_same_decisions(GetParam(), {}, true);
}

TEST_P(allocator_property, decides_like_the_reference_when_configurations_are_forgotten_at_every_step) {
    expect_same_decisions(GetParam(), {.interned = {.configs_max = 1}, .index_bytes_max = std::size_t{1} << 20}, true);
}

TEST_P(allocator_property, decides_like_the_reference_when_only_the_last_request_is_known) {
    expect_same_decisions(GetParam(), {.interned = {.configs_max = 50}, .index_bytes_max = 1, .requests_max = 1}, true);
}

TEST_P(allocator_property, placing_and_releasing_changes_nothing) {
    hold("place then release is the identity", [choice = GetParam()] {
        const world in = *worlds({.openb = choice.openb, .mode = nullptr, .contains_devices_only = false});
        const policies_of policies{choice, in};
        ledger book{in.owned};
        allocator placer{book, policies.pair()};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) {
            const request_id asked = placer.intern(in.requests[what.request % in.requests.size()]).value();
            const request_id witness = placer.intern(in.requests[what.salt % in.requests.size()]).value();
            const auto before = use_of(book);
            const auto answers = placer.evaluate(witness);
            const pod_id pod{pods++};
            if (!placer.place(book, pod, asked)) continue;
            RC_ASSERT(violation(book) == "");
            if (what.kind % 2 == 0) continue; // this one stays
            book.release(pod);
            RC_ASSERT(use_of(book) == before);
            expect_equal(placer.evaluate(witness), answers);
        }
    });
}

/// How the devices of each node were reordered: [node][new index] = old index.
using device_order = std::vector<std::vector<std::size_t>>;

cluster reordered(const cluster& owned, const device_order& order) {
    cluster result = owned;
    for (std::size_t n = 0; n < order.size(); ++n) {
        for (std::size_t d = 0; d < order[n].size(); ++d) {
            result.nodes[n].devices[d] = owned.nodes[n].devices[order[n][d]];
        }
    }
    return result;
}

booking reordered(booking what, const device_order& order) {
    const auto& here = order[what.where.node.at()];
    for (device_share& share : what.where.shares) {
        share.device =
            device_index{static_cast<std::size_t>(std::ranges::find(here, share.device.at()) - here.begin())};
    }
    return what;
}

/// Which of a node's devices has which index, and in which order pods came, is in nobody's score.
TEST_P(allocator_property, answers_do_not_depend_on_device_indices_or_on_the_order_of_pods) {
    hold("permutations", [choice = GetParam()] {
        const world in = *worlds({.openb = choice.openb, .mode = nullptr, .contains_devices_only = false});
        rng shuffler{in.operations.size()};
        device_order order;
        for (const node& each : in.owned.nodes) {
            auto& here = order.emplace_back(each.devices.size());
            std::iota(here.begin(), here.end(), std::size_t{0});
            shuffler.shuffle(here);
        }
        ledger book{in.owned};
        std::vector<booking> booked;
        for (const operation& what : in.operations) {
            const auto& asked = in.requests[what.request % in.requests.size()];
            const booking wanted = some_booking(in.owned, asked, pod_id{booked.size()}, what.salt);
            if (book.reserve(wanted)) booked.push_back(reordered(wanted, order));
        }
        shuffler.shuffle(booked);
        const cluster other_cluster = reordered(in.owned, order);
        ledger other = ledger::rebuild(other_cluster, booked).value();
        const policies_of policies{choice, in};
        const policies_of other_policies{choice, in};
        allocator placer{book, policies.pair()};
        allocator other_placer{other, other_policies.pair()};
        for (const pod_request& asked : in.requests) {
            expect_equal(placer.evaluate(placer.intern(asked).value()),
                         other_placer.evaluate(other_placer.intern(asked).value()));
        }
    });
}

INSTANTIATE_TEST_SUITE_P(all, allocator_property, testing::ValuesIn(all_choices()), test_name);

} // namespace
} // namespace vgpualloc::property
