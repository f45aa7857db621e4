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
    EXPECT_EQ(options->policy, vgpualloc::explaining::default_policy);
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
