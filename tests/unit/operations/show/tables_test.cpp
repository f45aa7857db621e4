#include "vgpuops/show/tables.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpuops/show/names.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;

/// "20.5" is 20500.
std::int64_t milli_of(const std::string& cell) {
    const auto point = cell.find('.');
    return std::stoll(cell.substr(0, point)) * 1000 + std::stoll(cell.substr(point + 1)) * 100;
}

/// Two nodes that are alike, a third that is used more, and one that is cordoned.
std::string four_nodes() {
    std::string cordoned = card_node("c", 1);
    cordoned.insert(cordoned.find("status:"), "spec: {unschedulable: true}\n");
    return card_node("a-1", 2) + card_node("a-2", 2) + card_node("b", 2) + cordoned +
           running_pod("p0", "a-1", 0, 10240) + running_pod("p1", "a-2", 0, 10240) + running_pod("p2", "b", 0, 30720) +
           running_pod("p3", "b", 1, 14336) + pod_object("w", 40960);
}

show::overview shown(const std::string& text, const show::selection& chosen = {}) {
    auto seen = show::overview_of(objects(text), {}, chosen);
    EXPECT_TRUE(seen.has_value()) << seen.error().message();
    return seen ? *std::move(seen) : show::overview{};
}

TEST(show_tables, a_text_is_its_tables_one_after_the_other) {
    const auto seen = shown(four_nodes());
    const show::overview_tables tables = show::tables_of(seen);
    const std::string text = show::overview_text(seen);
    EXPECT_TRUE(text.starts_with(tables.usage + "\n" + tables.waiting + "\n\n" + show::text_of(tables.first)));
    EXPECT_NE(text.find("\n" + tables.idle.title + "\nSHAPE "), std::string::npos);
    EXPECT_TRUE(text.ends_with(show::text_of(tables.users) + tables.not_looked_at + "\n"));
}

TEST(show_tables, the_amounts_of_a_bar_are_those_of_its_cells) {
    const auto seen = shown(four_nodes());
    const show::overview_tables tables = show::tables_of(seen);
    for (const auto* const table : {&tables.first, &tables.idle}) {
        for (const show::table_row& row : table->rows) {
            ASSERT_EQ(row.cells.size(), table->columns.size());
            const auto first = static_cast<std::size_t>(
                std::ranges::find_if(table->columns, &show::table_column::is_amount) - table->columns.begin());
            for (std::size_t i = 0; i < row.parts.size(); ++i) {
                EXPECT_EQ(milli_of(row.cells[first + i]), row.parts[i]) << row.cells.front();
            }
            EXPECT_FALSE(row.parts.empty());
        }
        EXPECT_TRUE(table->rows.back().is_sum);
    }
}

TEST(show_tables, nodes_in_one_state_are_one_row_and_all_add_up) {
    const auto seen = shown(four_nodes());
    const show::printed_table table = show::nodes_table(seen);
    ASSERT_EQ(table.rows.size(), 4U);
    EXPECT_EQ(table.rows[0].cells,
              (std::vector<std::string>{"A100-40GB hami-core", "in service", "1", "2", "1.1", "0.9", "0.0", "b"}));
    EXPECT_EQ(table.rows[1].cells.back(), "a-[1-2]");
    EXPECT_EQ(table.rows[2].cells[1], "cordoned");
    EXPECT_EQ(table.rows[3].cells, (std::vector<std::string>{"TOTAL", "", "4", "7", "1.6", "4.4", "1.0", ""}));
    EXPECT_EQ(show::tables_of(seen).total, (show::three_parts{1600, 4400, 1000}));
}

TEST(show_tables, of_many_states_the_others_are_one_row) {
    const auto seen = shown(four_nodes());
    const show::printed_table table = show::nodes_table(seen, {.rows_max = 1});
    ASSERT_EQ(table.rows.size(), 3U);
    EXPECT_EQ(table.rows[1].cells.front(), "2 more");
    for (std::size_t part = 0; part < 3; ++part) {
        EXPECT_EQ(table.rows[0].parts[part] + table.rows[1].parts[part], table.rows[2].parts[part]);
    }
    EXPECT_EQ(show::nodes_table(seen, {.lists_all = true, .rows_max = 1}).rows.size(), 4U);
}

TEST(show_tables, every_gpu_of_a_node_is_there_with_what_is_used_of_it) {
    const auto seen = shown(four_nodes(), {.by = "node"});
    ASSERT_EQ(seen.nodes_seen.size(), 4U);
    std::int64_t used = 0;
    for (const show::node_devices& node : seen.nodes_seen) {
        EXPECT_EQ(node.used.size(), node.is_out.size());
        EXPECT_EQ(node.key, "") << "rows are nodes themselves";
        used += std::accumulate(node.used.begin(), node.used.end(), std::int64_t{0});
    }
    EXPECT_EQ(used, seen.parts[0]);
    EXPECT_EQ(seen.nodes_seen[3].because, "cordoned");
    EXPECT_EQ(seen.nodes_seen[3].is_out, std::vector<bool>{true});
    EXPECT_FALSE(seen.nodes_seen[0].is_in_order);
    EXPECT_EQ(show::words_of_nodes(seen)[3], "0.0 of 1 used, 0.0 free, 1.0 out of service");
}

TEST(show_tables, a_cluster_without_gpus_has_no_tables) {
    const auto seen =
        shown("kind: Node\nmetadata: {name: host}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n");
    const show::overview_tables tables = show::tables_of(seen);
    EXPECT_TRUE(tables.usage.starts_with("0 GPUs on 1 node."));
    EXPECT_TRUE(tables.first.rows.empty() && tables.idle.rows.empty() && tables.users.rows.empty());
    EXPECT_TRUE(show::nodes_table(seen).rows.empty());
}

} // namespace
