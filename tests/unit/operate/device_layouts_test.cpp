// What the MIG GPUs of a living cluster are cut into: noted, planned with, and followed step by step.
#include "vgpualloc/operate/device_layouts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

using namespace cluster_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vgpualloc::error_code;
using vgpualloc::live_cluster;
using vgpualloc::node_index;
using vgpualloc::operate::device_layouts;
using vgpualloc::operate::layout_instance;
using vgpualloc::operate::layout_step;
using vgpualloc::operate::step_outcome;
using vgpualloc::plan::mig_step_kind;
using vgpualloc::plan::transition_request;

constexpr node_index first{0};
const std::string gpu = "GPU-a-0";

/// By the catalog's places, as no geometry is configured.
std::unique_ptr<live_cluster> live_of(const std::string& yaml) {
    vgpualloc::live_options options;
    options.config.devices.vgpu.geometries.clear();
    auto live = live_cluster::make(std::move(options));
    EXPECT_TRUE(live) << live.error().message();
    for (const auto& object : objects(yaml)) (*live)->upsert(object);
    return *std::move(live);
}

class device_layouts_test : public testing::Test {
protected:
    [[nodiscard]] std::vector<std::string> words_of_plan(const transition_request& request) {
        const auto steps = layouts_.plan(first, gpu, request);
        EXPECT_TRUE(steps) << steps.error().message();
        if (!steps || !*steps) return {"no way"};
        std::vector<std::string> words;
        for (const layout_step& step : **steps) {
            words.push_back(std::string{vgpualloc::plan::name_of(step.kind)} + " " + step.profile + "@" +
                            std::to_string(step.start.count()));
        }
        return words;
    }
    [[nodiscard]] std::vector<std::string> words_of_layout() {
        const auto layout = layouts_.layout_of(first, gpu);
        EXPECT_TRUE(layout) << layout.error().message();
        std::vector<std::string> words;
        for (const layout_instance& instance : *layout) {
            words.push_back(instance.profile + "@" + std::to_string(instance.start) +
                            (instance.is_busy ? " busy" : "") + (instance.exists ? "" : " to be made"));
        }
        return words;
    }
    [[nodiscard]] auto note(const layout_step& step, step_outcome outcome = step_outcome::done) {
        return layouts_.note_step(first, gpu, step, outcome);
    }

    const std::string wants_mig = pod_object("p", 18'000, {.annotations = "volcano.sh/vgpu-mode: mig"});
    std::unique_ptr<live_cluster> live_ = live_of(card_node("a", 1, "mig") + wants_mig);
    device_layouts layouts_{*live_};
};

TEST_F(device_layouts_test, a_plan_is_carried_out_step_by_step) {
    EXPECT_THAT(words_of_layout(), IsEmpty()) << "nothing was noted";
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"1g.5gb@0", "2g.10gb@4"}, {"1g.5gb@0"}));
    EXPECT_THAT(words_of_layout(), ElementsAre("1g.5gb@0 busy", "2g.10gb@4"));
    EXPECT_THAT(words_of_plan({.want = "3g.20gb"}), ElementsAre("destroy 2g.10gb@4", "create 3g.20gb@4"));
    EXPECT_THAT(words_of_plan({.want = "7g.40gb"}), ElementsAre("no way")) << "a busy instance stays";
    EXPECT_THAT(words_of_plan({.group = {"1g.5gb=7"}}), ElementsAre("no way"));
    const auto steps = layouts_.plan(first, gpu, {.want = "3g.20gb"});
    for (const layout_step& step : **steps) ASSERT_TRUE(note(step)) << step.profile;
    EXPECT_THAT(words_of_layout(), ElementsAre("1g.5gb@0 busy", "3g.20gb@4"));
    EXPECT_THAT(words_of_plan({.want = "3g.20gb"}), IsEmpty()) << "it is there";
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"1g.5gb@0"})) << "in the place of all that was noted before";
    EXPECT_THAT(words_of_layout(), ElementsAre("1g.5gb@0"));
}

TEST_F(device_layouts_test, after_a_step_that_failed_nothing_is_known_until_the_layout_is_noted) {
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"2g.10gb@4"}));
    const layout_step step{.kind = mig_step_kind::destroy, .profile = "2g.10gb", .start = vgpualloc::mig_units{4}};
    ASSERT_TRUE(note(step, step_outcome::failed));
    EXPECT_FALSE(layouts_.is_known(first, gpu));
    for (const auto& refused : {note(step), note(step, step_outcome::failed)}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, error_code::unsupported);
        EXPECT_THAT(refused.error().message(), HasSubstr("was noted since a step of it failed"));
    }
    EXPECT_FALSE(layouts_.layout_of(first, gpu));
    EXPECT_FALSE(layouts_.plan(first, gpu, {.want = "1g.5gb"}));
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {}));
    EXPECT_TRUE(layouts_.is_known(first, gpu));
    EXPECT_THAT(words_of_plan({.want = "7g.40gb"}), ElementsAre("create 7g.40gb@0"));
}

