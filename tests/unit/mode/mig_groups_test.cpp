// MIG by ordered geometry groups: first group that has it, smallest instance in it, group kept until empty.
#include "requirements.hpp"
#include "support.hpp"

#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/mode/mig_groups.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

/// The groups of an A100-SXM4-40GB in the device plugin's configuration: 1g and 2g and 3g in one, then others.
std::vector<mig_group> a100_groups() {
    return {
        {.name = "group1", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
        {.name = "group2",
         .kinds = {{.name = "2g.10gb", .memory = mib{10240}, .count = 3},
                   {.name = "1g.5gb", .memory = mib{5120}, .count = 1}}},
        {.name = "group3", .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 2}}},
        {.name = "group4", .kinds = {{.name = "7g.40gb", .memory = mib{40960}, .count = 1}}},
    };
}

struct gpu_in_groups {
    explicit gpu_in_groups(const std::vector<mig_group>& groups, std::int64_t factor = 1) : mode{groups, factor} {
        spec = {.model = "A100", .memory = mib{40960 / factor}, .slots = 10, .mode = &mode};
    }
    /// The instance a request gets, taken; its memory, or the refusal's code as a negative number.
    std::int64_t take(std::int64_t memory, std::int64_t cores = 0) {
        std::vector<partition> parts;
        mode.candidates(spec, state, want(1, memory, cores), parts);
        const auto refused = mode.why_not(spec, state, want(1, memory, cores));
        EXPECT_EQ(parts.empty(), refused.code != none);
        if (parts.empty()) return -static_cast<std::int64_t>(refused.code);
        EXPECT_EQ(mode.why_not(spec, state, parts.front()).code, none);
        taken.push_back(std::get<mig_instance>(parts.front()));
        const mib before = state.memory;
        state = mode.with(spec, state, parts.front());
        return (state.memory - before).count();
    }
    void give_back(std::size_t which) { state = mode.without(spec, state, taken[which]); }

    modes::mig_groups mode;
    device_spec spec;
    device_state state{};
    std::vector<mig_instance> taken{};
};

std::int64_t refused(rejection_code code) { return -static_cast<std::int64_t>(code); }

TEST(mig_groups, three_gigabytes_get_the_instance_of_five) {
    covers({"R031"});
    gpu_in_groups gpu{a100_groups()};
    EXPECT_EQ(gpu.take(3000), 5120) << "R031 of docs/requirements.md";
    EXPECT_EQ(gpu.taken[0], (mig_instance{.profile = 0, .start = 0, .cores = {}}));
    EXPECT_EQ(gpu.take(3000), 5120);
    EXPECT_EQ(gpu.taken[1], (mig_instance{.profile = 0, .start = 1, .cores = {}})) << "the lowest free slot";
}

TEST(mig_groups, the_first_group_that_has_it_is_taken_in_the_configured_order) {
    covers({"R065", "R066"});
    gpu_in_groups gpu{a100_groups()};
    EXPECT_EQ(gpu.take(8000), 10240) << "group2, not group3";
    EXPECT_EQ(gpu.taken[0].profile, 1U);
    auto reversed = a100_groups();
    std::swap(reversed[0], reversed[3]);
    gpu_in_groups other{reversed};
    EXPECT_EQ(other.take(3000), 40960) << "first match, not best match";
}

TEST(mig_groups, within_a_group_the_smallest_that_is_enough) {
    gpu_in_groups gpu{{{.name = "g",
                        .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 1},
                                  {.name = "1g.5gb", .memory = mib{5120}, .count = 1},
                                  {.name = "2g.10gb", .memory = mib{10240}, .count = 1}}}}};
    EXPECT_EQ(gpu.take(3000), 5120);
    EXPECT_EQ(gpu.take(3000), 10240) << "the next larger if it is gone";
    EXPECT_EQ(gpu.take(3000), 20480);
    EXPECT_EQ(gpu.take(3000), refused(no_free_instance));
}

