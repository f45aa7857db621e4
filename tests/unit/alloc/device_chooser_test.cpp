// Which devices of a node a pod of several containers gets, step by step.
#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;

struct choice {
    const char* why;
    const char* policy;
    std::vector<device_request> containers;
    std::vector<std::pair<std::uint32_t, std::size_t>> expected; ///< container, device
};

/// Four equal devices with 0, 5000, 2000 and 0 MiB taken.
TEST(device_chooser, takes_the_best_device_of_each_step) {
    device_request half = want(1, 0);
    half.memory_percent = 50;
    const std::vector<choice> choices{
        {"fullest that fits", "binpack", {want(1, 4000)}, {{0, 1}}},
        {"a container's devices differ", "binpack", {want(3, 1000)}, {{0, 1}, {0, 2}, {0, 0}}},
        {"containers may meet on a device", "binpack", {want(1, 1000), want(1, 1000)}, {{0, 1}, {1, 1}}},
        {"the second step sees the first", "spread", {want(1, 6000), want(1, 1000)}, {{0, 0}, {1, 3}}},
        {"equal devices: the lowest index first", "worst_fit", {want(2, 1000)}, {{0, 0}, {0, 3}}},
        {"by percent", "best_fit", {half}, {{0, 1}}},
        {"the first container may take what the second wanted",
         "binpack",
         {want(1, 5000), want(1, 5000)},
         {{0, 1}, {1, 2}}},
    };
    for (const choice& example : choices) {
        cluster owned;
        const node_index where = add_node(owned, many(4));
        placer here{owned, example.policy};
        ASSERT_TRUE(
            here.book.reserve(book_on(0, where, {share_of_device(1, part(5000)), share_of_device(2, part(2000))})));
        const auto decided = here.decide(pod(example.containers));
        ASSERT_TRUE(decided.has_value()) << example.why;
        std::vector<std::pair<std::uint32_t, std::size_t>> shares;
        for (const device_share& share : decided->shares) shares.emplace_back(share.container, share.device.at());
        EXPECT_EQ(shares, example.expected) << example.why;
    }
}

/// Where several steps follow each other and two unlike devices score alike, the smaller kind and state is taken, so
/// that the outcome does not depend on which of them has the lower index.
TEST(device_chooser, several_steps_do_not_depend_on_the_indices_of_unlike_devices) {
    for (const bool swapped : {false, true}) {
        cluster owned;
        owned.kind_of(gpu("A"));
        owned.kind_of(gpu("B"));
        add_node(owned, swapped ? std::vector{gpu("B"), gpu("A")} : std::vector{gpu("A"), gpu("B")});
        placer here{owned, "spread"};
        const auto decided = here.decide(pod({want(1, 1000), want(1, 1000)}));
        EXPECT_EQ(decided->shares[0].device.at(), swapped ? 1U : 0U) << "kind A";
        const auto one = here.decide(pod({want(1, 1000)}));
        EXPECT_EQ(one->shares[0].device.at(), 0U) << "a single step takes the lowest index";
    }
}

TEST(device_chooser, slices_and_whole_devices_serve_one_request_side_by_side) {
    cluster owned;
    add_node(owned, {gpu("A", 1, "exclusive"), gpu("A")});
    placer here{owned, "spread"};
    const auto decided = here.decide(pod({want(2, 1000)}));
    ASSERT_TRUE(decided.has_value());
    for (const device_share& share : decided->shares) {
        EXPECT_EQ(std::holds_alternative<whole_device>(share.part), share.device.at() == 0);
    }
}

} // namespace
} // namespace vgpualloc
