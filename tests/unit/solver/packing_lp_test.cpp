// The packing program: by hand, against programs with every pattern written out, and the integer program against a
// search through all placements.
#include "vgpualloc/plan/packing_lp.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;

std::shared_ptr<const knapsack_packing> shares(std::int64_t capacity, const std::vector<std::int64_t>& milli) {
    std::vector<knapsack_packing::amounts> needs;
    for (const std::int64_t amount : milli) needs.push_back({amount});
    return std::make_shared<knapsack_packing>(knapsack_packing::make({capacity}, needs).value());
}

/// Two nodes of one GPU; pods of 600 and 400 milli with a CPU each, three CPUs in all.
packing_program two_gpus() {
    packing_program program;
    program.types = {{.demand = 2, .value = 600, .host = {1}}, {.demand = 5, .value = 400, .host = {1}}};
    program.groups = {{.host = {3}}};
    program.devices = {{.group = 0, .count = 2, .packing = shares(1000, {600, 400}), .type_of_part = {0, 1}}};
    return program;
}

TEST(packing_lp, prices_are_what_one_more_would_add) {
    const auto solver = solver::make_highs();
    packing_program program = two_gpus();
    const auto prices = solve_packing_lp(program, *solver).value();
    EXPECT_EQ(prices.status, lp_status::optimal);
    EXPECT_DOUBLE_EQ(prices.objective, 1600.0); // CPU for three pods: two of 600 and one of 400
    EXPECT_NEAR(prices.bound, 1600.0, 1e-6);
    EXPECT_DOUBLE_EQ(prices.host[0][0], 400.0);
    EXPECT_DOUBLE_EQ(prices.type[0], 200.0);
    EXPECT_DOUBLE_EQ(prices.type[1], 0.0);
    EXPECT_DOUBLE_EQ(prices.theta[0], 0.0);
    EXPECT_NEAR(prices.placed[0], 2.0, 1e-9);
    EXPECT_NEAR(prices.placed[1], 1.0, 1e-9);
    program.groups[0].host[0] = lp_infinity;
    EXPECT_DOUBLE_EQ(solve_packing_lp(program, *solver)->objective, 2000.0);
}

TEST(packing_lp, prices_host_resources_of_each_group) {
    // Three quarters of a GPU are wanted. Memory ends those of the first node, CPU those of the second, where memory
    // does not count.
    packing_program program;
    program.types = {{.demand = 9, .value = 750, .host = {1, 4000}}};
    program.groups = {{.host = {5, 8000}}, {.host = {1, lp_infinity}}};
    const auto packing = shares(1000, {750});
    program.devices = {{.group = 0, .count = 4, .packing = packing, .type_of_part = {0}},
                       {.group = 1, .count = 4, .packing = packing, .type_of_part = {0}}};
    const auto prices = solve_packing_lp(program, *solver::make_highs()).value();
    EXPECT_DOUBLE_EQ(prices.objective, 2250.0);
    EXPECT_NEAR(prices.bound, 2250.0, 1e-6);
    EXPECT_EQ(prices.host, (std::vector<std::vector<double>>{{0.0, 0.188}, {750.0, 0.0}})); // 750 / 4000, rounded
    EXPECT_EQ(prices.theta, (std::vector<double>{0.0, 0.0}));
}

TEST(packing_lp, forced_pods_are_placed_first) {
    const auto solver = solver::make_highs();
    packing_program program = two_gpus();
    program.types[1].forced = 3;
    const auto prices = solve_packing_lp(program, *solver).value();
    EXPECT_EQ(prices.status, lp_status::optimal);
    EXPECT_DOUBLE_EQ(prices.objective, 1200.0);
    EXPECT_NEAR(prices.bound, 1200.0, 1e-6);
    program.types[0].forced = 1;
    const auto refused = solve_packing_lp(program, *solver).value();
    EXPECT_EQ(refused.status, lp_status::infeasible);
    EXPECT_NEAR(refused.shortage, 1.0, 1e-6);
}

