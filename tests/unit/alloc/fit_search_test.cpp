// Pods of several containers that the greedy choice has no room for (SEED-REQUIREMENTS (e), upstream's quirk Q31).
#include "model/nodes.hpp"
#include "requirements.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "alloc/fit_search.hpp"
#include "alloc/reference.hpp"
#include "vgpualloc/mode/mig_groups.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

/// One node whose devices are all of one kind.
class one_node {
public:
    one_node(device_spec spec, std::size_t devices, const char* policy_name = "binpack") : spec_{std::move(spec)} {
        cluster owned;
        owned.kinds = {spec_};
        node& only = owned.nodes.emplace_back();
        only.name = "n";
        only.cpu = milli_cpu{64000};
        only.memory = bytes{std::int64_t{1} << 40U};
        only.pods_max = 1000;
        for (std::size_t i = 0; i < devices; ++i) only.devices.push_back({.uuid = "u" + std::to_string(i), .kind = 0});
        book_.emplace(std::move(owned));
        scorer_ = make(policy_name);
        decider_.emplace(*book_, policy_pair{scorer_.get(), scorer_.get()});
    }

    void run(std::size_t device, std::int64_t memory, std::int64_t cores = 0) {
        placement where{.node = node_index{0}, .shares = {}};
        where.shares.push_back({.container = 0,
                                .device = device_index{device},
                                .part = slice{.memory = mib{memory}, .cores = core_percent{cores}}});
        ASSERT_TRUE(book_->reserve({.owner = pod_id{pods_}, .cpu = {}, .memory = {}, .where = where, .tags = {}}));
        ASSERT_TRUE(book_->commit(pod_id{pods_++}));
    }
    /// The devices by container and the place of each instance, or nothing; the same from both decision paths.
    [[nodiscard]] std::optional<std::vector<device_share>> place(const pod_request& request) {
        const auto decided = decider_->decide(decider_->intern(request).value());
        const auto by_reference = reference_allocator{*book_, {scorer_.get(), scorer_.get()}}.decide(request);
        EXPECT_EQ(decided.has_value(), by_reference.has_value());
        if (!decided || !by_reference) return std::nullopt;
        EXPECT_EQ(*decided, *by_reference);
        return std::vector<device_share>(decided->shares.begin(), decided->shares.end());
    }
    [[nodiscard]] std::vector<std::size_t> devices(const pod_request& request) {
        std::vector<std::size_t> indices;
        for (const device_share& share : place(request).value_or(std::vector<device_share>{})) {
            indices.push_back(share.device.at());
        }
        return indices;
    }

private:
    device_spec spec_;
    std::optional<ledger> book_;
    std::unique_ptr<policy> scorer_;
    std::optional<allocator> decider_;
    std::uint32_t pods_ = 0;
};

device_spec shared_gpu(std::int64_t memory = 40960) {
    return {.model = "A100", .memory = mib{memory}, .slots = 10, .mode = &mode("hami_core")};
}

const modes::mig_groups& grouped() {
    static const modes::mig_groups groups{
        {{.name = "group1", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
         {.name = "group2",
          .kinds = {{.name = "2g.10gb", .memory = mib{10240}, .count = 3},
                    {.name = "1g.5gb", .memory = mib{5120}, .count = 1}}},
         {.name = "group3", .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 2}}}}};
    return groups;
}
device_spec grouped_gpu() { return {.model = "A100", .memory = mib{40960}, .slots = 10, .mode = &grouped()}; }

TEST(looking_ahead, the_order_of_containers_does_not_decide_whether_instances_of_one_group_are_found) {
    covers({"R065", "R066"});
    for (const bool small_first : {true, false}) {
        one_node node{grouped_gpu(), 1};
        const auto shares =
            node.place(small_first ? pod({want(1, 3000), want(1, 20000)}) : pod({want(1, 20000), want(1, 3000)}));
        ASSERT_TRUE(shares.has_value()) << small_first;
        for (const device_share& share : *shares) {
            EXPECT_EQ(std::get<mig_instance>(share.part).profile, 3U) << "3g.20gb, kind 3 of all groups";
        }
        EXPECT_NE((*shares)[0].part, (*shares)[1].part);
    }
    one_node node{grouped_gpu(), 1};
    EXPECT_FALSE(node.place(pod({want(1, 20000), want(1, 20000), want(1, 3000)})).has_value()) << "no group has that";
}

