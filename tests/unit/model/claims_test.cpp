// Claims in the ledger: devices that several pods use, that are there before them and after them.
#include "support.hpp"

#include <vector>

#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/verify/placements.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

constexpr claim_id first_claim{0};
constexpr claim_id second_claim{1};

booking claim_on(claim_id claim, node_index where, std::initializer_list<device_share> shares) {
    return {.owner = claim, .where = {.node = where, .shares = shares}};
}

/// A pod of 1000 mCPU and 1000 bytes that uses a claim and has nothing of its own.
booking user_of(std::uint32_t pod, node_index where, claim_id claim = first_claim) {
    booking entry = book_on(pod, where);
    entry.claims = {claim};
    return entry;
}

class claims_test : public testing::Test {
protected:
    claims_test() : where_{add_node(owned_, {gpu("A", 2), gpu("A", 2)})}, elsewhere_{add_node(owned_, {gpu("A", 2)})} {}

    [[nodiscard]] rejection_code code_of(const booking& entry) {
        const auto booked = book_.reserve(entry);
        return booked ? none : booked.error().code;
    }
    [[nodiscard]] static rejection_code code_of(const ledger::result& result) {
        return result ? none : result.error().code;
    }
    void expect_sound() const {
        book_.check();
        EXPECT_EQ(verify::first_violation(book_), "");
    }

    cluster owned_;
    node_index where_;
    node_index elsewhere_;
    ledger book_{owned_};
    ledger fresh_{owned_};
};

TEST_F(claims_test, two_pods_use_one_claim_and_it_outlives_them) {
    ASSERT_TRUE(book_.reserve(claim_on(first_claim, where_, {share_of_device(0, part(6000, 50))})));
    ASSERT_TRUE(book_.commit(first_claim));
    EXPECT_EQ(book_.host(where_), host_use{}) << "a claim has nothing of the host, not even a place for a pod";
    for (const std::uint32_t pod : {0U, 1U}) {
        ASSERT_TRUE(book_.reserve(user_of(pod, where_)));
        ASSERT_TRUE(book_.commit(pod_id{pod}));
        expect_sound();
    }
    EXPECT_EQ(book_.host(where_), (host_use{milli_cpu{2000}, bytes{2000}, 2}));
    EXPECT_EQ(book_.devices(where_)[0], (device_state{mib{6000}, core_percent{50}, 1, 0})) << "counted once";
    EXPECT_EQ(book_.users_of(first_claim), 2U);
    EXPECT_EQ(code_of(book_.release(first_claim)), claim_in_use);
    ASSERT_TRUE(book_.release(pod_id{0}));
    EXPECT_EQ(book_.users_of(first_claim), 1U);
    EXPECT_EQ(code_of(book_.release(first_claim)), claim_in_use) << "the second pod is still there";
    ASSERT_TRUE(book_.release(pod_id{1}));
    EXPECT_EQ(book_.devices(where_)[0].memory, mib{6000}) << "a claim does not go with its pods";
    expect_sound();
    ASSERT_TRUE(book_.release(first_claim));
    EXPECT_TRUE(book_.same_use(fresh_));
    expect_sound();
}

TEST_F(claims_test, a_pod_names_claims_that_are_live_and_on_its_node) {
    EXPECT_EQ(code_of(user_of(0, where_)), claim_not_known);
    ASSERT_TRUE(book_.reserve(claim_on(first_claim, where_, {share_of_device(0, part(6000))})));
    EXPECT_EQ(code_of(user_of(0, elsewhere_)), claim_elsewhere);
    booking twice = user_of(0, where_);
    twice.claims.push_back(first_claim);
    EXPECT_EQ(code_of(twice), claim_not_known);
    EXPECT_EQ(code_of(user_of(0, where_, claim_id{0, 1})), claim_not_known) << "another claim of that number";
    booking nested = claim_on(second_claim, where_, {});
    nested.claims = {first_claim};
    EXPECT_EQ(code_of(nested), claim_not_known) << "a claim uses no claim";
    ASSERT_TRUE(book_.reserve(claim_on(second_claim, where_, {share_of_device(1, part(100))})));
    booking both = user_of(0, where_);
    both.claims.push_back(second_claim);
    both.where.shares.push_back(share_of_device(1, part(200)));
    ASSERT_TRUE(book_.reserve(both));
    EXPECT_EQ(book_.users_of(second_claim), 1U);
    EXPECT_EQ(book_.devices(where_)[1].memory, mib{300}) << "the pod's own part and the claim's";
    expect_sound();
}

TEST_F(claims_test, a_claim_has_no_part_of_the_host) {
    booking greedy = claim_on(first_claim, where_, {share_of_device(0, part(100))});
    greedy.cpu = milli_cpu{1};
    EXPECT_EQ(code_of(greedy), amount_not_valid);
    greedy.cpu = {};
    greedy.memory = bytes{1};
    EXPECT_EQ(code_of(greedy), amount_not_valid);
    EXPECT_EQ(code_of(claim_on(claim_id{}, where_, {})), pod_not_known) << "nobody";
    EXPECT_EQ(code_of(claim_on(claim_id{~0U - 1}, where_, {})), pod_not_known) << "a number beyond all";
    owned_.nodes[where_.at()].pods_max = 0;
    ledger full{owned_};
    EXPECT_TRUE(full.reserve(claim_on(first_claim, where_, {share_of_device(0, part(100))}))) << "pods are limited";
}