/// Upstream freezes the GPU in its group and takes the first kind that fits; here nothing of the group is out of reach.
TEST(mig_groups, every_unused_instance_of_a_mixed_group_is_reached) {
    const std::vector<mig_group> mixed{{.name = "mixed",
                                        .kinds = {{.name = "1g.5gb", .memory = mib{4864}, .count = 2},
                                                  {.name = "2g.10gb", .memory = mib{9856}, .count = 1},
                                                  {.name = "3g.20gb", .memory = mib{19968}, .count = 1}}}};
    const modes::mig_groups cut{mixed};
    cluster one_gpu;
    add_node(one_gpu, {{.model = "A100", .memory = mib{40536}, .slots = 10, .mode = &cut}});
    placer placing{one_gpu, "best_fit"};
    std::vector<std::uint32_t> kinds;
    for (int count = 0; count < 4; ++count) {
        const auto placed = placing.place(pod({want(1, 3000)}));
        ASSERT_TRUE(placed.has_value());
        kinds.push_back(std::get<mig_instance>(placed->shares[0].part).profile);
    }
    EXPECT_EQ(kinds, (std::vector<std::uint32_t>{0, 0, 1, 2})) << "1g.5gb twice, then 2g.10gb, then 3g.20gb";
    EXPECT_FALSE(placing.place(pod({want(1, 3000)})).has_value());
}

/// Nominal sizes can add up to more than the GPU registered; the check of memory is upstream's, which recordings show.
TEST(mig_groups, what_is_asked_for_is_no_more_than_the_registered_memory_leaves) {
    gpu_in_groups gpu{{{.name = "g",
                        .kinds = {{.name = "4g.20gb", .memory = mib{20480}, .count = 1},
                                  {.name = "3g.20gb", .memory = mib{20480}, .count = 1}}}}};
    gpu.spec.memory = mib{40536};
    EXPECT_EQ(gpu.take(20480), 20480);
    EXPECT_EQ(gpu.take(20480), refused(insufficient_device_memory)) << "20,056 MiB are left";
    EXPECT_EQ(gpu.take(20056), 20480) << "the instance itself is reached";
}

TEST(mig_groups, a_named_profile_gets_its_own_kind) {
    gpu_in_groups gpu{with_slices(built_in_mig_catalog(), "NVIDIA A100-SXM4-40GB", a100_groups())};
    device_request named;
    named.count = 1;
    named.profile = "1g.5gb";
    const auto take = [&] {
        std::vector<partition> parts;
        gpu.mode.candidates(gpu.spec, gpu.state, named, parts);
        if (parts.empty()) return refused(gpu.mode.why_not(gpu.spec, gpu.state, named).code);
        const auto& instance = std::get<mig_instance>(parts.front());
        gpu.state = gpu.mode.with(gpu.spec, gpu.state, instance);
        return static_cast<std::int64_t>(instance.profile);
    };
    EXPECT_EQ(gpu.take(8000), 10240) << "group2";
    EXPECT_EQ(take(), 2) << "the 1g.5gb of group2";
    EXPECT_EQ(take(), refused(no_free_instance)) << "2g.10gb are free, but not asked for";
    named.profile = "2g.10gb";
    EXPECT_EQ(take(), 1);
    std::vector<partition> others;
    gpu.mode.further_candidates(gpu.spec, gpu.state, named, others);
    EXPECT_TRUE(others.empty()) << "the group in use has no other kind of this name";
    named.profile = "3g.20gb";
    EXPECT_EQ(take(), refused(no_free_instance)) << "of another group";
    named.profile = "9g.99gb";
    EXPECT_EQ(take(), refused(request_not_valid));
    named.profile = "2g.10gb";
    named.memory = mib{11000};
    EXPECT_EQ(take(), refused(request_not_valid)) << "the profile has less than is asked for";
    named.memory = mib{3000};
    EXPECT_EQ(take(), 1);
    EXPECT_EQ(take(), refused(no_free_instance));
}

TEST(mig_groups, a_group_is_kept_until_the_gpu_is_empty) {
    gpu_in_groups gpu{a100_groups()};
    EXPECT_EQ(gpu.take(3000), 5120);
    EXPECT_EQ(gpu.take(20480), refused(no_free_instance)) << "20 GiB are left, but group1 has no such instance";
    gpu.give_back(0);
    EXPECT_EQ(gpu.state, device_state{});
    EXPECT_EQ(gpu.take(20480), 20480) << "20 GiB after the 5 GiB left: an empty GPU may change its group";
    EXPECT_EQ(gpu.take(3000), 20480) << "group3 has nothing smaller";
    EXPECT_EQ(gpu.take(3000), refused(insufficient_device_memory)) << "none is left";
}