TEST_F(device_layouts_test, what_a_pod_was_given_is_made_at_its_place_and_taken_by_no_plan) {
    ASSERT_TRUE(live_->reserve("ns/p", first).fits());
    EXPECT_THAT(words_of_layout(), ElementsAre("3g.20gb@4 busy to be made"));
    EXPECT_THAT(words_of_plan({.want = "3g.20gb@4"}), ElementsAre("create 3g.20gb@4"));
    EXPECT_THAT(words_of_plan({.want = "3g.20gb"}), ElementsAre("create 3g.20gb@0")) << "another one";
    EXPECT_THAT(words_of_plan({.want = "7g.40gb"}), ElementsAre("no way"));
    EXPECT_THAT(words_of_plan({.want = "1g.5gb@5"}), ElementsAre("no way"));
    EXPECT_THAT(words_of_plan({.group = {"7g.40gb=1"}}), ElementsAre("no way"));
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"1g.5gb@4", "2g.10gb@0"}));
    EXPECT_THAT(words_of_plan({.want = "3g.20gb@4"}), ElementsAre("destroy 1g.5gb@4", "create 3g.20gb@4"));
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"3g.20gb@4"}));
    EXPECT_THAT(words_of_layout(), ElementsAre("3g.20gb@4 busy"));
    const layout_step destroy{.kind = mig_step_kind::destroy, .profile = "3g.20gb", .start = vgpualloc::mig_units{4}};
    const auto refused = note(destroy);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "step: got 'destroy 3g.20gb@4', expected an instance that is not busy");
    EXPECT_EQ(live_->rollback("ns/p").code, vgpualloc::rejection_code::none);
    EXPECT_TRUE(note(destroy));
}

TEST_F(device_layouts_test, a_step_that_the_gpu_cannot_take_is_refused) {
    const auto refusal = [&](mig_step_kind kind, const std::string& profile, int start) {
        const auto noted = note({.kind = kind, .profile = profile, .start = vgpualloc::mig_units{start}});
        return noted ? std::string{} : noted.error().message();
    };
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"3g.20gb@4"}));
    EXPECT_THAT(refusal(mig_step_kind::create, "2g.10gb", 4), HasSubstr("one that fits beside those that exist"));
    EXPECT_THAT(refusal(mig_step_kind::create, "3g.20gb", 4), HasSubstr("one that fits beside"));
    EXPECT_THAT(refusal(mig_step_kind::destroy, "2g.10gb", 4), HasSubstr("an instance that exists"));
    EXPECT_THAT(refusal(mig_step_kind::destroy, "2g.10gb", 1), HasSubstr("an instance that the model has"));
    EXPECT_THAT(refusal(mig_step_kind::create, "9g.80gb", 0), HasSubstr("9g.80gb"));
    EXPECT_THAT(refusal(mig_step_kind::save, "3g.20gb", 4), HasSubstr("a step that creates or destroys an instance"));
    EXPECT_THAT(words_of_layout(), ElementsAre("3g.20gb@4")) << "nothing was noted";
}

TEST_F(device_layouts_test, wrong_requests_and_devices_are_errors) {
    live_->upsert(objects(card_node("b", 1))[0]);
    const auto code_of = [](const auto& result) { return result ? std::optional<error_code>{} : result.error().code; };
    EXPECT_EQ(code_of(layouts_.plan(first, gpu, {})), error_code::missing);
    EXPECT_EQ(code_of(layouts_.plan(first, gpu, {.want = "1g.5gb", .group = {"1g.5gb=1"}})), error_code::missing);
    EXPECT_EQ(code_of(layouts_.plan(first, gpu, {.want = "1g.5gb", .moving = {.fewest_moves = true}})),
              error_code::unsupported);
    EXPECT_EQ(code_of(layouts_.plan(first, gpu, {.want = "1g.5gb", .moving = {.moves_max = 1}})),
              error_code::unsupported);
    EXPECT_EQ(code_of(layouts_.layout_of(first, "GPU-none")), error_code::unknown_name);
    EXPECT_EQ(code_of(layouts_.layout_of(node_index{9}, gpu)), error_code::unknown_name);
    EXPECT_EQ(code_of(layouts_.layout_of(live_->find_node("b"), "GPU-b-0")), error_code::unsupported);
    EXPECT_EQ(code_of(layouts_.note_layout(first, gpu, {"3g.20gb@0", "2g.10gb@2"})), error_code::mismatch);
    EXPECT_EQ(code_of(layouts_.note_layout(first, gpu, {"1g.5gb@0"}, {"1g.5gb@1"})), error_code::mismatch);
    EXPECT_TRUE(layouts_.is_known(first, "GPU-none")) << "nothing of it was ever unknown";
}

TEST_F(device_layouts_test, what_was_noted_goes_with_the_device) {
    ASSERT_TRUE(layouts_.note_layout(first, gpu, {"3g.20gb@4"}));
    ASSERT_TRUE(live_->remove_node("a"));
    live_->upsert(objects(card_node("b", 1, "mig"))[0]);
    ASSERT_TRUE(layouts_.note_layout(live_->find_node("b"), "GPU-b-0", {})) << "what is gone is forgotten now";
    live_->upsert(objects(card_node("a", 1, "mig"))[0]);
    const auto back = layouts_.layout_of(live_->find_node("a"), gpu);
    ASSERT_TRUE(back);
    EXPECT_THAT(*back, IsEmpty());
}

} // namespace