TEST(packing_lp, blocks_take_whole_devices_or_none) {
    const auto solver = solver::make_highs();
    packing_program program = two_gpus();
    program.groups[0].host[0] = 4;
    program.types.push_back({.demand = 1, .value = 2000, .host = {2}});
    program.types.push_back({.demand = 3, .forced = 1, .value = 0, .host = {1}});
    program.blocks = {{.type = 2, .group = 0, .devices = 0, .count = 2}, {.type = 3, .group = 0}};
    const auto prices = solve_packing_lp(program, *solver).value();
    EXPECT_DOUBLE_EQ(prices.objective, 2000.0);
    EXPECT_NEAR(prices.bound, 2000.0, 1e-6);
    const auto exact = solve_packing_exactly(program, *solver).value();
    EXPECT_DOUBLE_EQ(exact.objective, 2000.0);
}

TEST(packing_lp, ends_at_the_limit_of_rounds_with_a_bound) {
    const auto solver = solver::make_highs();
    const auto prices = solve_packing_lp(two_gpus(), *solver, {.rounds_max = 1}).value();
    EXPECT_EQ(prices.status, lp_status::limit);
    EXPECT_GE(prices.bound, 1600.0);
}

TEST(packing_lp, rounds_prices) {
    EXPECT_DOUBLE_EQ(rounded_price(67.5004), 67.5);
    EXPECT_DOUBLE_EQ(rounded_price(67.4996), 67.5);
    EXPECT_FALSE(std::signbit(rounded_price(-1e-9)));
}

/// A program drawn at random: up to three node groups of one or two classes, shares, whole pods, CPU-only pods. Of two
/// host resources the second does not count in some groups.
packing_program drawn(rng& stream, std::uint64_t groups, double devices_max, bool forced) {
    const auto amount = [&stream](std::uint64_t most) { return static_cast<double>(stream.below(most)); };
    const auto host = [&amount](std::uint64_t most) { return std::vector{amount(most), 1000.0 * amount(most)}; };
    packing_program program;
    std::vector<std::int64_t> needs;
    std::vector<std::uint32_t> served;
    for (std::uint32_t t = 0; t < 3; ++t) {
        needs.push_back(2 + static_cast<std::int64_t>(stream.below(7)));
        served.push_back(t);
        program.types.push_back({.demand = amount(4), .value = static_cast<double>(needs.back()), .host = host(4)});
    }
    program.types.push_back({.demand = amount(3), .value = 10.0, .host = host(3)});
    program.types.push_back({.demand = amount(3), .value = 0.0, .host = host(3)});
    if (forced) program.types[stream.below(5)].forced = 1.0;
    for (packing_type& type : program.types) type.demand = std::max(type.demand, type.forced);
    const auto packing = shares(10, needs);
    for (std::uint32_t g = 0; g < groups; ++g) {
        program.groups.push_back({.host = host(9)});
        if (stream.below(3) == 0) program.groups.back().host[1] = lp_infinity;
        program.devices.push_back({.group = g,
                                   .count = 1.0 + amount(static_cast<std::uint64_t>(devices_max)),
                                   .packing = packing,
                                   .type_of_part = served});
        program.blocks.push_back({.type = 3, .group = g, .devices = g, .count = 1.0});
        program.blocks.push_back({.type = 4, .group = g});
    }
    return program;
}

