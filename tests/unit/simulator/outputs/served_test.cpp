// What is served on random clusters of slices, whole GPUs and MIG, where pods ask for memory and compute apart: it
// depends on which pods run and on nothing else, and the exact bound on it is that of a search through every placement.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../support.hpp"
#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpusim/bound/bounds.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/study/solver.hpp"

namespace {

using namespace vgpualloc;
using vgpualloc::test::gpu;
using vgpualloc::test::pod;
using vgpualloc::test::want;

constexpr const char* tried_policies[] = {"binpack", "spread", "best_fit", "worst_fit", "first_fit", "random"};

void add_mig_node(cluster& nodes) {
    node added{.name = "n" + std::to_string(nodes.nodes.size()), .cpu = milli_cpu{32000}, .memory = bytes{64000}};
    EXPECT_TRUE(add_device(nodes, added, modes::mig::example(), built_in_catalog().mig).has_value());
    nodes.nodes.push_back(std::move(added));
}

device_request some_request(rng& stream) {
    const auto memory = static_cast<std::int64_t>(1 + stream.below(9)) * 1000;
    const auto cores = static_cast<std::int64_t>(stream.below(11)) * 10;
    switch (stream.below(5)) {
    case 0:
        return want(1, 0, 100); // a whole device
    case 1: {
        device_request instance = want(1, 0);
        instance.profile = stream.below(2) == 0 ? "1g.5gb" : "3g.20gb";
        instance.mode = "mig";
        return instance;
    }
    default:
        return want(1, memory, cores);
    }
}

vgpusim::loaded_input some_workload(rng& stream, std::size_t pods) {
    vgpusim::loaded_input loaded;
    vgpusim::simulation_input& input = loaded.input;
    const std::uint64_t count = 1 + stream.below(2);
    for (std::uint64_t n = 0; n < count; ++n) {
        switch (stream.below(3)) {
        case 0:
            test::add_node(input.nodes, test::many(1 + stream.below(2)));
            break;
        case 1:
            test::add_node(input.nodes, test::many(1, gpu("B", 1, "exclusive")));
            break;
        default:
            add_mig_node(input.nodes);
        }
    }
    for (std::uint32_t n = 0; n < input.nodes.nodes.size(); ++n) input.node_list_order.push_back(n);
    std::vector<requested_amount> amounts;
    requested_amounts requested_of{input.nodes};
    for (std::uint32_t i = 0; i < pods; ++i) {
        input.requests.push_back(pod({some_request(stream)}));
        amounts.push_back(requested_of.of(input.requests.back()));
        input.names.push_back("p" + std::to_string(i));
        input.pods.push_back({.name = i, .request = i, .arrival = ticks{i}, .duration = {}});
        input.typical.typical.push_back(
            {.cpu = input.requests[i].cpu, .containers = input.requests[i].containers, .frequency = 0.1, .weight = 1});
    }
    input.requested = vgpusim::requested_table{amounts, vgpusim::device_count(input.nodes)};
    return loaded;
}

vgpusim::run_record run_under(const char* policy, const vgpusim::loaded_input& loaded) {
    vgpusim::run_config config;
    config.policy = policy;
    return vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
}

std::vector<bool> placed_by(const vgpusim::run_record& record) {
    std::vector<bool> placed;
    for (const auto& outcome : record.result.pods) placed.push_back(outcome.booking != vgpusim::no_booking);
    return placed;
}

bool includes(const std::vector<bool>& more, const std::vector<bool>& less) {
    for (std::size_t i = 0; i < more.size(); ++i) {
        if (less[i] && !more[i]) return false;
    }
    return true;
}

TEST(served, depends_on_which_pods_run_and_grows_with_them) {
    rng stream{20261126};
    int same = 0;
    for (int round = 0; round < 60; ++round) {
        const auto loaded = some_workload(stream, 12);
        std::vector<vgpusim::run_record> runs;
        for (const char* policy : tried_policies) runs.push_back(run_under(policy, loaded));
        for (const auto& run : runs) {
            const double served = vgpusim::figures_of(run).served_ratio;
            EXPECT_GE(served, 0.0);
            EXPECT_LE(served, 1.0);
            EXPECT_FALSE(run.result.served_beyond_total);
            for (const auto& other : runs) {
                if (!includes(placed_by(run), placed_by(other))) continue;
                if (placed_by(run) != placed_by(other)) {
                    EXPECT_GE(served, vgpusim::figures_of(other).served_ratio) << round;
                } else if (&run != &other) {
                    EXPECT_EQ(run.last.served, other.last.served) << round;
                    if (run.last.allocated_milli != other.last.allocated_milli) ++same;
                }
            }
        }
    }
    EXPECT_GT(same, 20) << "placements of the same pods that allocate otherwise are among them";
}

/// The most that running pods ask for, over every placement of every subset of the pods.
class every_placement {
public:
    explicit every_placement(const vgpusim::simulation_input& input) : input_{input} {
        for (const node& described : input.nodes.nodes) states_.emplace_back(described.devices.size());
    }

    [[nodiscard]] double best_milli() {
        place(0, {});
        return static_cast<double>(best_) * 1000.0 / static_cast<double>(input_.requested.whole());
    }

private:
    void place(std::size_t number, vgpusim::requested_units sum) {
        best_ = std::max(best_, sum.larger());
        if (number == input_.pods.size()) return;
        place(number + 1, sum);
        sum += input_.requested[number];
        const device_request& request = input_.requests[number].containers.front();
        for (std::size_t n = 0; n < states_.size(); ++n) {
            for (std::size_t d = 0; d < states_[n].size(); ++d) {
                const device_spec& device = input_.nodes.spec_of(node_index{n}, device_index{d});
                if (why_never(device, request) != rejection_code::none) continue;
                std::vector<partition> parts;
                device.mode->candidates(device, states_[n][d], request, parts);
                device.mode->further_candidates(device, states_[n][d], request, parts);
                for (const partition& part : parts) {
                    const device_state before = states_[n][d];
                    states_[n][d] = device.mode->with(device, before, part);
                    place(number + 1, sum);
                    states_[n][d] = before;
                }
            }
        }
    }

    const vgpusim::simulation_input& input_;
    std::vector<std::vector<device_state>> states_;
    std::int64_t best_ = 0;
};

TEST(served, the_exact_bound_is_that_of_every_placement) {
    auto solver = vgpusim::find_solver("a test");
    if (!solver) GTEST_SKIP() << "no solver in this build";
    rng stream{20261127};
    int all_run = 0;
    for (int round = 0; round < 40; ++round) {
        const auto loaded = some_workload(stream, 3 + stream.below(4));
        const auto run = run_under("best_fit", loaded);
        const auto bounds = vgpusim::bounds_of(loaded, {.finished = &run, .exact = true}, **solver).value();
        const double best = every_placement{loaded.input}.best_milli();
        EXPECT_NEAR(bounds.exact->milli, best, 1e-6) << round;
        EXPECT_GE(bounds.configuration.amount, best - 1e-6) << round;
        EXPECT_LE(bounds.achieved->milli, best + 1e-6) << round;
        if (!run.runs_all()) continue;
        ++all_run;
        EXPECT_EQ(vgpusim::achieved_of(bounds, bounds.exact->milli), 1.0) << round;
        EXPECT_EQ(vgpusim::achieved_of(bounds, bounds.configuration.amount), 1.0) << round;
    }
    EXPECT_GT(all_run, 3);
}

} // namespace
