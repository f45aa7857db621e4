#include "vgpusim/study/scenario.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "temporary_folder.hpp"
#include "vgputraces/file_source.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;
using vgpusim::effective;
using vgpusim::read_scenario;
using vgpusim::run_config;
using vgpusim::set_key;

using settings = std::vector<std::pair<std::string, std::string>>;

const settings other_values{{"format", "other"},
                            {"nodes", "/n.csv"},
                            {"pods", "/p.csv"},
                            {"classes", "/c.yaml"},
                            {"start", "/cluster.json"},
                            {"start_ends", "/ends.csv"},
                            {"queues", "/q.yaml"},
                            {"config", "/d.yaml"},
                            {"scheduler_config", "/s.yaml"},
                            {"catalog", "/m.json"},
                            {"events", "/e.csv"},
                            {"failures", "/f.json"},
                            {"autoscaler", "/a.yaml"},
                            {"policy", "best_fit"},
                            {"device_policy", "fgd"},
                            {"mode", "exclusive"},
                            {"tune", "1.25"},
                            {"offered_load", "0.5"},
                            {"seed", "-7"},
                            {"departures", "true"},
                            {"mapping", R"([{"request":"pod.yaml"}])"},
                            {"skip_bad_rows", "true"},
                            {"discipline", "easy"},
                            {"after_failure", "lose"},
                            {"layout_change_s", "30"},
                            {"defragment", "periodic"},
                            {"defragment_every_s", "60"},
                            {"defragment_moves_max", "2"},
                            {"defragment_share", "0.5"},
                            {"move_downtime_s", "5"},
                            {"move_copy_s_per_gib", "2"},
                            {"prices", "/prices.json"},
                            {"price_demand", "learned"},
                            {"price_every", "100"},
                            {"price_window", "300"},
                            {"sample_interval_s", "60"},
                            {"trace", "true"},
                            {"out", "elsewhere"}};

class scenario_file : public testing::Test {
protected:
    [[nodiscard]] vgpualloc::expected<vgpusim::scenario> read(const std::string& text) const {
        std::ofstream(path()) << text;
        return read_scenario(path(), vgputraces::file_source{});
    }
    [[nodiscard]] std::string path() const { return folder_ / "study.json"; }

    vga_test::temporary_folder folder_;
};

TEST(run_config, every_key_can_be_set_and_is_shown_as_it_was_set) {
    run_config config;
    for (const auto& [key, value] : other_values) ASSERT_TRUE(set_key(config, key, value)) << key;
    EXPECT_EQ(effective(config), other_values); // the same keys in the same order, so none is missing here
    for (const auto& [key, value] : effective(run_config{})) {
        const auto& other = *std::ranges::find(other_values, key, &settings::value_type::first);
        EXPECT_NE(value, other.second) << key << " is tested with its default";
    }
}

TEST(run_config, what_is_shown_sets_the_same_configuration) {
    run_config first;
    for (const auto& [key, value] : other_values) ASSERT_TRUE(set_key(first, key, value));
    run_config second;
    for (const auto& [key, value] : effective(first)) ASSERT_TRUE(set_key(second, key, value));
    EXPECT_EQ(effective(first), effective(second));
}

TEST(run_config, unknown_keys_list_the_known_ones) {
    run_config config;
    const auto done = set_key(config, "polisy", "fgd");
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().value, "polisy");
    for (const auto& [key, value] : effective(config)) EXPECT_THAT(done.error().expected, HasSubstr(key));
}

