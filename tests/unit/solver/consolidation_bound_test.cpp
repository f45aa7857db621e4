// The fewest units that any moves could leave in use: the program's bound against every placement of the pods.
#include "vgpualloc/plan/consolidation_bound.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/support.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;
using namespace test;

/// Pods that run wherever the modes let them.
struct running_cluster {
    explicit running_cluster(cluster owned) : book{std::move(owned)} {}

    /// On the first devices of the node, from `device` on, that take the pod. Whether there are such devices.
    bool run(const pod_request& request, std::size_t node, std::size_t device, bool moves = true) {
        const node_index where{node};
        booking entry{.owner = pod_id{requests.size()},
                      .cpu = request.cpu,
                      .memory = request.memory,
                      .where = {.node = where, .shares = {}}};
        const std::size_t devices = book.devices(where).size();
        const device_request& container = request.containers[0];
        for (std::size_t i = 0; i < devices && std::ssize(entry.where.shares) < container.count; ++i) {
            const std::size_t place = (device + i) % devices;
            const device_spec& spec = book.nodes().spec_of(where, device_index{place});
            std::vector<partition> parts;
            if (why_never(spec, container) != rejection_code::none) continue;
            spec.mode->candidates(spec, book.devices(where)[place], container, parts);
            if (!parts.empty()) entry.where.shares.push_back(share_of_device(place, parts.front()));
        }
        if (std::ssize(entry.where.shares) < container.count) return false;
        if (why_not_host(request.rules, book.nodes().nodes[node].host, "") != rejection_code::none) return false;
        if (!book.reserve(entry) || !book.commit(entry.owner)) return false;
        requests.push_back(std::make_unique<pod_request>(request));
        if (moves) movable.push_back({.pod = entry.owner.pod(), .request = requests.back().get()});
        return true;
    }
    [[nodiscard]] std::int64_t least(emptied_unit unit) const {
        return least_units_by_lp(book, movable, unit, *solver::make_highs()).value().value();
    }

    ledger book;
    std::vector<std::unique_ptr<pod_request>> requests;
    std::vector<movable_pod> movable;
};

/// The fewest units in use over all placements of the pods that may move, each where it is or wherever the modes and
/// the hosts let it; asked with no code of plan/.
class every_arrangement {
public:
    every_arrangement(const running_cluster& of, emptied_unit unit) : of_{of}, unit_{unit} {
        const auto& nodes = of.book.nodes().nodes;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const auto states = of.book.devices(node_index{n});
            states_.emplace_back(states.begin(), states.end());
            users_.emplace_back(states.size(), 0);
            hosts_.push_back(of.book.host(node_index{n}));
        }
        for (const pod_id pod : of.book.live_pods()) change_users(of.book.booking_of(pod).where, 1);
        for (const movable_pod& pod : of.movable) take_up(of.book.booking_of(pod.pod).where, *pod.request);
    }

    [[nodiscard]] std::int64_t fewest() {
        best_ = 1000;
        place(0);
        return best_;
    }

