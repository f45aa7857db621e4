// The indexed allocator against the reference, and what a decision must not depend on. Every listed policy takes part.
#include "support.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vgpualloc/alloc/reference.hpp"
#include "vgpualloc/core/rng.hpp"

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

/// Two ledgers and two sets of policies, driven alike.
class side_by_side {
public:
    side_by_side(const policy_choice& choice, const world& in, allocator_options options)
        : in_{&in}, fast_policies_{choice, in}, reference_policies_{choice, in},
          fast_{fast_book_, fast_policies_.pair(), options}, reference_{reference_book_, reference_policies_.pair()} {}

    void apply(const operation& what) {
        const pod_request& asked = in_->requests[what.request % in_->requests.size()];
        switch (what.kind % 8) {
        case 0:
        case 1:
            release_one(what.salt);
            break;
        case 2:
            reference_.observe();
            expect_equal(fast_.evaluate(fast_.intern(asked).value()), reference_.evaluate(asked));
            break;
        case 3:
            book_by_hand(asked, what.salt);
            break;
        default:
            place(asked);
            break;
        }
        RC_ASSERT(fast_book_.same_use(reference_book_));
    }

private:
    void place(const pod_request& asked) {
        const pod_id pod{pods_++};
        reference_.observe();
        const auto expected = reference_.decide(asked);
        const auto fast = fast_.place(fast_book_, pod, fast_.intern(asked).value());
        RC_ASSERT(fast.has_value() == expected.has_value());
        if (fast) {
            RC_ASSERT(static_cast<const placement&>(*fast) == *expected);
            RC_ASSERT(reference_book_.reserve(fast_book_.booking_of(pod)).has_value());
            RC_ASSERT(reference_book_.commit(pod).has_value());
        } else {
            RC_ASSERT(fast.error() == expected.error());
        }
    }

    void release_one(std::uint32_t salt) {
        const auto live = live_pods(fast_book_, pods_);
        if (live.empty()) return;
        const pod_id pod = live[salt % live.size()];
        for (ledger* book : {&fast_book_, &reference_book_}) {
            if (book->is_committed(pod)) {
                book->release(pod);
            } else if (salt % 3 == 0) {
                book->commit(pod);
            } else {
                book->rollback(pod);
            }
        }
    }

    /// A change that neither allocator made: they have to notice it in the log.
    void book_by_hand(const pod_request& asked, std::uint32_t salt) {
        const booking wanted = some_booking(in_->owned, asked, pod_id{pods_++}, salt);
        RC_ASSERT(fast_book_.reserve(wanted).has_value() == reference_book_.reserve(wanted).has_value());
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

void expect_same_decisions(const policy_choice& choice, allocator_options options) {
    hold("fast path = reference", [&] {
        const world in = *worlds({.openb = choice.openb, .mode = nullptr, .contains_devices_only = false});
        side_by_side both{choice, in, options};
        for (const operation& what : in.operations) both.apply(what);
        for (std::uint32_t i = 0; i < in.requests.size(); ++i) both.apply({.kind = 2, .request = i, .salt = 0});
    });
}

TEST_P(allocator_property, decides_like_the_reference) { expect_same_decisions(GetParam(), {}); }

TEST_P(allocator_property, decides_like_the_reference_when_configurations_are_forgotten_at_every_step) {
    expect_same_decisions(GetParam(), {.interned = {.configs_max = 1}, .index_bytes_max = std::size_t{1} << 20});
}

TEST_P(allocator_property, decides_like_the_reference_when_only_the_last_index_is_kept) {
    expect_same_decisions(GetParam(), {.interned = {.configs_max = 50}, .index_bytes_max = 1, .requests_max = 2});
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
