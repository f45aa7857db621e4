#include "vgpureport/answer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::Not;
using vgpureport::answer_page;
using vgpureport::area;
using vgpureport::bars;
using vgpureport::node_strip;
using vgpureport::page_section;
using vgpureport::page_table;
using vgpureport::render_answer;

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t number = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++number;
    return number;
}

page_table small_table(bars where) {
    return {.caption = "GPUs",
            .columns = {{"Pool"}, {"Used", true}, {"Free", true}},
            .rows = {{.cells = {"train", "3.0", "1.0"}, .parts = {3000, 1000}},
                     {.cells = {"Total", "3.0", "1.0"}, .parts = {3000, 1000}, .is_sum = true}},
            .areas = {area::used, area::free},
            .where = where};
}

answer_page page_of(page_section section) {
    return {.kicker = "vgpusim show", .title = "4 GPUs", .sections = {std::move(section)}, .command = "vgpusim show c"};
}

/// Nodes of one GPU, of which the first `full` are used up.
std::vector<node_strip> nodes(std::size_t number, std::size_t full, std::size_t gpus = 1) {
    std::vector<node_strip> result;
    for (std::size_t i = 0; i < number; ++i) {
        result.push_back({.name = "n" + std::to_string(i), .words = "words"});
        result.back().cells.assign(gpus, {.used = i < full ? 1000 : 0});
    }
    return result;
}

TEST(answer, nothing_is_loaded_and_nothing_is_run) {
    const std::string page = render_answer(page_of({.heading = "Pools", .tables = {small_table(bars::in_rows)}}));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_EQ(count(page, "<script"), 0U);
    EXPECT_EQ(count(page, "http:") + count(page, "https:"), 0U);
    EXPECT_EQ(count(page, "<h1>"), 1U);
    EXPECT_THAT(page, HasSubstr("<title>4 GPUs</title>"));
    EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
}

TEST(answer, a_bar_says_its_numbers) {
    const std::string page = render_answer(page_of({.heading = "Pools", .tables = {small_table(bars::in_rows)}}));
    EXPECT_EQ(count(page, "<svg class=\"share\" role=\"img\" aria-label=\"used 3.0, free 1.0, together 4.0 GPUs\">"),
              2U);
    EXPECT_THAT(page, HasSubstr("<rect class=\"area used\" x=\"0%\" width=\"75%\" height=\"100%\"/>"));
    EXPECT_THAT(page, HasSubstr("<th scope=\"col\">Share</th>"));
    EXPECT_THAT(page, HasSubstr("<th scope=\"row\">train</th>"));
    EXPECT_EQ(count(render_answer(page_of({.tables = {small_table(bars::above)}})), "<span class=\"who\">"), 2U);
    EXPECT_EQ(count(render_answer(page_of({.tables = {small_table(bars::none)}})), "class=\"share\""), 0U);
}

TEST(answer, parts_of_a_bar_meet_each_other_and_fill_it) {
    page_table table = small_table(bars::in_rows);
    table.areas = {area::of_use, area::scattered, area::out};
    table.columns.resize(1);
    table.rows = {{.cells = {"a"}, .parts = {100, 100, 100}}, {.cells = {"nothing"}, .parts = {0, 0, 0}}};
    const std::string page = render_answer(page_of({.tables = {table}}));
    EXPECT_THAT(page, HasSubstr("class=\"area of-use\" x=\"0%\" width=\"33.33%\""));
    EXPECT_THAT(page, HasSubstr("class=\"area scattered\" x=\"33.33%\" width=\"33.33%\""));
    EXPECT_THAT(page, HasSubstr("class=\"area out\" x=\"66.66%\" width=\"33.34%\""));
    EXPECT_THAT(page, HasSubstr("of use 0.0, scattered 0.0, out of service 0.0, together 0.0 GPUs"));
}

