// What policies say of themselves, alone, in a sum and in a pair; and draws that a trial takes back.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../support.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/deviceshare.hpp"
#include "vgpualloc/policy/pair.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc {
namespace {

/// A policy that is whatever it is made with, and counts the trials that it is told of.
class declared : public policy {
public:
    explicit declared(policy_traits traits) : traits_{traits} {}
    [[nodiscard]] std::string_view name() const noexcept override { return "declared"; }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override { return 0.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] policy_traits traits() const noexcept override { return traits_; }
    void enter_trial() override { trials += "("; }
    void leave_trial(bool keep) override { trials += keep ? "+)" : "-)"; }

    std::string trials;

private:
    policy_traits traits_;
};

std::unique_ptr<policy> sum_of(const std::vector<policy_traits>& terms) {
    std::vector<policies::weighted::term> list;
    for (const policy_traits& traits : terms) list.push_back({.scorer = std::make_unique<declared>(traits)});
    return std::make_unique<policies::weighted>("weighted:x", std::move(list));
}

constexpr policy_traits by_totals{.view = looks_at::totals};
constexpr policy_traits by_configuration{};
constexpr policy_traits with_one_score{.device_score_is_node_score = true};
constexpr policy_traits with_history{.view = looks_at::totals, .history = true};
constexpr policy_traits by_position{.view = looks_at::positions};
constexpr policy_traits drawing_nodes{.nodes = ties::drawn};
constexpr policy_traits drawing_devices{.devices = ties::drawn};

TEST(policy_traits, a_sum_looks_at_what_any_of_its_terms_looks_at) {
    EXPECT_EQ(sum_of({by_totals, by_totals})->traits(), by_totals);
    EXPECT_EQ(sum_of({by_totals, by_configuration})->traits(), by_configuration);
    EXPECT_EQ(sum_of({with_one_score, with_one_score})->traits(), with_one_score);
    EXPECT_EQ(sum_of({with_one_score, by_configuration})->traits(), by_configuration);
    EXPECT_EQ(sum_of({with_one_score, by_totals})->traits(), by_configuration);
    EXPECT_EQ(sum_of({by_totals, with_history})->traits(), with_history);
    EXPECT_EQ(sum_of({with_history, with_one_score})->traits(), (policy_traits{.history = true}));
}

TEST(policy_traits, a_sum_has_no_term_that_draws_or_looks_at_positions) {
    for (const policy_traits& traits : {by_position, drawing_nodes, drawing_devices}) {
        EXPECT_FALSE(policies::weighted::can_be_a_term(declared{traits}));
        EXPECT_DEATH(static_cast<void>(sum_of({by_totals, traits})), "terms of a sum score nodes and draw nothing");
    }
    EXPECT_DEATH(static_cast<void>(sum_of({})), "a weighted sum has terms");
}

TEST(policy_traits, of_a_pair_are_those_of_both_policies) {
    declared totals{by_totals};
    declared one_score{with_one_score};
    declared other_one_score{with_one_score};
    declared history{with_history};
    declared draws_nodes{drawing_nodes};
    declared draws_devices{drawing_devices};
    EXPECT_TRUE(traits_of({.node = &totals, .device = &totals}).by_totals);
    EXPECT_FALSE(traits_of({.node = &totals, .device = &one_score}).by_totals);
    EXPECT_FALSE(traits_of({.node = &one_score, .device = &totals}).by_totals);
    EXPECT_TRUE(traits_of({.node = &one_score, .device = &one_score}).one_score);
    EXPECT_FALSE(traits_of({.node = &one_score, .device = &other_one_score}).one_score) << "two policies, two scores";
    EXPECT_FALSE(traits_of({.node = &totals, .device = &history}).state_alone);
    EXPECT_TRUE(traits_of({.node = &totals, .device = &one_score}).state_alone);
    const pair_traits drawn = traits_of({.node = &draws_nodes, .device = &draws_devices});
    EXPECT_TRUE(drawn.draws_nodes && drawn.draws_devices);
    const pair_traits in_order = traits_of({.node = &draws_devices, .device = &draws_nodes});
    EXPECT_FALSE(in_order.draws_nodes || in_order.draws_devices) << "each policy settles its own ties alone";
    policies::first_devices positional;
    EXPECT_EQ(traits_of({.node = &positional, .device = &positional}).positional, &positional);
    EXPECT_EQ(in_order.positional, nullptr);
}

TEST(policy_traits, a_pair_that_cannot_be_is_refused) {
    declared totals{by_totals};
    declared contradicts{{.view = looks_at::totals, .device_score_is_node_score = true}};
    declared says_positions{by_position};
    policies::first_devices positional;
    EXPECT_DEATH(static_cast<void>(traits_of({.node = &contradicts, .device = &totals})), "traits go together");
    EXPECT_DEATH(static_cast<void>(traits_of({.node = &totals, .device = &contradicts})), "traits go together");
    EXPECT_DEATH(static_cast<void>(traits_of({.node = &positional, .device = &totals})), "or neither does");
    EXPECT_DEATH(static_cast<void>(traits_of({.node = &totals, .device = &positional})), "or neither does");
    EXPECT_DEATH(static_cast<void>(traits_of({.node = &says_positions, .device = &says_positions})),
                 "is a positional_policy");
}

TEST(policy_traits, every_listed_policy_can_be_paired_with_itself) {
    for (const policy_entry& entry : native_policies) {
        const auto scorer = entry.make({});
        const pair_traits traits = traits_of({.node = scorer.get(), .device = scorer.get()});
        constexpr std::array by_devices{"bid_price", "dual_price", "mcc", "mecc", "mfi", "ssp"};
        const bool of_configurations = entry.name.find("fgd") != std::string_view::npos ||
                                       std::ranges::find(by_devices, entry.name) != by_devices.end();
        EXPECT_EQ(traits.by_totals, !of_configurations) << entry.name;
        EXPECT_EQ(traits.one_score, of_configurations) << entry.name;
        EXPECT_EQ(traits.priced != nullptr, entry.name == "ssp") << entry.name;
        EXPECT_EQ(traits.draws_nodes, entry.name == "random") << entry.name;
        EXPECT_TRUE(traits.state_alone) << entry.name;
    }
}

std::vector<std::uint64_t> draws_of(policy& drawer, int count) {
    std::vector<std::uint64_t> result;
    for (int i = 0; i < count; ++i) result.push_back(drawer.draw(1'000'000));
    return result;
}

TEST(trial, takes_its_draws_back_unless_it_is_kept) {
    const policy_parameters seeded{.target = {}, .seed = 3};
    std::vector<policy_entry> drawing;
    for (const policy_entry& entry : native_policies) drawing.push_back(entry);
    std::erase_if(drawing, [](const policy_entry& entry) { return entry.make({})->traits().nodes != ties::drawn; });
    ASSERT_EQ(drawing.size(), 1U) << "random";
    for (const policy_entry& entry : drawing) {
        const auto untouched = entry.make(seeded);
        const std::vector<std::uint64_t> expected_draws = draws_of(*untouched, 8);
        const auto drawer = entry.make(seeded);
        drawer->enter_trial();
        static_cast<void>(draws_of(*drawer, 3));
        drawer->enter_trial();
        static_cast<void>(draws_of(*drawer, 2));
        drawer->leave_trial(true);
        drawer->leave_trial(false); // the kept trial inside it is undone with it
        EXPECT_EQ(draws_of(*drawer, 2), (std::vector(expected_draws.begin(), expected_draws.begin() + 2)));
        drawer->enter_trial();
        EXPECT_EQ(draws_of(*drawer, 2), (std::vector(expected_draws.begin() + 2, expected_draws.begin() + 4)));
        drawer->enter_trial();
        static_cast<void>(draws_of(*drawer, 5));
        drawer->leave_trial(false);
        EXPECT_EQ(draws_of(*drawer, 1), (std::vector{expected_draws[4]})) << "only the inner trial is undone";
        drawer->leave_trial(true);
        EXPECT_EQ(draws_of(*drawer, 3), (std::vector(expected_draws.begin() + 5, expected_draws.end())));
        const auto next_draw = [&] { return drawer->draw(1'000'000'000); };
        drawer->enter_trial();
        const std::uint64_t number = next_draw();
        drawer->leave_trial(false);
        drawer->leave_trial(false); // of a trial that was begun where the log was cut
        EXPECT_EQ(next_draw(), number);
    }
}

TEST(trial, a_sum_tells_its_terms) {
    std::vector<policies::weighted::term> terms;
    auto scorer = std::make_unique<declared>(by_totals);
    const declared& told = *scorer;
    terms.push_back({.scorer = std::move(scorer)});
    policies::weighted sum{"weighted:x", std::move(terms)};
    sum.enter_trial();
    sum.enter_trial();
    sum.leave_trial(true);
    sum.leave_trial(false);
    EXPECT_EQ(told.trials, "((+)-)");
}

} // namespace
} // namespace vgpualloc
