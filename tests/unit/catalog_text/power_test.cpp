#include "vgpualloc/catalog/power.hpp"

#include <gtest/gtest.h>

#include "texts.hpp"
#include "vgpualloc/catalog/catalog.hpp"

namespace {

using namespace vgpualloc;

std::string power_file(const std::string& entries) {
    return R"({"schema": "vgpualloc-catalog/1", "sources": {"ME": "measured here"}, "power": [)" + entries + "]}";
}

TEST(power_catalog, knows_the_boards_of_the_published_traces) {
    const power_catalog& catalog = built_in_power_catalog();
    for (const std::string_view model : {"T4", "P100", "V100M16", "V100M32", "A10", "NVIDIA A100-SXM4-40GB"}) {
        const device_power* board = find_power(catalog, model);
        ASSERT_NE(board, nullptr) << model;
        EXPECT_TRUE(board->is_known()) << model;
        EXPECT_LT(*board->idle_w, *board->busy_w) << model;
    }
    EXPECT_EQ(find_power(catalog, "Tesla T4")->busy_w, 70);
    // The trace's own names for boards that nobody knows.
    EXPECT_EQ(find_power(catalog, "G2"), nullptr);
    EXPECT_EQ(find_power(catalog, ""), nullptr);
}

TEST(power_catalog, every_value_has_a_source_that_is_listed) {
    const power_catalog& catalog = built_in_power_catalog();
    for (const device_power& board : catalog.devices) {
        for (const std::string_view field : {"idle_w", "busy_w"}) {
            const bool is_known = (field == "idle_w" ? board.idle_w : board.busy_w).has_value();
            if (!is_known) continue;
            const std::string_view source = provenance_of(board.from, field);
            EXPECT_TRUE(source.starts_with("S:") || source.starts_with("D:")) << board.name << " " << field;
            if (source.starts_with("S:")) {
                EXPECT_TRUE(catalog.sources.contains(source.substr(2))) << board.name << " " << source;
            }
        }
    }
}

TEST(power_catalog, the_longest_text_that_stands_in_the_model_wins) {
    const auto catalog = catalog_texts::parse_power_catalog(
        power_file(R"({"key": "X1", "idle_w": 1, "busy_w": 2}, {"key": "X1-PRO", "idle_w": 3, "busy_w": 4},)"
                   R"({"key": "Y", "card_types": ["Z 9"], "busy_w": 5})"),
        "f.json");
    ASSERT_TRUE(catalog.has_value()) << catalog.error().message();
    EXPECT_EQ(find_power(*catalog, "ACME X1 PRO 80GB")->name, "X1-PRO");
    EXPECT_EQ(find_power(*catalog, "ACME X1 80GB")->name, "X1");
    EXPECT_EQ(find_power(*catalog, "X10"), nullptr);
    EXPECT_EQ(find_power(*catalog, "Z-9")->name, "Y");
    EXPECT_FALSE(find_power(*catalog, "Z-9")->is_known()); // nobody said what it draws when idle
    EXPECT_EQ(find_power(*catalog, "X1 and Y"), find_power(*catalog, "X1"));
    EXPECT_EQ(find_power(*catalog, "T4"), nullptr);
}

TEST(power_catalog, says_what_is_wrong_with_a_file) {
    const auto message = [](const std::string& entries) {
        return catalog_texts::parse_power_catalog(power_file(entries), "f.json").error().message();
    };
    EXPECT_EQ(message(R"({"key": "A", "idle_w": 50, "busy_w": 40})"),
              "f.json: power 'A': busy_w: got '40', expected no less than idle_w, 50");
    EXPECT_EQ(message(R"({"key": "A", "idle_w": 0})"),
              "f.json: power 'A': idle_w: got '0', expected a whole number from 1 to 100000");
    EXPECT_EQ(message(R"({"key": "A", "idle_w": 1.5})").substr(0, 33), "f.json: power 'A': idle_w: got '1");
    EXPECT_EQ(message(R"({"key": "A"}, {"key": "A"})"), "f.json: power 'A': key: got 'A', expected every board once");
    EXPECT_EQ(message(R"({"key": "A", "card_types": ["C"]}, {"key": "B", "card_types": ["C"]})"),
              "f.json: power 'B': card_types: got 'a list', expected card types of its own: 'C' is one of A");
    EXPECT_EQ(message(R"({"key": "A", "card_types": ["C"]}, {"key": "C"})"),
              "f.json: power 'C': key: got 'C', expected a key of its own: it is a card type of A");
    EXPECT_TRUE(message(R"({"key": "A", "watt": 3})").find("watt") != std::string::npos);
}

TEST(power_catalog, files_add_and_replace) {
    const auto base = built_in_catalog();
    const auto more = catalog_texts::merge_text(
        base,
        power_file(R"({"key": "T4", "idle_w": 11, "busy_w": 71, "provenance": {"*": "S:ME"}},)"
                   R"({"key": "G2", "idle_w": 25, "busy_w": 250})"),
        "f.json");
    ASSERT_TRUE(more.has_value()) << more.error().message();
    EXPECT_EQ(find_power(more->power, "T4")->idle_w, 11);
    EXPECT_EQ(find_power(more->power, "G2")->busy_w, 250);
    EXPECT_EQ(more->power.devices.size(), base.power.devices.size() + 1);
    EXPECT_EQ(more->mig.models.size(), base.mig.models.size());
    // openb's name for a board of which the catalog speaks under another name: the file wins.
    const auto mine =
        catalog_texts::merge_text(base, power_file(R"({"key": "V100M16", "idle_w": 1, "busy_w": 10})"), "f.json");
    ASSERT_TRUE(mine.has_value()) << mine.error().message();
    EXPECT_EQ(find_power(mine->power, "V100M16")->busy_w, 10);
    EXPECT_EQ(find_power(mine->power, "V100M32")->busy_w, 300);
    EXPECT_FALSE(merge_file(base, power_file(R"({"key": "X", "card_types": ["L4"]})"), "f.json").has_value());
}

} // namespace
