// Room by moves, told from small clusters whose plans can be seen at a glance.
#include "vgpualloc/plan/defragment.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "unit/support.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/plan/move_plan.hpp"

namespace vgpualloc::plan {
namespace {

using test::add_node;
using test::gpu;
using test::want;

/// A ledger whose pods all may move, but for those that are told to stay.
struct moving_cluster {
    explicit moving_cluster(cluster owned) : book{std::move(owned)} {}

    /// A pod with slices of so many MiB of these devices of a node.
    pod_id run(const pod_request& request, std::size_t node, const std::vector<std::size_t>& devices) {
        const pod_id pod{requests.size()};
        booking entry{.owner = pod,
                      .cpu = request.cpu,
                      .memory = request.memory,
                      .where = {.node = node_index{node}, .shares = {}}};
        for (const std::size_t device : devices) {
            entry.where.shares.push_back(
                test::share_of_device(device, slice{.memory = request.containers[0].memory, .cores = {}}));
        }
        EXPECT_TRUE(book.reserve(entry) && book.commit(pod));
        requests.push_back(std::make_unique<pod_request>(request));
        movable.push_back({.pod = pod, .request = requests.back().get()});
        return pod;
    }
    [[nodiscard]] auto room_for(const pod_request& blocked, const move_budget& budget = {}) const {
        return find_room(book, blocked, movable, budget);
    }
    void expect_carried_out(const move_plan& planned, const pod_request& blocked) {
        const booking waiting{.owner = pod_id{900}, .cpu = blocked.cpu, .memory = blocked.memory};
        EXPECT_TRUE(try_moves(book, planned, &waiting, pod_id{901}).has_value());
    }

    ledger book;
    std::vector<std::unique_ptr<pod_request>> requests;
    std::vector<movable_pod> movable;
};

/// A request that goes to nodes of these zones only.
pod_request in_zones(pod_request request, std::vector<std::string> zones) {
    request.rules.has_affinity = true;
    request.rules.affinity = {{.labels = {{.key = "zone", .op = label_operator::in, .values = std::move(zones)}}}};
    return request;
}

cluster zones(const std::vector<std::vector<device_spec>>& devices_by_zone) {
    cluster result;
    for (const auto& devices : devices_by_zone) {
        const node_index where = add_node(result, devices);
        result.nodes[where.at()].host.labels = {{"zone", std::to_string(where.at())}};
    }
    return result;
}

TEST(find_room, nothing_moves_for_a_request_that_fits) {
    moving_cluster on{zones({{gpu()}})};
    const auto room = on.room_for(test::pod({want(1, 10000)}));
    ASSERT_TRUE(room.has_value());
    EXPECT_TRUE(room->planned.moves.empty() && room->fewest_moves);
    EXPECT_EQ(room->planned.where.node, node_index{0});
    EXPECT_EQ(room->cost, plan_cost{});
}

TEST(find_room, one_of_two_half_used_devices_is_emptied_and_the_cheaper_pod_moves) {
    moving_cluster on{zones({{gpu()}, {gpu()}})};
    on.run(test::pod({want(1, 5000)}), 0, {0});
    const pod_id small = on.run(test::pod({want(1, 4000)}), 1, {0});
    const pod_request blocked = test::pod({want(1, 10000)});
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value());
    ASSERT_EQ(room->planned.moves.size(), 1U);
    EXPECT_EQ(room->planned.moves[0].pod, small);
    EXPECT_EQ(room->planned.moves[0].to.node, node_index{0});
    EXPECT_EQ(room->planned.where.node, node_index{1});
    EXPECT_TRUE(room->fewest_moves);
    const move_costs costs;
    EXPECT_EQ(room->cost.copy, costs.copy_per_mib * 4000);
    EXPECT_EQ(room->cost.downtime, costs.downtime_per_move + room->cost.copy);
    on.expect_carried_out(room->planned, blocked);
}

TEST(find_room, a_pod_makes_room_for_one_that_makes_room) {
    moving_cluster on{zones({{gpu()}, {gpu()}, {gpu()}})};
    const pod_request first = in_zones(test::pod({want(1, 6000)}), {"0", "1"});
    const pod_id in_the_way = on.run(first, 0, {0});
    const pod_id beyond = on.run(in_zones(test::pod({want(1, 7000)}), {"1", "2"}), 1, {0});
    const pod_request blocked = in_zones(test::pod({want(1, 8000)}), {"0"});
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value());
    ASSERT_EQ(room->planned.moves.size(), 2U);
    EXPECT_EQ(room->planned.moves[0].pod, beyond) << "it has to go before its place is taken";
    EXPECT_EQ(room->planned.moves[1].pod, in_the_way);
    on.expect_carried_out(room->planned, blocked);
    const auto one_move = on.room_for(blocked, {.moves_max = 1});
    ASSERT_FALSE(one_move.has_value());
    EXPECT_EQ(one_move.error().reason, no_room_reason::none_within_moves);
    EXPECT_EQ(one_move.error().moves_ruled_out, 1);
}

