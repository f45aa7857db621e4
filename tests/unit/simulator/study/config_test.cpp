#include "vgpusim/study/config.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;
using vgpusim::effective;
using vgpusim::read_scenario;
using vgpusim::run_config;
using vgpusim::set_key;

using settings = std::vector<std::pair<std::string, std::string>>;

const settings other_values{
    {"format", "other"},      {"nodes", "/n.csv"},         {"pods", "/p.csv"},  {"policy", "best_fit"},
    {"device_policy", "fgd"}, {"mode", "exclusive"},       {"tune", "1.25"},    {"seed", "-7"},
    {"departures", "true"},   {"sample_interval_s", "60"}, {"out", "elsewhere"}};

class scenario_file : public testing::Test {
protected:
    [[nodiscard]] vgpualloc::expected<run_config> read(const std::string& text) const {
        std::ofstream(path()) << text;
        return read_scenario(path());
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
                       {"seed", "9223372036854775808"},
                       {"departures", "yes"},
                       {"departures", "1"},
                       {"departures", ""},
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
                                             {"seed", "9223372036854775807"},
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
    EXPECT_EQ(effective(*config), other_values);
}

TEST_F(scenario_file, takes_numbers_and_booleans_as_such) {
    const auto config = read(R"({"tune": 1.25, "seed": -7, "departures": true, "sample_interval_s": 60})");
    ASSERT_TRUE(config.has_value()) << config.error().message();
    EXPECT_EQ(config->tune, 1.25);
    EXPECT_EQ(config->seed, -7);
    EXPECT_TRUE(config->departures);
    EXPECT_EQ(config->sample_interval_s, 60);
}

TEST_F(scenario_file, paths_are_taken_from_its_own_folder) {
    const auto config = read(R"({"nodes": "lists/n.csv", "pods": "../p.csv", "out": "out/here"})");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->nodes, folder_ / "lists/n.csv");
    EXPECT_EQ(config->pods, (fs::path{folder_.path()}.parent_path() / "p.csv").string());
    EXPECT_EQ(config->out, "out/here"); // where results go is the caller's business
}

TEST_F(scenario_file, absolute_paths_stay) {
    const auto config = read(R"({"nodes": "/data/n.csv"})");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->nodes, "/data/n.csv");
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
                                                                 {"{", "JSON"},
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
    const auto config = read_scenario(folder_ / "absent.json");
    ASSERT_FALSE(config.has_value());
    EXPECT_THAT(config.error().message(), HasSubstr("absent.json"));
}

} // namespace
