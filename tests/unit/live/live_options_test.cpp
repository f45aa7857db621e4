// Options of living clusters from texts.
#include "vgpualloc/live/live_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::StartsWith;
using vgpualloc::live_option_texts;
using vgpualloc::read_live_options;

TEST(live_options, what_is_not_said_is_the_default) {
    const auto options = read_live_options({});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->policy, vgpualloc::default_policy);
    EXPECT_EQ(options->device_policy, "");
}

TEST(live_options, every_text_counts) {
    const auto options =
        read_live_options({.policy = "spread",
                           .device_policy = "binpack",
                           .device_config = "nvidia:\n  resourceCountName: example.com/gpus\n",
                           .scheduler_config = "tiers:\n- plugins:\n  - name: deviceshare\n    arguments:\n"
                                               "      deviceshare.GPUExclusiveRules: '[{\"app\": \"a\"}]'\n"});
    ASSERT_TRUE(options) << options.error().message();
    EXPECT_EQ(options->policy, "spread");
    EXPECT_EQ(options->device_policy, "binpack");
    EXPECT_EQ(options->config.devices.vgpu.count_name, "example.com/gpus");
    EXPECT_EQ(options->config.exclusive_rules.size(), 1U);
    EXPECT_FALSE(options->config.gpushare_by_number);
    EXPECT_TRUE(read_live_options({.scheduler_config = "tiers:\n- plugins:\n  - name: deviceshare\n    arguments:\n"
                                                       "      deviceshare.GPUNumberEnable: true\n"})
                    ->config.gpushare_by_number);
}

std::string scheduler(const std::string& arguments, const std::string& plugin = "vgpualloc") {
    return "tiers:\n- plugins:\n  - name: gang\n  - name: " + plugin + "\n    arguments:\n" + arguments;
}

TEST(live_options, policies_of_plugin_vgpualloc_stand_where_no_others_are_given) {
    const auto policies = [](const live_option_texts& texts) {
        const auto options = read_live_options(texts);
        return options ? options->policy + " " + options->device_policy : options.error().message();
    };
    const std::string both = scheduler("      vgpualloc.policy: spread\n      vgpualloc.device-policy: best_fit\n");
    EXPECT_EQ(policies({.scheduler_config = both}), "spread best_fit");
    EXPECT_EQ(policies({.policy = "binpack", .scheduler_config = both}), "binpack best_fit");
    EXPECT_EQ(policies({.device_policy = "binpack", .scheduler_config = both}), "spread binpack");
    EXPECT_EQ(policies({.scheduler_config = scheduler("      deviceshare.SchedulePolicy: binpack\n")}), "binpack ");
    const std::string by_default = std::string{vgpualloc::default_policy} + " ";
    EXPECT_EQ(policies({.scheduler_config = scheduler("      deviceshare.VGPUEnable: true\n")}), by_default);
    EXPECT_EQ(policies({.scheduler_config = scheduler("      deviceshare.SchedulePolicy: spread\n", "deviceshare")}),
              by_default)
        << "plugin deviceshare ranks otherwise than our policy of that name";
}

TEST(live_options, an_argument_of_vgpualloc_is_refused_with_its_place_and_value) {
    const auto message = [](const std::string& text) {
        const auto read = vgpualloc::read_scheduler_config(text, "s.conf");
        return read ? std::string{"no error"} : read.error().message();
    };
    EXPECT_THAT(message(scheduler("      deviceshare.VGPUEnable: true\n      vgpualloc.policy: best\n")),
                StartsWith("s.conf:7: plugin vgpualloc: vgpualloc.policy: got 'best', expected one of best_fit, "));
    EXPECT_EQ(
        message(scheduler("      vgpualloc.device-policy: random\n")),
        "s.conf:6: plugin vgpualloc: vgpualloc.device-policy: got 'random', expected a policy that draws nothing");
    EXPECT_THAT(message(scheduler("      vgpualloc.policy: weighted:fgd=x\n")),
                HasSubstr("s.conf:6: plugin vgpualloc"));
    EXPECT_EQ(message(scheduler("      vgpualloc.weight: -2\n")),
              "s.conf:6: plugin vgpualloc: vgpualloc.weight: got '-2', expected a number that is not below 0");
    EXPECT_THAT(message(scheduler("      deviceshare.SchedulePolicy: best\n")),
                HasSubstr("s.conf:6: plugin vgpualloc: deviceshare.SchedulePolicy: got 'best'"));
    EXPECT_EQ(message(scheduler("      {}\n  - name: deviceshare\n")),
              "s.conf: plugins: got 'vgpualloc and deviceshare', expected one of them: both would give out the same "
              "devices");
    EXPECT_EQ(message("tiers: 3\n"), "s.conf: tiers: got '3', expected a scheduler configuration with a list of tiers");
    EXPECT_EQ(message("tiers:\n- plugins: gang\n"),
              "s.conf:2: tiers: plugins: got 'gang', expected tiers with a list of plugins each");
}

TEST(live_options, a_policy_that_is_not_known_is_told_with_those_that_draw_nothing) {
    const auto message = [](const char* policy) {
        vgpualloc::live_options options;
        options.policy = policy;
        const auto live = vgpualloc::live_cluster::make(options);
        return live ? std::string{"no error"} : live.error().message();
    };
    EXPECT_THAT(message(""), StartsWith("policy: got '\"\"', expected one of best_fit, bid_price, "));
    EXPECT_THAT(message("best"), testing::AllOf(HasSubstr("got 'best'"), testing::Not(HasSubstr("random"))));
    EXPECT_THAT(message("random"), HasSubstr("a policy that draws nothing"));
}

TEST(live_options, errors_name_the_text) {
    const auto where = [](const live_option_texts& texts) {
        const auto options = read_live_options(texts, {.catalog = "c.json", .device_config = "d.yaml"});
        return options ? std::string{"no error"} : options.error().message();
    };
    EXPECT_THAT(where({.catalog = "{"}), StartsWith("c.json:1"));
    EXPECT_THAT(where({.device_config = "nvidia: 3"}), StartsWith("d.yaml"));
    EXPECT_THAT(where({.scheduler_config = "tiers: []"}), StartsWith("scheduler_config"));
}

} // namespace