TEST(looking_ahead, whether_a_pod_fits_does_not_depend_on_the_policy) {
    covers({"R066"});
    for (const char* const name : {"binpack", "spread", "best_fit", "worst_fit", "random", "fgd"}) {
        one_node node{shared_gpu(), 2, name};
        node.run(1, 30000);
        EXPECT_EQ(node.devices(pod({want(1, 3000), want(1, 40000)})), (std::vector<std::size_t>{1, 0})) << name;
        EXPECT_EQ(node.devices(pod({want(1, 40000), want(1, 3000)})), (std::vector<std::size_t>{0, 1})) << name;
        EXPECT_EQ(node.devices(pod({want(1, 11000), want(1, 40000)})), std::vector<std::size_t>{}) << name;
    }
}

TEST(looking_ahead, what_the_greedy_choice_finds_is_not_changed) {
    one_node node{shared_gpu(), 3, "spread"};
    node.run(0, 20000);
    EXPECT_EQ(node.devices(pod({want(1, 1000), want(1, 1000), want(1, 1000)})), (std::vector<std::size_t>{1, 2, 1}));
}

TEST(looking_ahead, each_step_is_the_policys_best_that_leaves_room) {
    one_node node{shared_gpu(), 3, "spread"};
    node.run(0, 1000);
    node.run(1, 1000);
    node.run(1, 1000);
    // The empty device 2 is for the last container; of the others spread takes the less used first.
    EXPECT_EQ(node.devices(pod({want(1, 3000), want(1, 40960)})), (std::vector<std::size_t>{0, 2}));
}

TEST(looking_ahead, containers_that_must_be_apart_are_matched) {
    one_node node{shared_gpu(), 2, "binpack"};
    node.run(0, 30000);
    pod_request request = pod({want(1, 3000), want(1, 10000)});
    request.containers_apart = true;
    EXPECT_EQ(node.devices(request), (std::vector<std::size_t>{0, 1}));
    request.containers = {want(1, 3000), want(1, 9000), want(1, 1000)};
    EXPECT_EQ(node.devices(request), std::vector<std::size_t>{}) << "two devices for three containers";
    request.containers = {want(1, 10000, 0), want(2, 1000)};
    EXPECT_EQ(node.devices(request), std::vector<std::size_t>{});
}

TEST(looking_ahead, devices_that_only_one_container_may_have_are_left_to_it) {
    one_node node{shared_gpu(), 2, "binpack"};
    pod_request request = pod({want(1, 30000), want(1, 30000)});
    request.containers[1].uuids_allowed = {"u0"};
    EXPECT_EQ(node.devices(request), (std::vector<std::size_t>{1, 0}));
}

/// The search gives up after fit_search::steps_max questions instead of going on for hours.
TEST(looking_ahead, is_bounded) {
    const device_spec spec = shared_gpu(1 << 20);
    std::vector<fit_search::candidate> devices;
    std::vector<device_request> containers;
    for (std::int64_t i = 0; i < 24; ++i) containers.push_back(want(1, 40000 + i * 731));
    for (std::int64_t i = 0; i < 12; ++i) {
        devices.push_back({.spec = &spec,
                           .state = {.memory = mib{(1 << 20) - 90000 - i * 17}, .cores = {}, .slots = 1},
                           .admitted = std::vector<bool>(containers.size(), true)});
    }
    fit_search search{containers, false, devices};
    EXPECT_TRUE(search.each_fits_alone());
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(search.rest_fits(0)) << "1,141,000 MiB asked, 1,078,000 there";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{5});
}

} // namespace
} // namespace vgpualloc
