// The indexed allocator against the reference, and what a decision must not depend on. Every listed policy takes part.
#include "side_by_side.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vgpualloc/core/rng.hpp"

namespace vgpualloc::property {
namespace {

class allocator_property : public testing::TestWithParam<policy_choice> {};

void expect_same_decisions(const policy_choice& choice, allocator_options options, bool names) {
    hold("fast path = reference", [&] {
        const world in = *worlds({.openb = choice.openb, .names = names && !choice.openb, .operations_max = 40});
        side_by_side both{choice, in, options, in.owned.nodes.size()};
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

/// Two ledgers with the same history, but that one of them has seen trials that were undone: every later decision is
/// the same, draws included.
TEST_P(allocator_property, trials_undone_change_no_later_decision) {
    hold("undone trials = no trials", [choice = GetParam()] {
        const world in = *worlds({.openb = choice.openb, .names = !choice.openb, .operations_max = 30});
        side_by_side tried{choice, in, {}, in.owned.nodes.size() / 2 + 1};
        side_by_side plain{choice, in, {}, in.owned.nodes.size() / 2 + 1};
        for (const operation& what : in.operations) {
            tried.try_in_vain({.kind = what.salt, .request = what.kind, .salt = what.request});
            tried.apply(what);
            plain.apply(what);
            RC_ASSERT(tried.book().same_use(plain.book()));
        }
    });
}

TEST_P(allocator_property, placing_and_releasing_changes_nothing) {
    hold("place then release is the identity", [choice = GetParam()] {
        const world in = *worlds({.openb = choice.openb, .mode = nullptr, .contains_devices_only = false});
        const policies_of policies{choice, in};
        ledger book{in.owned};
        allocator placer{book, policies.pair()};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) {
            const request_id request = placer.intern(in.requests[what.request % in.requests.size()]).value();
            const request_id witness = placer.intern(in.requests[what.salt % in.requests.size()]).value();
            const auto before = use_of(book);
            const auto answers = placer.evaluate(witness);
            const pod_id pod{pods++};
            if (!placer.place(book, pod, request)) continue;
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
        for (const node& described : in.owned.nodes) {
            auto& here = order.emplace_back(described.devices.size());
            std::iota(here.begin(), here.end(), std::size_t{0});
            shuffler.shuffle(here);
        }
        ledger book{in.owned};
        std::vector<booking> booked;
        for (const operation& what : in.operations) {
            const auto& request = in.requests[what.request % in.requests.size()];
            const booking wanted = some_booking(in.owned, request, pod_id{booked.size()}, what.salt);
            if (book.reserve(wanted)) booked.push_back(reordered(wanted, order));
        }
        shuffler.shuffle(booked);
        const cluster other_cluster = reordered(in.owned, order);
        ledger other = ledger::rebuild(other_cluster, booked).value();
        const policies_of policies{choice, in};
        const policies_of other_policies{choice, in};
        allocator placer{book, policies.pair()};
        allocator other_placer{other, other_policies.pair()};
        for (const pod_request& request : in.requests) {
            expect_equal(placer.evaluate(placer.intern(request).value()),
                         other_placer.evaluate(other_placer.intern(request).value()));
        }
    });
}

INSTANTIATE_TEST_SUITE_P(all, allocator_property, testing::ValuesIn(all_choices()), test_name);

} // namespace
} // namespace vgpualloc::property