private:
    void change_users(const placement& where, int by) {
        for (const device_share& share : where.shares) users_[where.node.at()][share.device.at()] += by;
    }
    void take_up(const placement& where, const pod_request& request) {
        change_users(where, -1);
        for (const device_share& share : where.shares) {
            device_state& state = states_[where.node.at()][share.device.at()];
            const device_spec& spec = of_.book.nodes().spec_of(where.node, share.device);
            state = spec.mode->without(spec, state, share.part);
        }
        host_use& host = hosts_[where.node.at()];
        host.cpu -= request.cpu;
        host.memory -= request.memory;
        --host.pods;
    }
    [[nodiscard]] std::int64_t used() const {
        std::int64_t result = 0;
        for (const auto& devices : users_) {
            const auto in_use = std::ranges::count_if(devices, [](int users) { return users > 0; });
            result += unit_ == emptied_unit::device ? in_use : std::min<std::int64_t>(in_use, 1);
        }
        return result;
    }

    void place(std::size_t pod) {
        if (used() >= best_) return;
        if (pod == of_.movable.size()) {
            best_ = used();
            return;
        }
        const pod_request& request = *of_.movable[pod].request;
        const placement& from = of_.book.booking_of(of_.movable[pod].pod).where;
        for (std::size_t n = 0; n < states_.size(); ++n) {
            const node& described = of_.book.nodes().nodes[n];
            host_use& host = hosts_[n];
            const bool fits = request.cpu <= described.cpu - host.cpu && host.pods < described.pods_max;
            const bool allowed = why_not_host(request.rules, described.host, "") == rejection_code::none;
            if (!fits || (!allowed && from.node != node_index{n})) continue;
            host.cpu += request.cpu;
            ++host.pods;
            if (allowed) take(pod, n, 0, request.containers[0].count);
            if (from.node == node_index{n}) stay(pod, from);
            host.cpu -= request.cpu;
            --host.pods;
        }
    }

    /// So many devices more of the node, from that one on.
    void take(std::size_t pod, std::size_t n, std::size_t first, std::int64_t parts) {
        if (parts == 0) {
            place(pod + 1);
            return;
        }
        const device_request& container = of_.movable[pod].request->containers[0];
        for (std::size_t d = first; d < states_[n].size(); ++d) {
            const device_spec& spec = of_.book.nodes().spec_of(node_index{n}, device_index{d});
            if (of_.book.services(node_index{n})[d] != service_state::in_service) continue;
            if (why_never(spec, container) != rejection_code::none) continue;
            std::vector<partition> offered;
            spec.mode->candidates(spec, states_[n][d], container, offered);
            if (!offered.empty()) spec.mode->further_candidates(spec, states_[n][d], container, offered);
            for (const partition& part : offered) {
                const device_state before = states_[n][d];
                states_[n][d] = spec.mode->with(spec, before, part);
                ++users_[n][d];
                take(pod, n, d + 1, parts - 1);
                --users_[n][d];
                states_[n][d] = before;
            }
        }
    }

    void stay(std::size_t pod, const placement& from) {
        std::vector<device_state>& states = states_[from.node.at()];
        const std::vector<device_state> before = states;
        bool fits = true;
        for (const device_share& share : from.shares) {
            const device_spec& spec = of_.book.nodes().spec_of(from.node, share.device);
            device_state& state = states[share.device.at()];
            fits = fits && spec.mode->why_not(spec, state, share.part).code == rejection_code::none;
            if (fits) state = spec.mode->with(spec, state, share.part);
        }
        if (fits) {
            change_users(from, 1);
            place(pod + 1);
            change_users(from, -1);
        }
        states = before;
    }

    const running_cluster& of_;
    emptied_unit unit_;
    std::vector<std::vector<device_state>> states_; ///< by node and device
    std::vector<std::vector<int>> users_;
    std::vector<host_use> hosts_;
    std::int64_t best_ = 0;
};

cluster nodes_of(std::size_t count, const std::vector<device_spec>& devices, milli_cpu cpu = milli_cpu{32000}) {
    cluster result;
    for (std::size_t n = 0; n < count; ++n) add_node(result, devices, cpu);
    return result;
}

std::int64_t by_amounts(const running_cluster& on, emptied_unit unit) {
    return consolidate(on.book, on.movable, unit, {.moves_max = 0}).used_min;
}

TEST(least_units, two_pods_of_more_than_half_a_gpu_do_not_share_one) {
    running_cluster on{nodes_of(10, {gpu()})};
    for (std::size_t n = 0; n < 10; ++n) ASSERT_TRUE(on.run(pod({want(1, 6000)}), n, 0));
    for (const emptied_unit unit : {emptied_unit::device, emptied_unit::node}) {
        EXPECT_EQ(by_amounts(on, unit), 6);
        EXPECT_EQ(on.least(unit), 10);
        const consolidation planned = consolidate(on.book, on.movable, unit, {}, {}, [&] { return on.least(unit); });
        EXPECT_EQ(planned.used_min, 10);
        EXPECT_EQ(planned.used_min_by, units_bound::lp);
        EXPECT_EQ(planned.emptied, 0);
    }
    running_cluster of_many_sizes{nodes_of(10, {gpu()})};
    for (std::size_t n = 0; n < 10; ++n) {
        const std::int64_t size = 5001 + static_cast<std::int64_t>(n) * 100;
        ASSERT_TRUE(of_many_sizes.run(pod({want(1, size)}), n, 0));
    }
    EXPECT_EQ(of_many_sizes.least(emptied_unit::device), 10);
}

TEST(least_units, the_cpu_of_nodes_counts) {
    running_cluster on{nodes_of(4, {gpu(), gpu()}, milli_cpu{4000})};
    for (std::size_t n = 0; n < 4; ++n) ASSERT_TRUE(on.run(pod({want(1, 1000)}, 3000), n, 0));
    EXPECT_EQ(by_amounts(on, emptied_unit::node), 1);
    EXPECT_EQ(on.least(emptied_unit::node), 4);
    EXPECT_EQ(on.least(emptied_unit::device), 1) << "of devices on other nodes too";
}