/// The first pod fits only where the second one is, which in the end fits only where the first one was; and what is
/// spare until then is the blocked pod's.
TEST(find_room, a_cycle_is_broken_through_a_spare_place) {
    device_spec half = gpu();
    half.memory = mib{5000};
    moving_cluster on{zones({{gpu(), half}, {gpu()}})};
    const pod_id large = on.run(test::pod({want(1, 6000)}), 0, {0});
    const pod_id small = on.run(test::pod({want(1, 5000)}), 1, {0});
    const pod_request blocked = in_zones(test::pod({want(2, 5000)}), {"0"});
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value());
    ASSERT_EQ(room->planned.moves.size(), 3U);
    EXPECT_EQ(room->planned.moves[0].pod, small);
    EXPECT_EQ(room->planned.moves[1].pod, large);
    EXPECT_EQ(room->planned.moves[2].pod, small);
    EXPECT_EQ(room->planned.moves[2].from, room->planned.moves[0].to);
    on.expect_carried_out(room->planned, blocked);
    EXPECT_FALSE(on.room_for(blocked, {.moves_max = 2}).has_value());
}

TEST(find_room, a_pod_without_devices_moves_for_its_cpu) {
    cluster owned = zones({{gpu()}, {}});
    owned.nodes[0].cpu = milli_cpu{4000};
    moving_cluster on{std::move(owned)};
    const pod_id web = on.run(test::pod({}, 3000), 0, {});
    const pod_request blocked = test::pod({want(1, 1000)}, 2000);
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value());
    ASSERT_EQ(room->planned.moves.size(), 1U);
    EXPECT_EQ(room->planned.moves[0].pod, web);
    EXPECT_EQ(room->planned.moves[0].to.node, node_index{1});
    EXPECT_EQ(room->cost.downtime, ticks{0}) << "no device waits for it";
    on.expect_carried_out(room->planned, blocked);
}

/// It keeps its old place while it is copied, so what it would free by going does not serve itself.
TEST(find_room, both_places_are_held_while_a_pod_is_copied) {
    cluster owned = zones({{gpu(), gpu()}});
    owned.nodes[0].cpu = milli_cpu{5000};
    moving_cluster on{std::move(owned)};
    on.run(test::pod({want(1, 5000)}, 2000), 0, {0});
    on.run(test::pod({want(1, 5000)}, 2000), 0, {1});
    EXPECT_FALSE(on.room_for(test::pod({want(1, 10000)}, 1000)).has_value()) << "1 CPU is free, a copy needs 2";
    EXPECT_TRUE(on.room_for(test::pod({want(1, 5000)}, 1000)).has_value());
}

TEST(find_room, pods_stay_that_may_not_move_or_are_not_committed_and_devices_that_are_not_in_service_are_left_out) {
    moving_cluster on{zones({{gpu()}, {gpu()}, {gpu()}})};
    on.run(test::pod({want(1, 5000)}), 0, {0});
    on.run(test::pod({want(1, 5000)}), 1, {0});
    const pod_request blocked = test::pod({want(1, 10000)});
    ASSERT_TRUE(on.book.set_service(node_index{2}, device_index{0}, service_state::draining));
    const auto all = std::exchange(on.movable, {});
    EXPECT_FALSE(on.room_for(blocked).has_value());
    on.movable = {all[1]};
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value());
    EXPECT_EQ(room->planned.moves[0].pod, all[1].pod);
    EXPECT_EQ(room->planned.moves[0].to.node, node_index{0});
}