/// The LP over all columns, written out.
linear_program written_out(const packing_program& program) {
    linear_program lp{.sense = lp_sense::maximise};
    for (const packing_type& type : program.types) lp.add_row({.lower = type.forced, .upper = type.demand});
    for (const packing_group& group : program.groups) {
        for (const double most : group.host) lp.add_row({.upper = most});
    }
    for (const packing_devices& devices : program.devices) lp.add_row({.upper = devices.count});
    const auto add = [&](const std::map<std::uint32_t, double>& pods, std::uint32_t group, std::uint32_t devices,
                         double count) {
        double cost = 0.0;
        std::vector<double> host(2, 0.0);
        const auto column = lp.add_column({});
        for (const auto& [type, number] : pods) {
            cost += number * program.types[type].value;
            for (std::size_t i = 0; i < host.size(); ++i) host[i] += number * program.types[type].host[i];
            lp.add_entry(type, column, number);
        }
        lp.columns[column].cost = cost;
        const auto row_of_group = static_cast<std::uint32_t>(program.types.size()) + 2 * group;
        for (std::uint32_t i = 0; i < host.size(); ++i) {
            if (host[i] > 0.0) lp.add_entry(row_of_group + i, column, host[i]);
        }
        if (count > 0.0) {
            lp.add_entry(static_cast<std::uint32_t>(program.types.size() + 2 * program.groups.size()) + devices, column,
                         count);
        }
    };
    for (const packing_block& block : program.blocks) add({{block.type, 1.0}}, block.group, block.devices, block.count);
    for (std::uint32_t c = 0; c < program.devices.size(); ++c) {
        const packing_devices& devices = program.devices[c];
        const std::vector<std::int64_t> many(devices.packing->parts(), 10);
        const auto patterns = devices.packing->enumerate(many, 100'000).value();
        for (const device_pattern& pattern : patterns) {
            std::map<std::uint32_t, double> pods;
            for (const auto& [part, count] : pattern) {
                pods[devices.type_of_part[part]] += static_cast<double>(count);
            }
            add(pods, devices.group, c, 1.0);
        }
    }
    return lp;
}

TEST(packing_lp, column_generation_equals_the_program_with_every_pattern) {
    rng stream{20260101};
    const auto solver = solver::make_highs();
    int feasible = 0;
    for (int round = 0; round < 80; ++round) {
        const packing_program program = drawn(stream, 1 + stream.below(3), 3, round % 2 == 1);
        const auto prices = solve_packing_lp(program, *solver).value();
        const auto whole = solver->solve(written_out(program)).value();
        ASSERT_EQ(prices.status, whole.status) << round;
        if (prices.status != lp_status::optimal) continue;
        ++feasible;
        EXPECT_NEAR(prices.objective, whole.objective, 1e-6) << round;
        EXPECT_NEAR(prices.bound, whole.objective, 1e-5) << round;
        EXPECT_GE(prices.bound, whole.objective - 1e-9) << round;
    }
    EXPECT_GT(feasible, 50);
}

/// The best placement of a program whose groups are nodes, found by trying every pattern on every device and then as
/// many blocks as there are.
class all_placements {
public:
    explicit all_placements(const packing_program& program) : program_{program} {
        for (const packing_devices& devices : program.devices) {
            const std::vector<std::int64_t> many(devices.packing->parts(), 10);
            patterns_.push_back(devices.packing->enumerate(many, 100'000).value());
            left_.push_back(static_cast<int>(devices.count));
        }
        for (const packing_group& group : program.groups) host_.push_back(group.host);
        for (const packing_type& type : program.types) pods_.push_back(static_cast<int>(type.demand));
    }

    /// Below 0: the forced pods cannot be placed.
    [[nodiscard]] double best() {
        best_ = -1.0;
        fill_class(0, 0, 0.0);
        return best_;
    }

private:
    bool take(std::uint32_t type, std::int64_t count, std::uint32_t group) {
        pods_[type] -= static_cast<int>(count);
        for (std::size_t i = 0; i < host_[group].size(); ++i) {
            host_[group][i] -= static_cast<double>(count) * program_.types[type].host[i];
        }
        return pods_[type] >= 0 && std::ranges::min(host_[group]) >= 0.0;
    }

    /// From that pattern on, so that the order of devices that are alike does not count.
    void fill_class(std::size_t c, std::size_t first, double value) {
        if (c == program_.devices.size()) return place_block(0, value);
        fill_class(c + 1, 0, value);
        if (left_[c] == 0) return;
        const packing_devices& devices = program_.devices[c];
        for (std::size_t p = first; p < patterns_[c].size(); ++p) {
            const auto pods = pods_;
            const auto host = host_;
            bool fits = true;
            double added = 0.0;
            for (const auto& [part, count] : patterns_[c][p]) {
                const std::uint32_t type = devices.type_of_part[part];
                fits = take(type, count, devices.group) && fits;
                added += static_cast<double>(count) * program_.types[type].value;
            }
            --left_[c];
            if (fits) fill_class(c, p, value + added);
            ++left_[c];
            pods_ = pods;
            host_ = host;
        }
    }

    void place_block(std::size_t b, double value) {
        if (b == program_.blocks.size()) {
            for (std::size_t t = 0; t < pods_.size(); ++t) {
                if (program_.types[t].demand - pods_[t] < program_.types[t].forced) return;
            }
            best_ = std::max(best_, value);
            return;
        }
        const packing_block& block = program_.blocks[b];
        place_block(b + 1, value);
        const auto pods = pods_;
        const auto host = host_;
        const auto left = left_;
        double sum = value;
        while (take(block.type, 1, block.group)) {
            if (block.count > 0.0 && left_[block.devices] < static_cast<int>(block.count)) break;
            if (block.count > 0.0) left_[block.devices] -= static_cast<int>(block.count);
            sum += program_.types[block.type].value;
            place_block(b + 1, sum);
        }
        pods_ = pods;
        host_ = host;
        left_ = left;
    }

    const packing_program& program_;
    std::vector<std::vector<device_pattern>> patterns_;
    std::vector<int> left_;
    std::vector<std::vector<double>> host_; ///< that is left, by group
    std::vector<int> pods_;
    double best_ = -1.0;
};

TEST(packing_lp, the_integer_program_equals_the_best_of_all_placements) {
    rng stream{4};
    const auto solver = solver::make_highs();
    int feasible = 0;
    for (int round = 0; round < 40; ++round) {
        const packing_program program = drawn(stream, 1 + stream.below(2), 2, round % 2 == 1);
        const double best = all_placements{program}.best();
        const auto exact = solve_packing_exactly(program, *solver).value();
        ASSERT_EQ(exact.status == lp_status::optimal, best >= 0.0) << round;
        if (best < 0.0) continue;
        ++feasible;
        EXPECT_NEAR(exact.objective, best, 1e-6) << round;
        EXPECT_GE(solve_packing_lp(program, *solver)->bound, best - 1e-6) << round;
    }
    EXPECT_GT(feasible, 20);
}

TEST(packing_lp, the_integer_program_has_a_size) {
    const auto solver = solver::make_highs();
    EXPECT_FALSE(solve_packing_exactly(two_gpus(), *solver, {.columns_max = 2}).has_value());
    packing_program program = two_gpus();
    program.blocks = {{.type = 0, .group = 0}, {.type = 1, .group = 0}};
    program.devices.clear();
    EXPECT_FALSE(solve_packing_exactly(program, *solver, {.columns_max = 1}).has_value());
}

std::string field_refused(const packing_program& program) {
    const auto checked = check_packing(program);
    return checked ? "" : checked.error().field;
}

TEST(packing_lp, refuses_what_is_no_program) {
    EXPECT_EQ(field_refused(two_gpus()), "");
    auto program = two_gpus();
    program.types[0].forced = 3;
    EXPECT_EQ(field_refused(program), "types");
    program = two_gpus();
    program.groups[0].host = {-1.0};
    EXPECT_EQ(field_refused(program), "groups");
    program = two_gpus();
    program.types[0].host = {1, 2};
    EXPECT_EQ(field_refused(program), "host");
    EXPECT_EQ(field_refused({.groups = {{.host = {1, 2}}, {.host = {1}}}}), "host");
    program = two_gpus();
    program.devices[0].group = 1;
    EXPECT_EQ(field_refused(program), "devices");
    program = two_gpus();
    program.devices[0].type_of_part = {0, 2};
    EXPECT_EQ(field_refused(program), "type_of_part");
    program = two_gpus();
    program.blocks = {{.type = 0, .group = 0, .devices = 1, .count = 1}};
    EXPECT_EQ(field_refused(program), "blocks");
    EXPECT_FALSE(solve_packing_lp(program, *solver::make_highs()).has_value());
    EXPECT_FALSE(solve_packing_exactly(program, *solver::make_highs()).has_value());
}

} // namespace
