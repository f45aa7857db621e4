// The path for policies that score by totals: what a part makes of a device, and the choice of devices from that.
#include <algorithm>

#include "support.hpp"

#include "alloc/device_chooser.hpp"
#include "alloc/part_table.hpp"
#include "alloc/reference.hpp"
#include "alloc/totals_chooser.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc {
namespace {

using namespace test;

device_state occupied(std::int64_t memory) {
    return {.memory = mib{memory}, .cores = {}, .slots = memory == 0 ? 0 : 1, .layout = 0};
}

class part_table_test : public testing::Test {
protected:
    part_table_test() {
        owned.kind_of(gpu("A"));
        owned.kind_of(gpu("B"));
        owned.kind_of(mig_gpu());
    }
    static device_spec mig_gpu() {
        device_spec result = gpu("A100-40GB", 7, "mig");
        result.memory = mib{40960};
        return result;
    }
    [[nodiscard]] const device_view& device(std::uint32_t kind, device_state state) {
        return states.device(kind, state, service_state::in_service);
    }

    cluster owned;
    state_table states{owned};
    part_table parts;
};

TEST_F(part_table_test, equal_parts_are_one_number_and_the_count_is_part_of_them) {
    const auto one = parts.add(want(1, 4000));
    EXPECT_EQ(parts.add(want(1, 4000)), one);
    EXPECT_NE(parts.add(want(1, 4001)), one);
    EXPECT_NE(parts.add(want(2, 4000)), one);
}

/// More states than are kept: those that are computed each time are answered alike.
TEST_F(part_table_test, answers_what_the_mode_says_for_every_state) {
    const device_request request = want(1, 4000);
    const auto part = parts.add(request);
    for (int ask = 0; ask < 2; ++ask) {
        for (std::int64_t memory = 0; memory < 1000; ++memory) {
            const device_view& before = device(0, occupied(memory * 10));
            parts.forget_passing();
            const auto answer = parts.of(part, before);
            ASSERT_TRUE(answer.known);
            if (memory * 10 > 6000) {
                ASSERT_EQ(answer.count, 0U);
                ASSERT_EQ(parts.refused_because(part, before, answer), rejection_code::insufficient_device_memory);
                continue;
            }
            ASSERT_EQ(answer.count, 1U) << memory;
            ASSERT_EQ(answer.after->state.memory, mib{memory * 10 + 4000});
            ASSERT_EQ(answer.after->used, milli_gpu{memory + 400});
            ASSERT_EQ(answer.after->id, not_interned);
        }
    }
    EXPECT_TRUE(parts.kept(part, device(0, occupied(0))).known);
    EXPECT_FALSE(parts.kept(part, device(0, occupied(9990))).known) << "only the first states are kept";
}

TEST_F(part_table_test, one_way_per_partition_in_the_modes_order) {
    device_request request = want(1, 5000);
    const device_view& before = device(2, {});
    const auto answer = parts.of(parts.add(request), before);
    std::vector<partition> expected;
    before.spec->mode->candidates(*before.spec, before.state, request, expected);
    ASSERT_GT(expected.size(), 1U) << "an instance has several places";
    ASSERT_EQ(answer.count, expected.size());
    for (std::uint32_t way = 0; way < answer.count; ++way) {
        EXPECT_EQ(answer.after[way].state, before.spec->mode->with(*before.spec, before.state, expected[way]));
    }
}

TEST_F(part_table_test, a_model_that_is_not_accepted_is_refused_whatever_is_used) {
    device_request request = want(1, 100);
    request.models = {"A"};
    const auto part = parts.add(request);
    for (const std::int64_t memory : {0, 10000}) {
        const device_view& other = device(1, occupied(memory));
        const auto answer = parts.of(part, other);
        EXPECT_EQ(answer.count, 0U);
        EXPECT_EQ(parts.refused_because(part, other, answer), rejection_code::model_not_accepted);
    }
}

TEST_F(part_table_test, refusals_of_configurations_are_noted_until_forgotten) {
    const auto part = parts.add(want(1, 100));
    const device_view* full = &device(0, occupied(10000));
    const device_config& config = states.config(std::vector{full, full});
    EXPECT_EQ(parts.known_refusal(part, config.id), rejection_code::none);
    parts.note_refusal(part, config, rejection_code::insufficient_device_memory);
    EXPECT_EQ(parts.known_refusal(part, config.id), rejection_code::insufficient_device_memory);
    EXPECT_EQ(parts.known_refusal(parts.add(want(1, 200)), config.id), rejection_code::none);
    static_cast<void>(parts.of(part, *full));
    parts.forget();
    EXPECT_EQ(parts.known_refusal(part, config.id), rejection_code::none);
    EXPECT_FALSE(parts.kept(part, *full).known);
    EXPECT_EQ(parts.add(want(1, 100)), part) << "parts keep their numbers";
}

/// Both choosers on nodes in drawn states, for every policy that scores by totals. One container asks for nothing.
TEST(totals_chooser, chooses_and_scores_as_the_chooser_from_configurations_does) {
    const std::vector<pod_request> requests{pod({want(1, 2000)}),
                                            pod({want(3, 1500, 10)}),
                                            pod({want(1, 4000), want(0, 9000), want(2, 1000)}),
                                            pod({want(1, 3000), want(1, 3000), want(1, 3000, 60)}),
                                            pod({want(9, 1)}),
                                            pod({want(0, 1)})};
    std::size_t fitting = 0;
    std::size_t refused = 0;
    for (const char* spelling : {"binpack", "spread", "best_fit", "worst_fit", "weighted:binpack=0.7,spread=0.3"}) {
        const auto scorer = make(spelling);
        const policy_pair both{.node = scorer.get(), .device = scorer.get()};
        ASSERT_TRUE(traits_of(both).by_totals) << spelling;
        cluster owned;
        owned.kind_of(gpu("A"));
        owned.kind_of(gpu("B", 2));
        state_table states{owned};
        part_table table;
        outcome_table outcomes{states, table};
        device_chooser by_configs{states, table, outcomes, both};
        totals_chooser by_totals{table, both};
        rng draw{11};
        for (int round = 0; round < 200; ++round) {
            std::vector<const device_view*> devices;
            for (int d = 0; d < 6; ++d) {
                devices.push_back(&states.device(static_cast<std::uint32_t>(draw.below(2)),
                                                 occupied(static_cast<std::int64_t>(draw.below(5)) * 2500),
                                                 service_state::in_service));
            }
            const node_view before{.node = node_index{0U},
                                   .cpu_capacity = milli_cpu{32000},
                                   .cpu_left = milli_cpu{9000},
                                   .config = &states.config(devices)};
            for (const pod_request& pod : requests) {
                std::vector<std::uint32_t> parts;
                std::int64_t count = 0;
                for (const device_request& container : pod.containers) {
                    parts.push_back(table.add(container));
                    count += container.count;
                }
                const request_view request{.request = &pod, .devices = count};
                small_vector<device_share, 1> ours;
                small_vector<device_share, 1> theirs;
                const parts_view wanted{.request = request, .parts = parts};
                const bool fits = by_totals.choose(wanted, before, devices, false, ours);
                const device_config* next = by_configs.choose(wanted, before, devices, {}, false, theirs);
                ASSERT_EQ(fits, next != nullptr);
                const double score = by_totals.score(wanted, before);
                ASSERT_EQ(is_feasible(score), fits);
                ++(fits ? fitting : refused);
                if (!fits) continue;
                ASSERT_EQ(ours, theirs);
                node_view after = before;
                after.cpu_left = before.cpu_left - pod.cpu;
                after.config = next;
                ASSERT_EQ(score, scorer->node_score(request, before, after));
            }
        }
    }
    EXPECT_GT(fitting, 1000U);
    EXPECT_GT(refused, 1000U);
}

/// Every decision meets states that are not interned yet; the allocator forgets them before they fill the memory.
TEST(allocator, starts_afresh_when_it_knows_too_many_device_states) {
    cluster owned;
    for (int i = 0; i < 3; ++i) add_node(owned, many(4));
    placer here{owned,
                "binpack",
                {},
                {.interned = {.configs_max = 60, .devices_max = 8}, .index_bytes_max = std::size_t{1} << 20}};
    const reference_allocator reference{here.book, {.node = here.scorer.get(), .device = here.scorer.get()}};
    for (std::int64_t i = 0; i < 100; ++i) {
        const pod_request request = pod({want(1, 100 + i)});
        ASSERT_EQ(here.decide(request), reference.decide(request)) << i;
        static_cast<void>(here.place(request));
        if (i >= 5) here.book.release(pod_id{1000U + static_cast<std::uint32_t>(i) - 5U});
        ASSERT_LE(here.decider.config_count(), 60U) << "they are forgotten together";
    }
}

} // namespace
} // namespace vgpualloc