TEST(find_room, limits_are_told_apart) {
    moving_cluster on{zones({{gpu()}, {gpu()}})};
    on.run(test::pod({want(1, 5000)}), 0, {0});
    on.run(test::pod({want(1, 5000)}), 1, {0});
    const pod_request blocked = test::pod({want(1, 10000)});
    EXPECT_EQ(on.room_for(blocked, {.moves_max = 0}).error().reason, no_room_reason::none_within_moves);
    EXPECT_EQ(on.room_for(blocked, {.downtime_max = ticks{1}}).error().reason, no_room_reason::over_downtime);
    const auto stopped = on.room_for(blocked, {.steps_max = 2});
    EXPECT_EQ(stopped.error().reason, no_room_reason::step_limit);
    const auto beyond = on.room_for(test::pod({want(3, 10000)}), {.moves_max = 9});
    EXPECT_EQ(beyond.error().reason, no_room_reason::not_found);
    EXPECT_EQ(beyond.error().moves_ruled_out, exact_moves_max);
    EXPECT_EQ(to_string(no_room_reason::over_downtime), "over_downtime");
}

/// Where a device of the cluster is shared, a pod of so many GPUs is read as so many containers of one unit.
pod_request of_units(std::size_t count, std::int64_t memory) { return test::pod(std::vector(count, want(1, memory))); }

TEST(find_room, equal_containers_are_tried_in_one_order) {
    moving_cluster on{zones({test::many(8), test::many(8), test::many(8)})};
    on.run(test::pod({want(6, 10000)}), 0, {0, 1, 2, 3, 4, 5});
    const pod_id small = on.run(test::pod({want(3, 10000)}), 1, {0, 1, 2});
    on.run(test::pod({want(5, 10000)}), 2, {0, 1, 2, 3, 4});
    const pod_request blocked = of_units(8, 10000);
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value()) << room.error().steps;
    ASSERT_EQ(room->planned.moves.size(), 1U);
    EXPECT_EQ(room->planned.moves[0].pod, small);
    EXPECT_TRUE(room->fewest_moves);
    EXPECT_LT(room->steps, 5000);
    on.expect_carried_out(room->planned, blocked);
}

/// Half of each device is used by pods of its own, and one more quarter is wanted than is free.
TEST(find_room, one_move_is_found_among_many_units_that_are_alike) {
    moving_cluster on{zones({test::many(8), test::many(1)})};
    for (std::size_t device = 0; device < 8; ++device) {
        for (int i = 0; i < 2; ++i) on.run(test::pod({want(1, 2500)}, 0), 0, {device});
    }
    on.run(in_zones(test::pod({want(1, 7500)}, 0), {"1"}), 1, {0});
    const pod_request blocked = in_zones(of_units(17, 2500), {"0"});
    const auto room = on.room_for(blocked);
    ASSERT_TRUE(room.has_value()) << room.error().steps;
    EXPECT_EQ(room->planned.moves.size(), 1U);
    EXPECT_LT(room->steps, 100'000);
    on.expect_carried_out(room->planned, blocked);
    const auto none = on.room_for(in_zones(of_units(18, 2500), {"0"}), {.moves_max = 1});
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().reason, no_room_reason::none_within_moves);
}

TEST(find_room, nodes_that_the_pod_cannot_use_cost_no_steps) {
    const auto steps_with = [](std::size_t others) {
        std::vector<std::vector<device_spec>> devices{test::many(1), test::many(1)};
        for (std::size_t i = 0; i < others; ++i) devices.push_back(test::many(8));
        moving_cluster on{zones(devices)};
        on.run(in_zones(test::pod({want(1, 5000)}), {"0", "1"}), 0, {0});
        on.run(in_zones(test::pod({want(1, 5000)}), {"0", "1"}), 1, {0});
        return on.room_for(in_zones(of_units(2, 5000), {"0", "1"}))->steps;
    };
    EXPECT_EQ(steps_with(0), steps_with(20));
}

TEST(find_room, many_pods_leave_at_once_for_places_that_are_free) {
    moving_cluster on{zones({test::many(4), test::many(4), test::many(4)})};
    for (std::size_t node = 0; node < 3; ++node) {
        for (std::size_t device = 0; device < 4; ++device) {
            const std::size_t pods = node == 0 ? 2 : 1;
            for (std::size_t i = 0; i < pods; ++i) on.run(test::pod({want(1, 3000)}), node, {device});
        }
    }
    const pod_request blocked = test::pod({want(4, 10000)});
    EXPECT_FALSE(on.room_for(blocked).has_value()) << "no node has only 3 pods on its devices";
    const auto room = on.room_for(blocked, {.moves_max = 8});
    ASSERT_TRUE(room.has_value());
    EXPECT_EQ(room->planned.moves.size(), 4U);
    EXPECT_TRUE(room->fewest_moves) << "fewer than 4 were searched for exhaustively";
    on.expect_carried_out(room->planned, blocked);
}