TEST(least_units, each_kind_of_node_that_some_pods_need_counts) {
    cluster zones = nodes_of(3, {gpu(), gpu()});
    for (std::size_t n = 0; n < 3; ++n) zones.nodes[n].host.labels = {{"zone", std::to_string(n)}};
    running_cluster on{std::move(zones)};
    for (std::size_t n = 0; n < 3; ++n) {
        pod_request request = pod({want(1, 1000)});
        request.rules.has_affinity = true;
        request.rules.affinity = {
            {.labels = {{.key = "zone", .op = label_operator::in, .values = {std::to_string(n)}}}}};
        ASSERT_TRUE(on.run(request, n, 0));
    }
    EXPECT_EQ(by_amounts(on, emptied_unit::node), 1);
    EXPECT_EQ(on.least(emptied_unit::node), 3);
}

TEST(least_units, pods_stay_where_nobody_may_come) {
    running_cluster on{nodes_of(2, {gpu()})};
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(on.run(pod({want(1, 4000)}), 0, 0));
    ASSERT_TRUE(on.run(pod({want(1, 6000)}), 1, 0));
    ASSERT_TRUE(on.book.set_schedulable(node_index{0}, false));
    EXPECT_EQ(on.least(emptied_unit::node), 2);
    ASSERT_TRUE(on.book.set_service(node_index{1}, device_index{0}, service_state::draining));
    EXPECT_EQ(on.least(emptied_unit::node), 2);
    on.movable.clear();
    EXPECT_EQ(on.least(emptied_unit::node), 2) << "pods that stay keep their units in use";
}

TEST(least_units, a_pod_that_has_less_than_it_asks_for_does_not_count) {
    running_cluster on{nodes_of(3, {gpu()})};
    for (std::size_t n = 0; n < 3; ++n) ASSERT_TRUE(on.run(pod({want(1, 3000)}), n, 0));
    pod_request more = pod({want(1, 9000)});
    for (movable_pod& moves : on.movable) moves.request = &more;
    EXPECT_EQ(on.least(emptied_unit::device), 0);
}

TEST(least_units, too_large_a_program_is_not_solved) {
    running_cluster on{nodes_of(1, {gpu()})};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(on.run(pod({want(1, 1000 + i)}), 0, 0));
    const auto solver = solver::make_highs();
    const auto least = least_units_by_lp(on.book, on.movable, emptied_unit::node, *solver, {.columns_max = 2});
    ASSERT_TRUE(least.has_value());
    EXPECT_FALSE(least->has_value());
}