TEST(mig_groups, a_part_of_another_group_is_refused) {
    gpu_in_groups gpu{a100_groups()};
    EXPECT_EQ(gpu.take(3000), 5120);
    const auto why = [&](std::uint32_t profile, std::uint32_t start) {
        return gpu.mode.why_not(gpu.spec, gpu.state, mig_instance{.profile = profile, .start = start, .cores = {}})
            .code;
    };
    EXPECT_EQ(why(0, 0), no_free_instance) << "taken";
    EXPECT_EQ(why(0, 6), none);
    EXPECT_EQ(why(0, 7), mode_not_offered) << "seven slots";
    EXPECT_EQ(why(2, 0), no_free_instance) << "1g.5gb of group2";
    EXPECT_EQ(why(9, 0), mode_not_offered);
    EXPECT_EQ(gpu.mode.why_not(gpu.spec, gpu.state, partition{part(1, 1)}).code, mode_not_offered);
}

device_spec seven_slots_of(const modes::mig_groups& mode, std::int64_t memory) {
    device_spec spec;
    spec.mode = &mode;
    spec.memory = mib{memory};
    spec.slots = 7;
    return mode.adapted(spec);
}

device_state instances_in_use(std::uint64_t layout, std::int64_t memory) {
    device_state state;
    state.layout = layout;
    state.slots = std::popcount(layout);
    state.memory = mib{memory};
    return state;
}