TEST(find_room, mig_instances_leave_a_gpu_for_a_large_one) {
    const device_spec a100 = gpu("A", 7, "mig");
    cluster owned;
    add_node(owned, test::many(2, a100.mode->adapted(a100)));
    moving_cluster on{std::move(owned)};
    pod_request small = test::pod({want(1, 0)});
    small.containers[0].profile = "1g.5gb";
    pod_request whole = small;
    whole.containers[0].profile = "7g.40gb";
    for (std::uint32_t device = 0; device < 2; ++device) {
        for (std::uint32_t start = 0; start < 2; ++start) {
            const pod_id pod{on.requests.size()};
            booking entry{
                .owner = pod, .cpu = small.cpu, .memory = small.memory, .where = {.node = node_index{0}, .shares = {}}};
            entry.where.shares.push_back(test::share_of_device(device, mig_instance{.profile = 0, .start = start}));
            ASSERT_TRUE(on.book.reserve(entry) && on.book.commit(pod));
            on.requests.push_back(std::make_unique<pod_request>(small));
            on.movable.push_back({.pod = pod, .request = on.requests.back().get()});
        }
    }
    const auto room = on.room_for(whole);
    ASSERT_TRUE(room.has_value());
    EXPECT_EQ(room->planned.moves.size(), 2U);
    on.expect_carried_out(room->planned, whole);
}

TEST(consolidate, pods_share_devices_so_that_others_are_empty) {
    moving_cluster on{zones({test::many(2), test::many(2)})};
    for (std::size_t node = 0; node < 2; ++node) {
        for (std::size_t device = 0; device < 2; ++device) on.run(test::pod({want(1, 4000)}), node, {device});
    }
    const auto devices = consolidate(on.book, on.movable, emptied_unit::device);
    EXPECT_EQ(devices.emptied, 2);
    EXPECT_EQ(devices.planned.moves.size(), 2U);
    EXPECT_TRUE(try_moves(on.book, devices.planned, nullptr, pod_id{901}).has_value());
    const auto nodes = consolidate(on.book, on.movable, emptied_unit::node);
    EXPECT_EQ(nodes.emptied, 1);
    EXPECT_EQ(nodes.planned.moves.size(), 2U);
    EXPECT_TRUE(try_moves(on.book, nodes.planned, nullptr, pod_id{901}).has_value());
    EXPECT_EQ(consolidate(on.book, on.movable, emptied_unit::device, {.moves_max = 1}).emptied, 1);
    EXPECT_EQ(consolidate(on.book, on.movable, emptied_unit::node, {.moves_max = 1}).emptied, 0);
    EXPECT_EQ(consolidate(on.book, {}, emptied_unit::device).emptied, 0);
    EXPECT_TRUE(consolidate(on.book, on.movable, emptied_unit::device, {.steps_max = 0}).step_limit);
}

TEST(consolidate, a_node_is_emptied_onto_idle_devices_of_nodes_in_use) {
    moving_cluster on{zones({test::many(8), test::many(8), test::many(8)})};
    on.run(test::pod({want(4, 0, 100)}), 0, {0, 1, 2, 3});
    on.run(test::pod({want(4, 0, 100)}), 1, {0, 1, 2, 3});
    const auto nodes = consolidate(on.book, on.movable, emptied_unit::node);
    EXPECT_EQ(nodes.emptied, 1);
    EXPECT_EQ(nodes.used, 2);
    EXPECT_EQ(nodes.used_min, 1);
    ASSERT_EQ(nodes.planned.moves.size(), 1U);
    EXPECT_NE(nodes.planned.moves[0].to.node, node_index{2U}) << "an idle node for a node in use gains nothing";
    EXPECT_TRUE(try_moves(on.book, nodes.planned, nullptr, pod_id{901}).has_value());
    EXPECT_EQ(consolidate(on.book, on.movable, emptied_unit::device).emptied, 0)
        << "an idle device gains nothing either";
}

TEST(consolidate, a_pod_that_is_moved_twice_goes_straight_to_its_last_place) {
    // Three nodes of two devices, each with one pod of 5000: two go where the third one is, whichever that is.
    moving_cluster on{zones({test::many(2), test::many(2), test::many(2)})};
    for (std::size_t node = 0; node < 3; ++node) on.run(test::pod({want(1, 5000)}), node, {0});
    const auto nodes = consolidate(on.book, on.movable, emptied_unit::node, {.moves_max = 10});
    EXPECT_EQ(nodes.emptied, 2);
    EXPECT_EQ(nodes.planned.moves.size(), 2U);
    EXPECT_TRUE(try_moves(on.book, nodes.planned, nullptr, pod_id{901}).has_value());
}