/// Every mode, with a device that has ten of what a pod asks for one to nine of.
struct tried_mode {
    const char* name;
    std::int64_t slots;
    std::int64_t memory; ///< MiB
    std::int64_t cores;
};
constexpr std::array tried_modes{
    tried_mode{.name = "hami_core", .slots = 10, .memory = 10'000, .cores = 100},
    tried_mode{.name = "time_slicing", .slots = 4, .memory = 10'000, .cores = 100},
    tried_mode{.name = "exclusive", .slots = 4, .memory = 10'000, .cores = 100},
    tried_mode{.name = "mps", .slots = 3, .memory = 10'000, .cores = 100},
    tried_mode{.name = "mig", .slots = 7, .memory = 40'960, .cores = 100},
    tried_mode{.name = "cce", .slots = 20, .memory = 12'800, .cores = 100},
    tried_mode{.name = "ascend_vir", .slots = 4, .memory = 65'536, .cores = 20},
    tried_mode{.name = "mindcluster_310p", .slots = 8, .memory = 24'000, .cores = 8},
};

device_spec device_of(const tried_mode& tried) {
    device_spec device = gpu("A", tried.slots, tried.name);
    device.memory = mib{tried.memory};
    device.cores = core_percent{tried.cores};
    return device.mode->adapted(device);
}

pod_request some_pod(rng& stream, const tried_mode& tried, bool has_compute) {
    const std::string_view mode = tried.name;
    const std::int64_t cpu = static_cast<std::int64_t>(stream.below(3)) * 1000;
    const std::int64_t count = stream.below(6) == 0 ? 2 : 1;
    const auto tenths = static_cast<std::int64_t>(1 + stream.below(9));
    pod_request request = pod({want(count, tenths * (tried.memory / 10))}, cpu);
    device_request& container = request.containers[0];
    if (has_compute) container.cores = core_percent{static_cast<std::int64_t>(stream.below(9)) * (tried.cores / 10)};
    if (mode == "mindcluster_310p") {
        container.memory = {};
        container.cores = core_percent{std::int64_t{1} << stream.below(4)};
    }
    if (mode == "mig" && stream.below(2) == 0) {
        constexpr std::array profiles{"1g.5gb", "2g.10gb", "3g.20gb"};
        container = want(count, 0);
        container.profile = profiles[stream.below(profiles.size())];
    }
    if (mode != "mindcluster_310p" && container.profile.empty() && stream.below(5) == 0) {
        container.memory = {};
        container.memory_percent = tenths * 10 + static_cast<std::int64_t>(stream.below(6));
    }
    if (stream.below(6) == 0) {
        request.rules.has_affinity = true;
        request.rules.affinity = {{.labels = {{.key = "zone", .op = label_operator::in, .values = {"0", "1"}}}}};
    }
    return request;
}

/// A few pods on a few nodes, some of which stay, or are on nodes and devices to which none may come any more.
running_cluster some_cluster(rng& stream, const tried_mode& mode, bool has_compute) {
    cluster nodes;
    const std::size_t count = 2 + stream.below(2);
    for (std::size_t n = 0; n < count; ++n) {
        add_node(nodes, many(1 + stream.below(2), device_of(mode)),
                 milli_cpu{static_cast<std::int64_t>(2 + stream.below(4)) * 1000});
        nodes.nodes[n].host.labels = {{"zone", std::to_string(n)}};
        if (stream.below(4) == 0) nodes.nodes[n].pods_max = 2;
    }
    running_cluster on{std::move(nodes)};
    for (int i = 0; i < 12 && std::ssize(on.requests) < 5; ++i) {
        const pod_request request = i > 0 && stream.below(3) == 0 && !on.requests.empty()
                                        ? *on.requests.back()
                                        : some_pod(stream, mode, has_compute);
        static_cast<void>(on.run(request, stream.below(count), stream.below(2), stream.below(8) > 0));
    }
    if (stream.below(4) == 0) {
        EXPECT_TRUE(on.book.set_schedulable(node_index{stream.below(count)}, false));
    }
    if (stream.below(4) == 0) {
        EXPECT_TRUE(on.book.set_service(node_index{stream.below(count)}, device_index{0}, service_state::draining));
    }
    return on;
}

TEST(least_units, no_arrangement_leaves_fewer) {
    rng stream{20261127};
    int better = 0; // than the sums of amounts
    int exact = 0;
    int cases = 0;
    for (std::size_t round = 0; round < 100 * tried_modes.size(); ++round) {
        const running_cluster on = some_cluster(stream, tried_modes[round % tried_modes.size()], stream.below(2) == 0);
        for (const emptied_unit unit : {emptied_unit::device, emptied_unit::node}) {
            const std::int64_t least = on.least(unit);
            const std::int64_t fewest = every_arrangement{on, unit}.fewest();
            EXPECT_LE(least, fewest) << round << ' ' << tried_modes[round % tried_modes.size()].name;
            EXPECT_LE(by_amounts(on, unit), fewest) << round;
            better += least > by_amounts(on, unit) ? 1 : 0;
            exact += least == fewest ? 1 : 0;
            ++cases;
        }
    }
    RecordProperty("better", better);
    RecordProperty("exact", exact);
    EXPECT_GE(exact * 2, cases);
    EXPECT_GE(better * 10, cases);
}

/// Without pods that stay or may not come, the program has all that the sums have.
TEST(least_units, is_no_less_than_the_sums_of_amounts) {
    rng stream{20261128};
    for (int round = 0; round < 100; ++round) {
        const std::size_t count = 2 + stream.below(4);
        running_cluster on{nodes_of(count, many(1 + stream.below(3)))};
        for (int i = 0; i < 20; ++i) {
            static_cast<void>(
                on.run(some_pod(stream, tried_modes[0], round % 2 == 0), stream.below(count), stream.below(3)));
        }
        for (const emptied_unit unit : {emptied_unit::device, emptied_unit::node}) {
            EXPECT_GE(on.least(unit), by_amounts(on, unit)) << round;
        }
    }
}

} // namespace