TEST(mig_groups, shares_of_slices_are_rounded_up) {
    mig_kind seventh{.name = "1g.10gb", .memory = mib{9728}, .count = 7};
    seventh.slices = {.memory = {1, 8}, .compute = {1, 7}};
    const modes::mig_groups known{{{.name = "g", .kinds = {seventh}}}};
    const device_spec spec = seven_slots_of(known, 81920);
    EXPECT_EQ(known.used(spec, instances_in_use(0b1, 9728)), milli_gpu{143}) << "as by placements";
    EXPECT_EQ(known.used_compute(spec, instances_in_use(0b111'1111, 68096)), milli_gpu{1000});
    seventh.slices.memory = {}; // of a GPU that no catalog knows
    const modes::mig_groups by_name{{{.name = "g", .kinds = {seventh}}}};
    EXPECT_EQ(by_name.used(spec, instances_in_use(0b111'1111, 68096)), milli_gpu{1000});
    EXPECT_EQ(by_name.used(spec, instances_in_use(0b1, 9728)), milli_gpu{143});
}

TEST(mig_groups, replicas_follow_one_another_and_are_dealt_to_instances) {
    mig_kind shared{.name = "3g.40gb", .memory = mib{100}, .count = 4};
    shared.replicas = 2;
    device_request one;
    one.count = 1;
    one.profile = "3g.40gb";
    for (const unit_order order : {unit_order::distributed, unit_order::packed}) {
        const modes::mig_groups mode{{{.name = "g", .kinds = {shared}}}, 1, {.order = order}};
        const device_spec spec = seven_slots_of(mode, 400);
        device_state state;
        std::vector<std::uint32_t> starts;
        for (int pod = 0; pod < 4; ++pod) {
            std::vector<partition> parts;
            mode.candidates(spec, state, one, parts);
            ASSERT_FALSE(parts.empty());
            starts.push_back(std::get<mig_instance>(parts.front()).start);
            state = mode.with(spec, state, parts.front());
            EXPECT_EQ(mode.fault_domain_size(state), order == unit_order::packed ? std::min(pod + 1, 2) : pod / 2 + 1);
        }
        const std::vector<std::uint32_t> spread{0, 2, 1, 3};
        const std::vector<std::uint32_t> filled{0, 1, 2, 3};
        EXPECT_EQ(starts, order == unit_order::packed ? filled : spread);
        const auto slot = [](std::uint32_t start) { return mig_instance{.profile = 0, .start = start, .cores = {}}; };
        EXPECT_TRUE(mode.fault_reaches(slot(0), slot(1)));
        EXPECT_FALSE(mode.fault_reaches(slot(1), slot(2)));
    }
}

TEST(mig_groups, the_factor_scales_requests_and_charges) {
    gpu_in_groups gpu{a100_groups(), 1024};
    EXPECT_EQ(gpu.take(3), 5) << "3 units of 1024 MiB: the 5 GB instance, charged 5 units";
    EXPECT_EQ(gpu.take(5), 5);
    EXPECT_EQ(gpu.take(6), refused(no_free_instance));
    EXPECT_EQ(gpu.state.memory, mib{10});
    EXPECT_EQ(gpu.mode.used(gpu.spec, gpu.state), milli_gpu{250});
}

// SEED-REQUIREMENTS (b); upstream's way is quirk Q27.
TEST(mig_groups, the_compute_asked_for_chooses_the_instance_and_nothing_is_charged_beside_it) {
    covers({"R037"});
    gpu_in_groups gpu{with_slices(built_in_mig_catalog(), "NVIDIA A100-SXM4-40GB", a100_groups())};
    EXPECT_EQ(gpu.take(3000, 14), 5120) << "one slice of seven";
    EXPECT_EQ(gpu.state.cores, core_percent{14});
    EXPECT_EQ(gpu.take(3000, 14), 5120) << "14 + 14 asked, six more instances are free";
    EXPECT_EQ(gpu.take(3000, 15), refused(insufficient_device_cores)) << "the group in use has no larger one";
    gpu.give_back(0);
    gpu.give_back(1);
    EXPECT_EQ(gpu.state, device_state{});
    EXPECT_EQ(gpu.take(3000, 15), 10240) << "two slices";
    EXPECT_EQ(gpu.taken[2].cores, core_percent{15}) << "annotations say what was asked for";
    EXPECT_EQ(gpu.state.cores, core_percent{28});
    gpu.give_back(2);
    EXPECT_EQ(gpu.take(3000, 43), 40960) << "3g.20gb has 42 %";
    gpu.give_back(3);
    EXPECT_EQ(gpu.take(3000, 100), 40960);
    EXPECT_EQ(gpu.take(3000, 101), refused(insufficient_device_memory)) << "of a whole GPU nothing is left";
}

TEST(mig_groups, a_kind_whose_compute_is_not_known_serves_no_request_for_compute) {
    gpu_in_groups gpu{{{.name = "g", .kinds = {{.name = "half", .memory = mib{20480}, .count = 2}}}}};
    EXPECT_EQ(gpu.take(3000, 1), refused(insufficient_device_cores));
    EXPECT_EQ(gpu.take(3000), 20480);
}

TEST(mig_groups, further_parts_are_larger_ones_and_those_of_other_groups) {
    gpu_in_groups gpu{a100_groups()};
    const auto further = [&gpu](std::int64_t memory) {
        std::vector<partition> parts;
        gpu.mode.further_candidates(gpu.spec, gpu.state, want(1, memory), parts);
        std::vector<std::uint32_t> kinds;
        for (const partition& part : parts) kinds.push_back(std::get<mig_instance>(part).profile);
        return kinds;
    };
    EXPECT_EQ(further(3000), (std::vector<std::uint32_t>{2, 1, 3, 4})) << "within a group the smaller ones first";
    EXPECT_EQ(further(20000), (std::vector<std::uint32_t>{4}));
    EXPECT_EQ(further(41000), std::vector<std::uint32_t>{});
    gpu.take(8000);
    EXPECT_EQ(further(3000), (std::vector<std::uint32_t>{1})) << "the group in use alone";
}

TEST(compute_of_instance, is_of_the_catalog_or_of_the_name) {
    const auto share = [](const char* model, const char* profile) {
        return compute_of_instance(built_in_mig_catalog(), model, profile).count();
    };
    EXPECT_EQ(share("NVIDIA A100-SXM4-40GB", "3g.20gb"), 42);
    EXPECT_EQ(share("NVIDIA A30", "2g.12gb"), 50) << "of four slices";
    EXPECT_EQ(share("NVIDIA A30", "2g.99gb"), 28) << "a profile that the model does not have: of seven";
    EXPECT_EQ(share("Nobody's GPU", "1g.5gb"), 14);
    EXPECT_EQ(share("Nobody's GPU", "7g.40gb"), 100);
    EXPECT_EQ(share("Nobody's GPU", "8g.40gb"), 0);
    EXPECT_EQ(share("Nobody's GPU", "half"), 0);
}

} // namespace
} // namespace vgpualloc