/// The fewest nodes of `devices` devices that hold so many MiB each, over all packings.
class every_packing {
public:
    every_packing(std::vector<std::int64_t> sizes, std::size_t devices) : sizes_{std::move(sizes)}, devices_{devices} {
        std::ranges::sort(sizes_, std::greater{});
    }
    [[nodiscard]] std::int64_t fewest() {
        for (std::size_t nodes = 0;; ++nodes) {
            used_.assign(nodes * devices_, 0);
            if (place(0)) return static_cast<std::int64_t>(nodes);
        }
    }

private:
    bool place(std::size_t pod) {
        if (pod == sizes_.size()) return true;
        for (std::size_t d = 0; d < used_.size(); ++d) {
            if (used_[d] + sizes_[pod] > 10000 || (d > 0 && used_[d] == used_[d - 1])) continue;
            used_[d] += sizes_[pod];
            const bool fits = place(pod + 1);
            used_[d] -= sizes_[pod];
            if (fits) return true;
        }
        return false;
    }

    std::vector<std::int64_t> sizes_;
    std::size_t devices_;
    std::vector<std::int64_t> used_;
};

TEST(consolidate, leaves_at_most_one_node_more_than_the_best_packing) {
    rng stream{20261126};
    for (int round = 0; round < 100; ++round) {
        const std::size_t devices = 1 + stream.below(3);
        const std::size_t count = 3 + stream.below(3);
        moving_cluster on{zones(std::vector(count, test::many(devices)))};
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> used(count * devices, 0);
        const std::uint64_t pods = 2 + stream.below(8);
        for (std::uint64_t i = 0; i < pods; ++i) {
            const auto size = static_cast<std::int64_t>(1 + stream.below(10)) * 1000;
            const std::size_t place = stream.below(count * devices);
            if (used[place] + size > 10000) continue;
            used[place] += size;
            sizes.push_back(size);
            on.run(test::pod({want(1, size)}, 0), place / devices, {place % devices});
        }
        const auto nodes = consolidate(on.book, on.movable, emptied_unit::node, {.moves_max = 100});
        EXPECT_TRUE(try_moves(on.book, nodes.planned, nullptr, pod_id{901}).has_value()) << round;
        const std::int64_t fewest = every_packing{sizes, devices}.fewest();
        EXPECT_LE(nodes.used - nodes.emptied, fewest + 1) << round;
        EXPECT_LE(nodes.used_min, fewest) << round;
    }
}

TEST(consolidate, is_no_worse_than_first_fit_decreasing_on_a_large_cluster) {
    rng stream{7};
    constexpr std::size_t count = 60;
    constexpr std::size_t devices = 4;
    moving_cluster on{zones(std::vector(count, test::many(devices)))};
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> used(count * devices, 0);
    for (int i = 0; i < 300; ++i) {
        const std::int64_t size = std::array<std::int64_t, 4>{1000, 2000, 2500, 4000}[stream.below(4)];
        const std::size_t place = stream.below(count * devices);
        if (used[place] + size > 10000) continue;
        used[place] += size;
        sizes.push_back(size);
        on.run(test::pod({want(1, size)}, 0), place / devices, {place % devices});
    }
    std::ranges::sort(sizes, std::greater{});
    std::vector<std::int64_t> packed(count * devices, 0);
    for (const std::int64_t size : sizes) {
        *std::ranges::find_if(packed, [size](std::int64_t device) { return device + size <= 10000; }) += size;
    }
    std::int64_t first_fit = 0;
    for (std::size_t n = 0; n < count; ++n) first_fit += packed[n * devices] > 0 ? 1 : 0;
    const auto nodes =
        consolidate(on.book, on.movable, emptied_unit::node, {.moves_max = 1000, .steps_max = 20'000'000});
    EXPECT_LE(nodes.used - nodes.emptied, first_fit);
    EXPECT_TRUE(try_moves(on.book, nodes.planned, nullptr, pod_id{901}).has_value());
}

/// Slices of memory and compute at random, as pods came and went.
struct scattered_slices {
    moving_cluster on;
    std::vector<slice> slices;

