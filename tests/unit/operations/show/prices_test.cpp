#include "vgpuops/show/prices.hpp"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpuops/show/overview.hpp"

namespace {

namespace show = vgpuops::show;
using show::model_use;

const std::string atlas_prices = R"({"gpu_hour": {"A100-80GB": 2.10, "T4": 0.30}, "kwh": 0.25, "currency": "EUR"})";

show::price_list prices(const std::string& text) { return show::read_prices(text, "prices.json").value(); }

/// The GPUs of cluster atlas.
std::vector<model_use> atlas() {
    return {{.name = "A100-80GB",
             .model = "NVIDIA-A100-SXM4-80GB",
             .gpus = 32,
             .parts = {19'000, 9000, 4000},
             .busy_at_most = 23},
            {.name = "T4", .model = "Tesla-T4", .gpus = 4, .parts = {1500, 2500, 0}, .busy_at_most = 4}};
}

show::daily_cost cost(const std::vector<model_use>& models, const std::string& text = atlas_prices) {
    return show::cost_of(models, prices(text), vgpualloc::built_in_power_catalog()).value();
}

std::string refusal(const std::string& text) {
    const auto read = show::read_prices(text, "prices.json");
    return read ? "" : read.error().message();
}

std::string cost_refusal(const std::vector<model_use>& models, const std::string& text) {
    const auto refused = show::cost_of(models, prices(text), vgpualloc::built_in_power_catalog());
    return refused ? "" : refused.error().message();
}

TEST(show_prices, are_read_with_four_decimals) {
    const show::price_list read = prices(R"({"gpu_hour": {"T4": 0.3001, "A100-80GB": 2}, "currency": "USD"})");
    EXPECT_EQ(read.gpu_hour, (std::map<std::string, std::int64_t>{{"A100-80GB", 20'000}, {"T4", 3001}}));
    EXPECT_FALSE(read.kwh.has_value());
    EXPECT_EQ(read.currency, "USD");
}

TEST(show_prices, name_what_is_wrong_with_them) {
    EXPECT_EQ(refusal(R"({"gpu_hour": {"T4": 0.30001}, "currency": "EUR"})"),
              "prices.json:1: gpu_hour.T4: got '0.30001', expected a price with at most four decimals");
    EXPECT_EQ(refusal(R"({"gpu_hour": {"T4": -1}, "currency": "EUR"})"),
              "prices.json:1: gpu_hour.T4: got '-1', expected a number from 0.0 to 100000.0");
    EXPECT_EQ(refusal(R"({"gpu_hour": {"T4": "1"}, "currency": "EUR"})"),
              "prices.json:1: gpu_hour.T4: got '1', expected a number from 0.0 to 100000.0");
    EXPECT_NE(refusal(R"({"gpu_hour": {"T4": 1}})").find("currency"), std::string::npos);
    EXPECT_NE(refusal(R"({"currency": "EUR"})").find("gpu_hour"), std::string::npos);
    EXPECT_NE(refusal(R"({"gpu_hours": {}, "currency": "EUR"})").find("gpu_hours"), std::string::npos);
    EXPECT_NE(refusal("{").find("prices.json"), std::string::npos);
}

TEST(show_prices, give_the_cost_of_a_day) {
    // 19 and 1.5 GPUs are used: 19 x 2.10 x 24 + 1.5 x 0.30 x 24 = 957.60 + 10.80.
    const show::daily_cost day = cost(atlas());
    EXPECT_EQ(day.parts_micro, (show::three_parts{968'400'000, 471'600'000, 201'600'000}));
    EXPECT_EQ(day.total_micro, 1'641'600'000);
    // 23 A100 at 400 W and 9 at 63 W, 4 T4 at 70 W.
    EXPECT_EQ(day.energy_wh, 24 * (23 * 400 + 9 * 63 + 4 * 70));
    EXPECT_EQ(day.energy_micro, 60'282'000);
    EXPECT_EQ(show::cost_line(day),
              "EUR A DAY  used 968.40 + free 471.60 + out 201.60 = 1641.60; energy at most 241.1 kWh, 60.28\n");
}

TEST(show_prices, take_a_model_by_its_full_name_first) {
    const std::string text =
        R"({"gpu_hour": {"A100-80GB": 2.10, "NVIDIA-A100-SXM4-80GB": 1, "T4": 0}, "currency": "EUR"})";
    const show::daily_cost day = cost(atlas(), text);
    EXPECT_EQ(day.total_micro, std::int64_t{32} * 24 * 1'000'000);
    EXPECT_FALSE(day.energy_micro.has_value());
    EXPECT_EQ(show::cost_line(day),
              "EUR A DAY  used 456.00 + free 216.00 + out 96.00 = 768.00; energy at most 241.1 kWh\n");
}

TEST(show_prices, are_for_every_model_of_the_cluster) {
    EXPECT_EQ(cost_refusal(atlas(), R"({"gpu_hour": {"A100-80GB": 2.10, "T40": 1, "L4": 1}, "currency": "EUR"})"),
              "prices.json: gpu_hour: no price for T4 (4 GPUs); expected a number for \"T4\", 0 if it costs nothing; "
              "near: L4, T40");
    EXPECT_EQ(cost_refusal(atlas(), R"({"gpu_hour": {"A100-80GB": 2.10}, "currency": "EUR"})"),
              "prices.json: gpu_hour: no price for T4 (4 GPUs); expected a number for \"T4\", 0 if it costs nothing");
    std::vector<model_use> many = atlas();
    many.front().gpus = 300'001;
    EXPECT_EQ(cost_refusal(many, atlas_prices), "prices.json: gpu_hour: more GPUs than sums have room for; expected at "
                                                "most 300000; -l chooses nodes");
}

TEST(show_prices, tell_whose_energy_is_not_known) {
    std::vector<model_use> models = atlas();
    models.push_back({.name = "X9", .model = "X9", .gpus = 2, .parts = {2000, 0, 0}, .busy_at_most = 2});
    const show::daily_cost day =
        cost(models, R"({"gpu_hour": {"A100-80GB": 2.10, "T4": 0.30, "X9": 1}, "currency": "EUR"})");
    EXPECT_EQ(day.energy_wh, cost(atlas()).energy_wh);
    EXPECT_NE(show::cost_line(day).find(" kWh\nwithout the energy of 2 X9, whose watts the catalog does not have\n"),
              std::string::npos);
}

/// The amount in cents that stands behind a word of a line.
std::int64_t cents_behind(const std::string& line, const std::string& word) {
    const std::size_t at = line.find(word) + word.size();
    return std::llround(100 * std::strtod(line.c_str() + at, nullptr));
}

TEST(show_prices, add_up_as_they_are_printed) {
    vgpualloc::rng random{28};
    for (int draw = 0; draw < 2000; ++draw) {
        std::vector<model_use> models = atlas();
        for (model_use& model : models) {
            const auto whole = static_cast<std::uint64_t>(model.gpus) * 1000;
            const auto used = static_cast<std::int64_t>(random.below(whole + 1));
            const auto free = static_cast<std::int64_t>(random.below(whole - static_cast<std::uint64_t>(used) + 1));
            model.parts = {used, free, static_cast<std::int64_t>(whole) - used - free};
        }
        show::price_list list = prices(atlas_prices);
        for (auto& [name, price] : list.gpu_hour) price = static_cast<std::int64_t>(random.below(50'000));
        const show::daily_cost day = show::cost_of(models, list, vgpualloc::built_in_power_catalog()).value();
        ASSERT_EQ(std::accumulate(day.parts_micro.begin(), day.parts_micro.end(), std::int64_t{0}), day.total_micro);
        const std::int64_t a_day = 24 * 100 * (32 * list.gpu_hour["A100-80GB"] + 4 * list.gpu_hour["T4"]);
        ASSERT_EQ(day.total_micro, a_day) << "price times GPUs times 24";
        const std::string line = show::cost_line(day);
        const std::int64_t parts =
            cents_behind(line, "used ") + cents_behind(line, "free ") + cents_behind(line, "out ");
        ASSERT_EQ(parts, cents_behind(line, " = ")) << line;
    }
}

TEST(show_models, count_gpus_on_which_something_runs) {
    using namespace cluster_test;
    const auto seen = show::overview_of(objects(card_node("n1", 3) + running_pod("a", "n1", 0, 10'000) +
                                                running_pod("b", "n1", 0, 10'000) + running_pod("c", "n1", 2, 40'960)),
                                        {});
    ASSERT_TRUE(seen.has_value()) << seen.error().message();
    ASSERT_EQ(seen->models.size(), 1U);
    const model_use& model = seen->models.front();
    EXPECT_EQ(model.name, "A100-40GB");
    EXPECT_EQ(model.model, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(model.gpus, 3);
    EXPECT_EQ(model.parts, seen->parts);
    EXPECT_EQ(model.busy_at_most, 2) << "the scheduler's annotations tell the GPUs";
}

} // namespace
