#include "strips.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>

#include "answer_text.hpp"
#include "occupancy.hpp"
#include "text.hpp"

namespace vgpureport {

namespace {

constexpr std::int64_t whole_milli = 1000;

/// How the GPUs of a node are drawn, in tenths of a pixel.
struct cell_size {
    std::int64_t width;
    std::int64_t height;
    std::int64_t gap; ///< between two
};
constexpr cell_size named_cell{160, 200, 30};
constexpr cell_size small_cell{60, 120, 10};

/// "12.5": tenths of a pixel.
std::string pixels(std::int64_t tenths) { return hundredths(tenths * 10); }

std::int64_t left_of(std::size_t cell, const cell_size& size) {
    return static_cast<std::int64_t>(cell) * (size.width + size.gap);
}

/// The edges of cells, which are drawn last.
void append_cells(std::string& out, std::size_t cells, const cell_size& size) {
    constexpr std::int64_t half_a_line = 5;
    out += "<path class=\"cell\" d=\"";
    for (std::size_t i = 0; i < cells; ++i) {
        out += "M" + pixels(left_of(i, size) + half_a_line) + " .5h" + pixels(size.width - 2 * half_a_line) + "v" +
               pixels(size.height - 2 * half_a_line) + "h-" + pixels(size.width - 2 * half_a_line) + "z";
    }
    out += "\"/>";
}

/// Lines as thick as the cells are high: from the left what is used, to the right what is out of service.
void append_lines(std::string& out, const std::vector<strip_cell>& cells, const cell_size& size) {
    std::string used;
    std::string shut;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::int64_t used_width =
            std::clamp<std::int64_t>(cells[i].used, 0, whole_milli) * size.width / whole_milli;
        const std::int64_t shut_width =
            std::clamp<std::int64_t>(cells[i].out, 0, whole_milli) * size.width / whole_milli;
        const auto line = [&](std::int64_t from, std::int64_t width) {
            return "M" + pixels(left_of(i, size) + from) + " " + pixels(size.height / 2) + "h" + pixels(width);
        };
        if (used_width > 0) used += line(0, used_width);
        if (shut_width > 0) shut += line(size.width - shut_width, shut_width);
    }
    const std::string width = "\" stroke-width=\"" + pixels(size.height) + "\"/>";
    if (!used.empty()) out += "<path class=\"taken\" d=\"" + used + width;
    if (!shut.empty()) out += "<path class=\"shut\" d=\"" + shut + width;
}

/// ` width="152" height="20"`, in which the strip of so many cells lies.
std::string size_of(std::size_t cells, const cell_size& size) {
    const std::int64_t width = cells == 0 ? 0 : left_of(cells, size) - size.gap;
    return " width=\"" + pixels(width) + "\" height=\"" + pixels(size.height) + "\" viewBox=\"0 0 " + pixels(width) +
           " " + pixels(size.height) + "\"";
}

void append_named(std::string& out, const strip_group& group) {
    out += "<ul class=\"strips\">";
    for (const node_strip& node : group.nodes) {
        out += "<li><svg role=\"img\"" + size_of(node.cells.size(), named_cell) + " aria-label=\"";
        append_shown(out, node.words);
        out += "\">";
        append_lines(out, node.cells, named_cell);
        append_cells(out, node.cells.size(), named_cell);
        out += "</svg><span>";
        append_shown(out, node.name);
        if (!node.state.empty()) {
            out += " <span class=\"state\">(";
            append_shown(out, node.state);
            out += ")</span>";
        }
        out += "</span></li>\n";
    }
    out += "</ul>\n";
}

std::int64_t used_of(const node_strip& node) {
    return std::accumulate(node.cells.begin(), node.cells.end(), std::int64_t{0},
                           [](std::int64_t sum, const strip_cell& cell) { return sum + cell.used; });
}

/// Nodes of a group with one number of GPUs.
struct node_row {
    const strip_group* group = nullptr;
    std::size_t cells = 0;
    std::vector<const node_strip*> nodes{};
};

/// The mean of nodes, GPU by GPU.
std::vector<strip_cell> mean_of(const node_row& row, std::size_t begin, std::size_t end) {
    std::vector<strip_cell> sums(row.cells);
    for (std::size_t n = begin; n < end; ++n) {
        for (std::size_t i = 0; i < row.cells; ++i) {
            sums[i].used += row.nodes[n]->cells[i].used;
            sums[i].out += row.nodes[n]->cells[i].out;
        }
    }
    const auto count = static_cast<std::int64_t>(end - begin);
    for (strip_cell& cell : sums) {
        cell.used = (cell.used + count / 2) / count;
        cell.out = (cell.out + count / 2) / count;
    }
    return sums;
}

/// Strips without names; those of `columns` columns show the mean of neighbours.
void append_small(std::string& out, const node_row& row, std::size_t columns) {
    const std::string cells = "g" + std::to_string(row.cells);
    for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t begin = first_member(column, row.nodes.size(), columns);
        const std::size_t end = first_member(column + 1, row.nodes.size(), columns);
        out += "<svg" + size_of(row.cells, small_cell) + ">";
        append_lines(out, mean_of(row, begin, end), small_cell);
        out += "<use href=\"#" + cells + "\"/></svg>\n";
    }
}

