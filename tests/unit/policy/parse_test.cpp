// Policy spellings, and the lists of policies.
#include "vgpualloc/policy/parse.hpp"

#include <algorithm>
#include <string>

#include "support.hpp"

#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc {
namespace {

using namespace test;

TEST(parse_policy, every_listed_policy_by_its_name) {
    for (const policy_entry& entry : native_policies) {
        const auto scorer = parse_policy(entry.name, native_policies, {});
        ASSERT_TRUE(scorer.has_value()) << entry.name;
        EXPECT_EQ((*scorer)->name(), entry.name);
        EXPECT_FALSE(entry.summary.empty());
    }
    EXPECT_TRUE(std::ranges::is_sorted(native_policies, {}, &policy_entry::name));
}

TEST(parse_policy, the_default_is_a_policy_that_draws_nothing_and_that_lists_say_to_start_with) {
    const auto scorer = parse_policy(default_policy, native_policies, {});
    ASSERT_TRUE(scorer.has_value()) << default_policy;
    EXPECT_EQ((*scorer)->name(), "bid_price");
    EXPECT_NE((*scorer)->traits().nodes, ties::drawn);
    EXPECT_NE((*scorer)->traits().devices, ties::drawn);
    for (const policy_entry& entry : native_policies) {
        EXPECT_EQ(entry.advice == "start with it", entry.name == default_policy) << entry.name;
    }
}

TEST(parse_policy, weighted_sums) {
    for (const char* spelling : {"weighted:fgd=1", "weighted:fgd=0.7,binpack=-0.3,fgd=0", "weighted:binpack=1e-3"}) {
        const auto scorer = parse_policy(spelling, native_policies, {});
        ASSERT_TRUE(scorer.has_value()) << spelling;
        EXPECT_EQ((*scorer)->name(), spelling);
    }
}

TEST(parse_policy, errors_say_what_would_have_been_accepted) {
    struct row {
        const char* spelling;
        error_code code;
        std::string message;
    };
    const auto malformed = [](const std::string& term, const std::string& form_wanted) {
        return term.empty() ? "policy: " + form_wanted : "policy: got '" + term + "', expected " + form_wanted;
    };
    const std::string form = "terms of the form NAME=WEIGHT joined by commas";
    const std::string number = "a decimal number from -1000000 to 1000000 as weight";
    const std::string list =
        "one of best_fit, bid_price, binpack, dual_price, fgd, fgd_literal, fgd_stranded, first_fit, "
        "keep_idle, mcc, mecc, mfi, random, "
        "spread, ssp, worst_fit, weighted:NAME=WEIGHT,…";
    const std::vector<row> rows{
        {"bin_pack", error_code::unknown_name, malformed("bin_pack", list)},
        {"", error_code::unknown_name, malformed("\"\"", list)},
        {"weighted:fgd=1,nope=2", error_code::unknown_name, malformed("nope", list)},
        {"weighted:", error_code::malformed, malformed("\"\"", form)},
        {"weighted:fgd", error_code::malformed, malformed("fgd", form)},
        {"weighted:fgd=1,", error_code::malformed, malformed("\"\"", form)},
        {"weighted:fgd=", error_code::malformed, malformed("fgd=", number)},
        {"weighted:fgd=1x", error_code::malformed, malformed("fgd=1x", number)},
        {"weighted:fgd=nan", error_code::malformed, malformed("fgd=nan", number)},
        {"weighted:fgd=inf", error_code::malformed, malformed("fgd=inf", number)},
        {"weighted:fgd=1e999", error_code::malformed, malformed("fgd=1e999", number)},
        {"weighted:random=1", error_code::unsupported,
         malformed("random=1", "a policy that scores; a drawn one cannot be weighted")},
        {"weighted:fgd=0,binpack=0", error_code::out_of_range,
         malformed("weighted:fgd=0,binpack=0", "a weight other than 0")},
        {"weighted:weighted:fgd=1", error_code::unknown_name, malformed("weighted:fgd", list)},
    };
    for (const row& line : rows) {
        const auto scorer = parse_policy(line.spelling, native_policies, {});
        ASSERT_FALSE(scorer.has_value()) << line.spelling;
        EXPECT_EQ(scorer.error().code, line.code) << line.spelling;
        EXPECT_EQ(scorer.error().message(), line.message) << line.spelling;
    }
}

/// A policy whose prices rise: what weighted has to pass on.
class priced final : public policy {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "priced"; }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override { return 1.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 2.0;
    }
    void observe(const policy_event&) override { ++epoch_; }
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return epoch_; }
    void forget_ids() override { epoch_ += 100; }

private:
    std::uint64_t epoch_ = 0;
};

TEST(weighted, passes_on_events_epochs_and_forgotten_ids) {
    std::vector<policies::weighted::term> terms;
    terms.push_back({.scorer = std::make_unique<priced>(), .weight = 0.5});
    terms.push_back({.scorer = std::make_unique<priced>(), .weight = 2.0});
    policies::weighted sum{"weighted:x", std::move(terms)};
    const booking none = book_on(0, node_index{0U});
    sum.observe({.kind = ledger_event_kind::reserve, .entry = &none, .where = none.where.node});
    EXPECT_EQ(sum.epoch(), 2U);
    sum.forget_ids();
    EXPECT_EQ(sum.epoch(), 202U);
    EXPECT_EQ(sum.node_score({}, {}, {}), 0.5 + 2.0);
    EXPECT_EQ(sum.device_score({}, {}, {}, {}), 0.5 * 2.0 + 2.0 * 2.0);
}

TEST(policy, draws_nothing_and_knows_nothing_by_default) {
    priced plain;
    policy& base = plain;
    EXPECT_EQ(base.traits(), policy_traits{});
    EXPECT_EQ(base.positional(), nullptr);
    EXPECT_EQ(base.draw(5), 0U);
}

} // namespace
} // namespace vgpualloc