TEST_F(claims_test, owners_of_both_kinds_have_numbers_of_their_own) {
    ASSERT_TRUE(book_.reserve(claim_on(claim_id{0}, where_, {share_of_device(0, part(100))})));
    ASSERT_TRUE(book_.reserve(book_on(0, where_)));
    EXPECT_EQ(code_of(claim_on(claim_id{0}, where_, {})), pod_is_live);
    EXPECT_EQ(book_.live_pods(), std::vector{pod_id{0}});
    EXPECT_EQ(book_.live_claims(), std::vector{claim_id{0}});
    EXPECT_EQ(book_.live_count(), 2U);
    EXPECT_EQ(code_of(book_.release(claim_id{0})), claim_not_known) << "reserved, not committed";
    EXPECT_EQ(code_of(book_.release(claim_id{7})), claim_not_known);
    ASSERT_TRUE(book_.rollback(claim_id{0}));
    EXPECT_TRUE(book_.is_live(pod_id{0}));
}

TEST_F(claims_test, a_trial_takes_users_and_claims_back) {
    ASSERT_TRUE(book_.reserve(claim_on(first_claim, where_, {share_of_device(0, part(6000))})));
    ASSERT_TRUE(book_.reserve(user_of(0, where_)));
    {
        trial open{book_};
        ASSERT_TRUE(book_.reserve(user_of(1, where_)));
        ASSERT_TRUE(book_.rollback(pod_id{0}));
        ASSERT_TRUE(book_.rollback(pod_id{1}));
        ASSERT_TRUE(book_.rollback(first_claim));
        ASSERT_TRUE(book_.reserve(claim_on(second_claim, where_, {share_of_device(0, part(10'000))})));
        ASSERT_TRUE(book_.reserve(user_of(1, where_, second_claim)));
    }
    EXPECT_EQ(book_.users_of(first_claim), 1U);
    EXPECT_FALSE(book_.is_live(second_claim));
    EXPECT_EQ(book_.booking_of(pod_id{0}).claims, rare_list<claim_id>{first_claim});
    expect_sound();
    EXPECT_EQ(code_of(book_.rollback(first_claim)), claim_in_use);
}

TEST_F(claims_test, a_ledger_is_made_again_from_its_log_and_from_what_is_live) {
    ASSERT_TRUE(book_.reserve(claim_on(first_claim, where_, {share_of_device(0, part(6000))})));
    ASSERT_TRUE(book_.commit(first_claim));
    ASSERT_TRUE(book_.reserve(user_of(3, where_)));
    ASSERT_TRUE(book_.commit(pod_id{3}));
    const auto replayed = ledger::rebuild(owned_, book_.log());
    ASSERT_TRUE(replayed.has_value());
    EXPECT_TRUE(replayed->same_use(book_));
    // Found in any order: the claim comes before who uses it.
    const auto restarted =
        ledger::rebuild(owned_, std::vector{book_.booking_of(pod_id{3}), book_.booking_of(first_claim)});
    ASSERT_TRUE(restarted.has_value());
    EXPECT_TRUE(restarted->same_use(book_) && restarted->same_use_by_name(book_));
    EXPECT_FALSE(ledger::rebuild(owned_, std::vector{book_.booking_of(pod_id{3})})) << "its claim is not there";
}

TEST_F(claims_test, a_claim_stays_on_a_node_that_goes_and_follows_its_device) {
    node described = owned_.nodes[where_.at()];
    described.name = "n";
    described.devices[0].uuid = "u0";
    described.devices[1].uuid = "u1";
    ASSERT_TRUE(book_.remove_node(where_));
    const auto where = book_.add_node(described);
    ASSERT_TRUE(where.has_value());
    ASSERT_TRUE(book_.reserve(claim_on(first_claim, *where, {share_of_device(1, part(6000))})));
    ASSERT_TRUE(book_.commit(first_claim));
    std::swap(described.devices[0], described.devices[1]);
    ASSERT_TRUE(book_.update_node(*where, described));
    EXPECT_EQ(book_.booking_of(first_claim).where.shares[0].device, device_index{0}) << "u1 is the first one now";
    ASSERT_TRUE(book_.remove_node(*where));
    EXPECT_EQ(code_of(user_of(0, *where)), node_gone);
    EXPECT_TRUE(book_.is_live(first_claim));
    const auto back = book_.add_node(described);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(book_.devices(*back)[0].memory, mib{6000});
    ASSERT_TRUE(book_.reserve(user_of(0, *back)));
    expect_sound();
}

} // namespace
} // namespace vgpualloc