std::vector<node_row> rows_of(const std::vector<strip_group>& groups, bool merged) {
    std::vector<node_row> rows;
    for (const strip_group& group : groups) {
        std::set<std::size_t> sizes;
        for (const node_strip& node : group.nodes) sizes.insert(node.cells.size());
        for (const std::size_t cells : sizes) {
            node_row row{.group = &group, .cells = cells};
            for (const node_strip& node : group.nodes) {
                if (node.cells.size() == cells) row.nodes.push_back(&node);
            }
            if (merged) {
                std::ranges::stable_sort(row.nodes, std::ranges::greater{},
                                         [](const auto* node) { return used_of(*node); });
            }
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

/// Leaves the largest rows, in their order. Returns the number of nodes that are not drawn.
std::size_t keep_largest(std::vector<node_row>& rows) {
    if (rows.size() <= groups_max) return 0;
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return rows[i].nodes.size(); });
    std::size_t nodes = 0;
    for (std::size_t i = groups_max; i < order.size(); ++i) {
        nodes += rows[order[i]].nodes.size();
        rows[order[i]].nodes.clear();
    }
    std::erase_if(rows, [](const node_row& row) { return row.nodes.empty(); });
    return nodes;
}

void append_many(std::string& out, const std::vector<strip_group>& groups, std::size_t nodes) {
    const bool merged = nodes > strips_max;
    std::vector<node_row> rows = rows_of(groups, merged);
    const std::size_t left_out = keep_largest(rows);
    std::set<std::size_t> sizes;
    for (const node_row& row : rows) sizes.insert(row.cells);
    out += "<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>";
    for (const std::size_t cells : sizes) {
        out += "<g id=\"g" + std::to_string(cells) + "\">";
        append_cells(out, cells, small_cell);
        out += "</g>";
    }
    out += "</defs></svg>\n";
    if (merged) {
        out += "<p class=\"note\">Nodes are ranked by use, and neighbours share a strip, which shows their mean.</p>\n";
    }
    if (left_out > 0) {
        out += "<p class=\"note\">" + grouped(static_cast<std::int64_t>(left_out)) +
               " nodes of small groups are not drawn; they are in the table.</p>\n";
    }
    for (const node_row& row : rows) {
        const std::size_t columns =
            merged ? columns_of(row.nodes.size(), nodes, rows.size(), strips_max) : row.nodes.size();
        const std::string words = grouped(static_cast<std::int64_t>(row.nodes.size())) + " nodes of " +
                                  std::to_string(row.cells) + (row.cells == 1 ? " GPU" : " GPUs");
        out += "<h3>";
        append_shown(out, row.group->name);
        out += ", " + words + "</h3>\n<div class=\"picture\" role=\"img\" aria-label=\"";
        append_shown(out, row.group->name);
        out += ", " + words + "; the table has the same numbers\">\n";
        append_small(out, row, columns);
        out += "</div>\n";
    }
}

} // namespace

void append_strips(std::string& out, const std::vector<strip_group>& groups) {
    std::size_t nodes = 0;
    for (const strip_group& group : groups) nodes += group.nodes.size();
    if (nodes > named_strips_max) return append_many(out, groups, nodes);
    for (const strip_group& group : groups) {
        out += "<h3>";
        append_shown(out, group.name);
        out += "</h3>\n";
        append_named(out, group);
    }
}

} // namespace vgpureport