TEST(answer, every_area_has_its_pattern) {
    const std::string page = render_answer(page_of({}));
    for (const char* const name : {"of-use", "scattered", "host-full", "wrong-kind", "out"}) {
        EXPECT_THAT(page, HasSubstr(std::string{"<pattern id=\"p-"} + name + "\""));
        EXPECT_THAT(page, HasSubstr(std::string{"fill: url(#p-"} + name + ")"));
    }
    EXPECT_THAT(page, HasSubstr("forced-colors: active"));
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(answer, no_name_is_markup_and_none_steers) {
    const std::string name = "<script>&\"'{{title}}\x1b[2J\xE2\x80\xAE\xFF";
    page_table table = small_table(bars::above);
    table.caption = table.summary = table.columns[0].heading = table.rows[0].cells[0] = name;
    page_section section{
        .heading = name, .notes = {name}, .groups = {{.name = name, .nodes = nodes(1, 0)}}, .tables = {table}};
    node_strip& node = section.groups[0].nodes[0];
    node.name = node.words = node.state = name;
    answer_page page = page_of(std::move(section));
    page.title = page.subtitle = page.kicker = page.command = name;
    const std::string html = render_answer(page);
    EXPECT_EQ(count(html, "<script"), 0U);
    EXPECT_EQ(count(html, "&lt;script&gt;&amp;&quot;&#39;{{title}}\\x1b[2J\\u202e\\xff"), 16U);
    EXPECT_TRUE(std::ranges::none_of(html, [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; }));
    EXPECT_EQ(html.find("\xE2\x80\xAE"), std::string::npos);
}

TEST(answer, a_node_of_a_few_has_its_name_and_state) {
    std::vector<node_strip> two = nodes(2, 1, 2);
    two[1].state = "cordoned";
    two[1].cells = {{.used = 500, .out = 500}, {.out = 1000}};
    const std::string page = render_answer(page_of({.groups = {{.name = "train", .nodes = two}}}));
    EXPECT_THAT(page, HasSubstr("<h3>train</h3>"));
    EXPECT_THAT(page, HasSubstr("n1 <span class=\"state\">(cordoned)</span>"));
    EXPECT_THAT(page, HasSubstr("<path class=\"taken\" d=\"M0 10h16M19 10h16\" stroke-width=\"20\"/>"));
    EXPECT_THAT(page, HasSubstr("<path class=\"taken\" d=\"M0 10h8\" stroke-width=\"20\"/>"));
    EXPECT_THAT(page, HasSubstr("<path class=\"shut\" d=\"M8 10h8M19 10h16\" stroke-width=\"20\"/>"));
}

TEST(answer, many_nodes_have_strips_without_names) {
    const std::size_t number = vgpureport::named_strips_max + 1;
    const std::string page = render_answer(page_of({.groups = {{.name = "train", .nodes = nodes(number, 3)}}}));
    EXPECT_EQ(count(page, "<use href=\"#g1\"/>"), number);
    EXPECT_EQ(count(page, "class=\"taken\""), 3U);
    EXPECT_THAT(page, HasSubstr("aria-label=\"train, 201 nodes of 1 GPU; the table has the same numbers\""));
    EXPECT_THAT(page, Not(HasSubstr("share a strip")));
}

TEST(answer, above_two_thousand_nodes_neighbours_are_merged) {
    const std::size_t number = 2 * vgpureport::strips_max;
    const std::string page = render_answer(
        page_of({.groups = {{.name = "a", .nodes = nodes(number - 10, 3)}, {.name = "b", .nodes = nodes(10, 0)}}}));
    const std::size_t strips = count(page, "<use href=\"#g1\"/>");
    EXPECT_LE(strips, vgpureport::strips_max);
    EXPECT_GT(strips, vgpureport::strips_max - 5);
    EXPECT_THAT(page, HasSubstr("share a strip, which shows their mean"));
    EXPECT_EQ(count(page, "M0 6h6\""), 1U) << "two full nodes";
    EXPECT_EQ(count(page, "M0 6h3\""), 1U) << "a full one beside an empty one, which are ranked by use";
}

TEST(answer, of_too_many_groups_the_largest_are_drawn) {
    page_section section;
    for (int i = 0; i < 300; ++i) section.groups.push_back({.name = "g", .nodes = nodes(i < 299 ? 1 : 9, 0)});
    const std::string page = render_answer(page_of(section));
    EXPECT_EQ(count(page, "class=\"picture\""), 256U);
    EXPECT_THAT(page, HasSubstr("9 nodes of 1 GPU"));
    EXPECT_THAT(page, HasSubstr("44 nodes of small groups are not drawn"));
}

} // namespace