TEST(run_config, a_number_that_is_out_of_range_is_not_malformed) {
    using vgpualloc::error_code;
    const auto code_of = [](const char* key, const char* value) {
        run_config config;
        const auto done = set_key(config, key, value);
        return done ? error_code::io : done.error().code;
    };
    for (const char* const value : {"-1", "1001", "1e308", "1e999", "inf"}) {
        EXPECT_EQ(code_of("tune", value), error_code::out_of_range) << value;
    }
    for (const char* const value : {"nan", "1.3x", " 1", "1,3", "one"}) {
        EXPECT_EQ(code_of("tune", value), error_code::malformed) << value;
    }
    EXPECT_EQ(code_of("tune", ""), error_code::missing);
    EXPECT_EQ(code_of("seed", "18446744073709551616"), error_code::out_of_range);
    EXPECT_EQ(code_of("seed", "1.5"), error_code::malformed);
    EXPECT_EQ(code_of("sample_interval_s", "-1"), error_code::out_of_range);
    EXPECT_EQ(code_of("sample_interval_s", "1e3"), error_code::malformed);
    EXPECT_EQ(code_of("departures", "1"), error_code::malformed);
}

TEST(run_config, malformed_values_are_refused_and_change_nothing) {
    const settings bad{{"tune", "-1"},
                       {"tune", "nan"},
                       {"tune", "inf"},
                       {"tune", "1e308"},
                       {"tune", "1.3x"},
                       {"tune", ""},
                       {"tune", " 1"},
                       {"tune", "1,3"},
                       {"seed", "1.5"},
                       {"seed", "abc"},
                       {"seed", ""},
                       {"seed", "18446744073709551616"},
                       {"seed", "-9223372036854775809"},
                       {"offered_load", "-1"},
                       {"offered_load", "1001"},
                       {"departures", "yes"},
                       {"departures", "1"},
                       {"departures", ""},
                       {"defragment", "always"},
                       {"defragment_every_s", "0"},
                       {"defragment_moves_max", "17"},
                       {"defragment_share", "1.5"},
                       {"sample_interval_s", "-1"},
                       {"sample_interval_s", "1.5"},
                       {"sample_interval_s", "1000000001"}};
    for (const auto& [key, value] : bad) {
        run_config config;
        const auto done = set_key(config, key, value);
        ASSERT_FALSE(done.has_value()) << key << " " << value;
        EXPECT_EQ(done.error().field, key);
        EXPECT_EQ(done.error().value, value);
        EXPECT_FALSE(done.error().expected.empty());
        EXPECT_EQ(effective(config), effective(run_config{}));
    }
}

TEST(run_config, the_ends_of_the_ranges_are_accepted) {
    run_config config;
    for (const auto& [key, value] : settings{{"tune", "0"},
                                             {"tune", "1000"},
                                             {"seed", "18446744073709551615"},
                                             {"seed", "-9223372036854775808"},
                                             {"sample_interval_s", "0"},
                                             {"sample_interval_s", "1000000000"}}) {
        EXPECT_TRUE(set_key(config, key, value)) << key << " " << value;
    }
}

TEST_F(scenario_file, sets_every_key) {
    nlohmann::json object{{"name", "a study"}, {"description", "why"}};
    for (const auto& [key, value] : other_values) object[key] = value;
    const auto config = read(object.dump());
    ASSERT_TRUE(config.has_value()) << config.error().message();
    EXPECT_EQ(effective(config->config), other_values);
}

TEST_F(scenario_file, takes_numbers_and_booleans_as_such) {
    const auto config = read(R"({"tune": 1.25, "seed": -7, "departures": true, "sample_interval_s": 60})");
    ASSERT_TRUE(config.has_value()) << config.error().message();
    EXPECT_EQ(config->config.tune, 1.25);
    EXPECT_EQ(config->config.seed, -7);
    EXPECT_TRUE(config->config.departures);
    EXPECT_EQ(config->config.sample_interval_s, 60);
}

TEST_F(scenario_file, a_baseline_differs_from_the_run_in_what_it_says) {
    const auto study = read(R"({"policy": "best_fit", "seed": 3, "baseline": {"mode": "exclusive", "tune": 0.5}})");
    ASSERT_TRUE(study.has_value()) << study.error().message();
    EXPECT_EQ(study->config.mode, "hami_core");
    run_config run = study->config;
    run.seed = 9; // a flag: it holds for both
    const run_config baseline = vgpusim::with_settings(run, study->baseline);
    EXPECT_EQ(baseline.mode, "exclusive");
    EXPECT_EQ(baseline.tune, 0.5);
    EXPECT_EQ(baseline.policy, "best_fit");
    EXPECT_EQ(baseline.seed, 9);
}