    scattered_slices(rng& stream, std::size_t nodes, std::size_t devices, std::uint64_t pods)
        : on{zones(std::vector(nodes, test::many(devices)))} {
        std::vector<slice> used(nodes * devices);
        for (std::uint64_t i = 0; i < pods; ++i) {
            const slice part{.memory = mib{static_cast<std::int64_t>(500 + stream.below(7000))},
                             .cores = core_percent{static_cast<std::int64_t>(5 + stream.below(65))}};
            const std::size_t place = stream.below(used.size());
            if (!joins(part, used[place])) continue;
            slices.push_back(part);
            const pod_id pod{on.requests.size()};
            auto request = test::pod({want(1, part.memory.count(), part.cores.count())}, 0);
            booking entry{
                .owner = pod, .cpu = {}, .memory = {}, .where = {.node = node_index{place / devices}, .shares = {}}};
            entry.where.shares.push_back(test::share_of_device(place % devices, part));
            EXPECT_TRUE(on.book.reserve(entry) && on.book.commit(pod));
            on.requests.push_back(std::make_unique<pod_request>(std::move(request)));
            on.movable.push_back({.pod = pod, .request = on.requests.back().get()});
        }
    }

    /// Adds the part if it fits.
    static bool joins(const slice& part, slice& used) {
        const slice sum{.memory = used.memory + part.memory, .cores = used.cores + part.cores};
        if (sum.memory > mib{10000} || sum.cores > whole_compute) return false;
        used = sum;
        return true;
    }

    /// Nodes that first fit decreasing fills, by the larger share.
    [[nodiscard]] std::int64_t first_fit_decreasing(std::size_t devices) const {
        std::vector<slice> parts = slices;
        const auto share = [](const slice& part) { return std::max(part.memory.count(), part.cores.count() * 100); };
        std::ranges::stable_sort(parts, std::greater{}, share);
        std::vector<slice> used(parts.size() + devices);
        std::size_t end = 0;
        for (const slice& part : parts) {
            std::size_t device = 0;
            while (!joins(part, used[device])) ++device;
            end = std::max(end, device + 1);
        }
        return static_cast<std::int64_t>((end + devices - 1) / devices);
    }
};

TEST(consolidate, is_no_worse_than_first_fit_decreasing_of_memory_and_compute) {
    rng stream{11};
    for (int round = 0; round < 12; ++round) {
        const std::size_t nodes = 15 + stream.below(10);
        constexpr std::size_t devices = 4;
        scattered_slices in{stream, nodes, devices, nodes * devices * (1 + stream.below(6))};
        const auto emptied =
            consolidate(in.on.book, in.on.movable, emptied_unit::node, {.moves_max = 10'000, .steps_max = 100'000'000});
        EXPECT_LE(emptied.used - emptied.emptied, in.first_fit_decreasing(devices)) << round;
        EXPECT_TRUE(try_moves(in.on.book, emptied.planned, nullptr, pod_id{50'000}).has_value()) << round;
    }
}

TEST(try_moves, a_plan_that_does_not_fit_is_refused_with_the_ledgers_reason_and_leaves_nothing_behind) {
    moving_cluster on{zones({{gpu()}, {gpu()}})};
    const pod_id moving = on.run(test::pod({want(1, 6000)}), 0, {0});
    on.run(test::pod({want(1, 6000)}), 1, {0});
    const placement from = on.book.booking_of(moving).where;
    placement to = from;
    to.node = node_index{1};
    const auto full =
        try_moves(on.book, {.moves = {{.pod = moving, .from = from, .to = to}}, .where = {}}, nullptr, pod_id{901});
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().code, rejection_code::insufficient_device_memory);
    EXPECT_EQ(on.book.booking_of(moving).where, from);
    const auto elsewhere =
        try_moves(on.book, {.moves = {{.pod = moving, .from = to, .to = from}}, .where = {}}, nullptr, pod_id{901});
    EXPECT_EQ(elsewhere.error().code, rejection_code::pod_not_known) << "it is not where the plan says";
    EXPECT_EQ(on.book.live_count(), 2U);
}

TEST(cost_of_move, every_device_counts_and_all_memory_is_copied) {
    moving_cluster on{zones({{gpu(), gpu()}})};
    const pod_id pod = on.run(test::pod({want(2, 2000)}), 0, {0, 1});
    const move_costs costs{.downtime_per_move = ticks{100}, .copy_per_mib = ticks{3}};
    const plan_cost cost = cost_of_move(on.book.nodes(), on.book.booking_of(pod).where, costs);
    EXPECT_EQ(cost.copy, ticks{12'000});
    EXPECT_EQ(cost.downtime, ticks{2 * 12'100});
}

} // namespace
} // namespace vgpualloc::plan
