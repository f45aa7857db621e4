// How modes name their own parts and amounts, so that nobody else has to know a mode.
#include <string>

#include "support.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/mig_groups.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

device_spec spec_in(const sharing_mode& mode, std::int64_t memory = 40960) {
    return mode.adapted({.model = "A", .memory = mib{memory}, .slots = 10, .mode = &mode});
}

part_description named(std::string name, std::string group, std::int64_t memory, std::int64_t cores) {
    return {.name = std::move(name), .group = std::move(group), .memory = mib{memory}, .cores = core_percent{cores}};
}

use_vector uses(std::int64_t memory, std::int64_t compute, std::int64_t slots, std::int64_t ai_cpus) {
    return {.memory = mib{memory}, .compute = core_percent{compute}, .slots = slots, .ai_cpus = ai_cpus};
}

TEST(describe, slices_and_whole_devices_have_no_name) {
    for (const char* name : {"hami_core", "cce", "mps", "ascend_vir", "mindcluster_310p", "exclusive"}) {
        const sharing_mode& mode = test::mode(name);
        const device_spec spec = spec_in(mode);
        EXPECT_EQ(mode.describe(spec, part(128, 5)), named("", "", 128, 5)) << name;
        EXPECT_EQ(mode.describe(spec, whole_device{}), named("", "", 40960, spec.cores.count())) << name;
    }
}

TEST(describe, instances_are_named_by_the_model_or_by_the_groups) {
    const device_spec by_model = spec_in(mode("mig"));
    const part_description profile = by_model.mode->describe(by_model, mig_instance{.profile = 0, .start = 3});
    EXPECT_EQ(profile.name, "1g.5gb");
    EXPECT_EQ(profile.group, "");
    const device_state with_one = by_model.mode->with(by_model, {}, mig_instance{.profile = 0, .start = 3});
    EXPECT_EQ(profile.memory, with_one.memory) << "what a container gets is what is charged";
    const modes::mig_groups by_groups{
        {{.name = "g1", .kinds = {{.name = "a", .memory = mib{5120}, .count = 7}}},
         {.name = "g2", .kinds = {{.name = "b", .memory = mib{20480}, .count = 2, .cores = core_percent{42}}}}},
        1024};
    const device_spec grouped = spec_in(by_groups, 40);
    const mig_instance second{.profile = 1, .start = 1, .cores = core_percent{30}};
    EXPECT_EQ(by_groups.describe(grouped, second), named("b", "g2", 20480, 42))
        << "in MiB, whatever the factor; the compute of the instance, whatever was asked for";
}

TEST(describe, templates_are_named_by_the_table_and_a_whole_card_is_not) {
    const device_spec npu = spec_in(mode("ascend_vir"), 65536);
    EXPECT_EQ(npu.mode->describe(npu, vir_template{.index = 1, .memory = mib{32768}, .cores = core_percent{0}}),
              named("vir10_3c_32g", "", 32768, 0));
    EXPECT_EQ(npu.mode->describe(npu, vir_template{.index = 2, .memory = mib{65536}, .cores = core_percent{0}}),
              named("", "", 65536, 0));
    const device_spec chip = spec_in(mode("mindcluster_310p"));
    EXPECT_EQ(chip.mode->describe(chip, vir_template{.index = 0, .memory = {}, .cores = core_percent{1}}),
              named("vir01", "", 0, 1));
}

TEST(use, is_the_state_and_what_a_mode_counts_besides) {
    const device_spec gpu_spec = spec_in(mode("hami_core"));
    const device_state shared = gpu_spec.mode->with(gpu_spec, {}, part(128, 5));
    EXPECT_EQ(gpu_spec.mode->use(gpu_spec, shared), uses(128, 5, 1, 0));
    const device_spec npu = spec_in(mode("ascend_vir"), 65536);
    const device_state cut =
        npu.mode->with(npu, {}, vir_template{.index = 1, .memory = mib{32768}, .cores = core_percent{0}});
    EXPECT_EQ(npu.mode->use(npu, cut), uses(32768, 0, 1, 3));
    const device_spec chip = spec_in(mode("mindcluster_310p"), 0);
    const device_state one =
        chip.mode->with(chip, {}, vir_template{.index = 0, .memory = {}, .cores = core_percent{1}});
    EXPECT_EQ(chip.mode->use(chip, one), uses(0, 1, 1, 1));
    const device_state whole = chip.mode->with(chip, {}, whole_device{});
    EXPECT_EQ(chip.mode->use(chip, whole), uses(0, 8, 1, 7));
}

TEST(unit_of, says_what_the_numbers_of_a_refusal_count) {
    struct row {
        const char* mode;
        rejection_code code;
        device_request request;
        amount_unit unit;
    };
    const device_request by_amount = want(1, 100);
    device_request by_percent = want(1, 0);
    by_percent.memory_percent = 50;
    device_request in_software = by_amount;
    in_software.soft = true;
    const std::vector<row> rows{
        {"hami_core", insufficient_device_memory, by_percent, amount_unit::memory_mib},
        {"hami_core", insufficient_device_cores, by_amount, amount_unit::percent},
        {"mig", no_free_instance, by_percent, amount_unit::percent},
        {"mig", no_free_instance, by_amount, amount_unit::memory_mib},
        {"mig", request_not_valid, by_percent, amount_unit::memory_mib},
        {"mig", insufficient_device_cores, by_percent, amount_unit::percent},
        {"cce", request_not_valid, by_amount, amount_unit::none},
        {"cce", insufficient_device_memory, by_amount, amount_unit::memory_mib},
        {"ascend_vir", insufficient_device_cores, by_amount, amount_unit::ai_cores},
        {"ascend_vir", insufficient_device_cores, in_software, amount_unit::percent},
        {"ascend_vir", request_not_valid, by_amount, amount_unit::memory_mib},
        {"mindcluster_310p", request_not_valid, by_amount, amount_unit::ai_cores},
        {"mindcluster_310p", insufficient_device_cores, by_amount, amount_unit::ai_cores},
    };
    for (const row& expected_row : rows) {
        EXPECT_EQ(mode(expected_row.mode).unit_of(expected_row.code, expected_row.request), expected_row.unit)
            << expected_row.mode << ", " << to_string(expected_row.code);
    }
}

TEST(may_compromise, is_said_of_a_level_of_310p_alone) {
    device_request high = want(1, 0, 2);
    high.high_level = true;
    for (const sharing_mode* mode : all_modes()) {
        EXPECT_EQ(mode->may_compromise(high), mode->name() == "mindcluster_310p") << mode->name();
        EXPECT_FALSE(mode->may_compromise(want(1, 0, 2))) << mode->name();
    }
}

} // namespace
} // namespace vgpualloc