TEST_F(scenario_file, a_baseline_s_paths_start_at_the_scenario_s_folder_too) {
    const auto study = read(R"({"baseline": {"pods": "other.csv"}})");
    ASSERT_TRUE(study.has_value());
    EXPECT_EQ(vgpusim::with_settings(study->config, study->baseline).pods, folder_ / "other.csv");
}

TEST_F(scenario_file, a_baseline_is_checked_like_a_run) {
    for (const auto& [text, words] :
         std::vector<std::pair<std::string, std::string>>{{R"({"baseline": {"polisy": "fgd"}})", "polisy"},
                                                          {R"({"baseline": {"seed": "x"}})", "seed"},
                                                          {R"({"baseline": {"out": "x"}})", "baseline.out"},
                                                          {R"({"baseline": {"baseline": {"seed": 1}}})", "baseline"},
                                                          {R"({"baseline": {}})", "baseline"},
                                                          {R"({"baseline": "exclusive"})", "an object of the keys"}}) {
        const auto study = read(text);
        ASSERT_FALSE(study.has_value()) << text;
        EXPECT_THAT(study.error().message(), StartsWith(path() + ":1")) << text;
        EXPECT_THAT(study.error().message(), HasSubstr(words)) << text;
    }
}

TEST_F(scenario_file, paths_are_taken_from_its_own_folder) {
    const auto config = read(R"({"nodes": "lists/n.csv", "pods": "../p.csv", "out": "out/here"})");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->config.nodes, folder_ / "lists/n.csv");
    EXPECT_EQ(config->config.pods, (fs::path{folder_.path()}.parent_path() / "p.csv").string());
    EXPECT_EQ(config->config.out, "out/here"); // where results go is the caller's business
}

TEST_F(scenario_file, absolute_paths_stay) {
    const auto config = read(R"({"nodes": "/data/n.csv"})");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->config.nodes, "/data/n.csv");
}

TEST_F(scenario_file, errors_name_the_file_and_the_place) {
    const std::vector<std::pair<std::string, std::string>> cases{{R"({"seed": "x"})", "seed"},
                                                                 {R"({"seed": 1.5})", "seed"},
                                                                 {R"({"tune": [1]})", "tune"},
                                                                 {R"({"policy": {}})", "policy"},
                                                                 {R"({"seed": null})", "seed"},
                                                                 {R"({"polisy": "fgd"})", "polisy"},
                                                                 {R"({"departures": 1})", "departures"},
                                                                 {"[]", "object"},
                                                                 {"{", "the text ends inside a map"},
                                                                 {"", "JSON"},
                                                                 {"{} {}", "JSON"},
                                                                 {R"({"tune": 1e400})", ""}};
    for (const auto& [text, words] : cases) {
        const auto config = read(text);
        ASSERT_FALSE(config.has_value()) << text;
        EXPECT_THAT(config.error().message(), StartsWith(path() + ":")) << text;
        EXPECT_THAT(config.error().message(), HasSubstr(words));
        EXPECT_EQ(config.error().message().find('\n'), std::string::npos) << config.error().message();
    }
}

TEST_F(scenario_file, a_key_given_twice_is_refused) { EXPECT_FALSE(read(R"({"seed": 1, "seed": 2})").has_value()); }

TEST_F(scenario_file, a_missing_file_is_named) {
    const auto config = read_scenario(folder_ / "absent.json", vgputraces::file_source{});
    ASSERT_FALSE(config.has_value());
    EXPECT_THAT(config.error().message(), HasSubstr("absent.json"));
}

} // namespace
