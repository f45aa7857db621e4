#include "occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "text.hpp"

namespace vgpureport {
namespace {

constexpr std::int64_t full = 1000;

/// Nodes of one model with one number of GPUs, so that all columns of the group have one height.
struct node_group {
    std::string_view model;
    std::size_t gpus = 0;
    std::vector<std::size_t> members; ///< indices into the nodes
    std::size_t columns = 0;
};

std::int64_t used_milli(const report_node& node) {
    std::int64_t sum = 0;
    for (const vgpualloc::milli_gpu used : node.used) sum += std::clamp<std::int64_t>(used.count(), 0, full);
    return sum;
}

std::int64_t cpu_thousandths(const report_node& node) {
    if (!std::isfinite(node.cpu_used_ratio)) return 0;
    return static_cast<std::int64_t>(std::clamp(node.cpu_used_ratio, 0.0, 1.0) * static_cast<double>(full) + 0.5);
}

std::vector<node_group> groups_of(const std::vector<report_node>& nodes) {
    std::map<std::pair<std::string_view, std::size_t>, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].used.empty()) members[{nodes[i].model, nodes[i].used.size()}].push_back(i);
    }
    std::vector<node_group> groups;
    for (auto& [key, indices] : members) groups.push_back({key.first, key.second, std::move(indices), 0});
    return groups;
}

/// Drops the smallest groups beyond `groups_max`; what is left keeps its order. Returns the number of nodes dropped.
std::size_t drop_smallest(std::vector<node_group>& groups) {
    if (groups.size() <= groups_max) return 0;
    std::vector<std::size_t> sizes;
    for (const auto& group : groups) sizes.push_back(group.members.size());
    std::sort(sizes.rbegin(), sizes.rend());
    const std::size_t least = sizes[groups_max - 1];
    // Of the groups exactly as large as the last one that fits, only the first ones stay.
    std::size_t spare =
        groups_max - static_cast<std::size_t>(
                         std::count_if(sizes.begin(), sizes.end(), [least](std::size_t size) { return size > least; }));
    std::size_t dropped = 0;
    std::erase_if(groups, [&](const node_group& group) {
        const std::size_t size = group.members.size();
        if (size > least) return false;
        if (size == least && spare > 0) {
            --spare;
            return false;
        }
        dropped += size;
        return true;
    });
    return dropped;
}

/// Shares the columns out in proportion to the nodes, at least one a group, and ranks the nodes by use so that those
/// that share a column are alike.
void merge_columns(std::vector<node_group>& groups, const std::vector<report_node>& nodes, std::size_t columns_limit) {
    std::size_t total = 0;
    for (const auto& group : groups) total += group.members.size();
    std::vector<std::int64_t> used(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) used[i] = used_milli(nodes[i]);
    for (auto& group : groups) {
        group.columns = columns_of(group.members.size(), total, groups.size(), columns_limit);
        std::sort(group.members.begin(), group.members.end(),
                  [&used](std::size_t a, std::size_t b) { return used[a] != used[b] ? used[a] > used[b] : a < b; });
    }
}

void append_base64(std::string& out, std::int64_t value) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out += digits[static_cast<std::size_t>(value / 64)];
    out += digits[static_cast<std::size_t>(value % 64)];
}

/// The CPU of column `column`, and where its nodes' GPUs are drawn.
void append_column(occupancy_layout& out, const node_group& group, const std::vector<report_node>& nodes,
                   std::size_t column) {
    const std::size_t begin = first_member(column, group.members.size(), group.columns);
    const std::size_t end = first_member(column + 1, group.members.size(), group.columns);
    const auto count = static_cast<std::int64_t>(end - begin);
    std::int64_t cpu = 0;
    for (std::size_t i = begin; i < end; ++i) {
        cpu += cpu_thousandths(nodes[group.members[i]]);
        out.first_cell[group.members[i]] = static_cast<std::uint32_t>(out.nodes_in_cell.size());
    }
    append_base64(out.cpu, (cpu + count / 2) / count);
    out.nodes_in_cell.insert(out.nodes_in_cell.end(), group.gpus, static_cast<std::uint32_t>(count));
}

void append_number(std::string& out, std::string_view key, std::size_t value) {
    append_member(out, key, static_cast<std::int64_t>(value));
}

void append_names(std::string& out, const std::vector<node_group>& groups, const std::vector<report_node>& nodes) {
    out += ",\"names\":[";
    for (const auto& group : groups) {
        for (const std::size_t index : group.members) {
            if (out.back() != '[') out += ',';
            append_json(out, nodes[index].name);
        }
    }
    out += ']';
}

std::string describe(const std::vector<node_group>& groups) {
    std::string out = "{\"groups\":[";
    for (const auto& group : groups) {
        if (out.back() != '[') out += ',';
        out += '{';
        append_member(out, "model", group.model.empty() ? std::string_view{"unknown model"} : group.model);
        append_number(out, "gpus", group.gpus);
        append_number(out, "nodes", group.members.size());
        append_number(out, "columns", group.columns);
        out += '}';
    }
    out += ']';
    return out;
}

} // namespace

occupancy_layout layout_of(const std::vector<report_node>& nodes, std::size_t columns_limit) {
    std::vector<node_group> groups = groups_of(nodes);
    std::size_t with_gpus = 0;
    for (auto& group : groups) {
        with_gpus += group.members.size();
        group.columns = group.members.size();
    }
    const bool merged = with_gpus > columns_limit;
    const std::size_t left_out = drop_smallest(groups);
    if (merged) merge_columns(groups, nodes, columns_limit);

    occupancy_layout out;
    out.merged = merged;
    out.first_cell.assign(nodes.size(), not_drawn);
    for (const auto& group : groups) {
        for (std::size_t column = 0; column < group.columns; ++column) append_column(out, group, nodes, column);
    }
    out.cluster_json = describe(groups);
    append_number(out.cluster_json, "nodes", with_gpus);
    append_number(out.cluster_json, "without_gpus", nodes.size() - with_gpus);
    append_number(out.cluster_json, "left_out", left_out);
    out.cluster_json += merged ? ",\"merged\":true" : ",\"merged\":false";
    if (!merged) append_names(out.cluster_json, groups, nodes);
    out.cluster_json += '}';
    return out;
}

} // namespace vgpureport
