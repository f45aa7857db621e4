// Pods with names of their own and the numbers that they are given.
#include "nodes.hpp"

#include "vgpualloc/model/pod_registry.hpp"

namespace vgpualloc {
namespace {

using namespace test;

TEST(pod_registry, a_uid_has_one_number_as_long_as_it_is_known) {
    pod_registry pods;
    EXPECT_FALSE(pods.find("a").valid());
    const pod_id a = pods.add("a");
    const pod_id b = pods.add("b");
    EXPECT_NE(a, b);
    EXPECT_EQ(pods.add("a"), a);
    EXPECT_EQ(pods.find("a"), a);
    EXPECT_EQ(pods.uid_of(b), "b");
    EXPECT_EQ(pods.size(), 2U);
    EXPECT_TRUE(pods.remove("a"));
    EXPECT_FALSE(pods.remove("a"));
    EXPECT_FALSE(pods.find("a").valid());
    EXPECT_EQ(pods.size(), 1U);
}

TEST(pod_registry, numbers_are_used_again_with_another_generation) {
    pod_registry pods;
    const pod_id first = pods.add("a");
    EXPECT_EQ(first, pod_id{0});
    EXPECT_TRUE(pods.remove("a"));
    const pod_id again = pods.add("a");
    EXPECT_EQ(again.value(), first.value());
    EXPECT_EQ(again.generation(), first.generation() + 1);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(pods.remove("a"));
        EXPECT_EQ(pods.add("a").value(), 0U);
    }
    EXPECT_EQ(pods.add("b"), pod_id{1});
}

TEST(pod_registry, who_still_has_an_old_number_is_refused_by_the_ledger) {
    pod_registry pods;
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {})};
    ledger book{std::move(owned)};
    const auto reserve = [&](pod_id pod) {
        return book.reserve({.owner = pod, .cpu = {}, .memory = {}, .where = {.node = node_index{0}, .shares = {}}});
    };
    const pod_id late = pods.add("a");
    ASSERT_TRUE(reserve(late));
    ASSERT_TRUE(book.rollback(late));
    EXPECT_TRUE(pods.remove("a"));
    const pod_id current = pods.add("b");
    ASSERT_TRUE(reserve(current));
    EXPECT_FALSE(book.is_live(late));
    EXPECT_EQ(book.find_booking(late), nullptr);
    EXPECT_EQ(book.commit(late).error().code, rejection_code::pod_not_known);
    EXPECT_EQ(reserve(late).error().code, rejection_code::pod_is_live) << "its number is taken";
    ASSERT_TRUE(book.commit(current));
    ASSERT_TRUE(book.release(current));
    EXPECT_EQ(reserve(late).error().code, rejection_code::pod_not_known);
    EXPECT_TRUE(reserve(current)) << "the same pod may be booked again";
}

} // namespace
} // namespace vgpualloc
