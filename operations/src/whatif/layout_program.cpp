#include "layout_program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vgpuops::whatif {

namespace plan = vgpualloc::plan;

instance_counts cuttable::instances_with(std::size_t layout) const {
    if (layout == 0) return now;
    instance_counts counts;
    for (const auto& part : layouts[layout].parts) counts[part.profile] += part.instances * gpus;
    return counts;
}

instance_counts cuttable::room_with(std::size_t layout) const {
    instance_counts counts = instances_with(layout);
    if (layout > 0) return counts;
    for (const auto& [profile, count] : used_above) counts[profile] += count;
    return counts;
}

namespace {

/// Nodes that no way can tell apart: positions, those with the fewest pods first.
using alike_nodes = std::vector<std::size_t>;

std::vector<alike_nodes> groups_of(std::span<const cuttable> nodes) {
    std::map<std::vector<instance_counts>, alike_nodes> groups;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::vector<instance_counts> by_layout;
        for (std::size_t layout = 0; layout < nodes[i].layouts.size(); ++layout)
            by_layout.push_back(nodes[i].room_with(layout));
        groups[std::move(by_layout)].push_back(i);
    }
    std::vector<alike_nodes> result;
    for (auto& [by_layout, members] : groups) {
        std::ranges::stable_sort(members, {}, [&](std::size_t i) { return nodes[i].pods; });
        result.push_back(std::move(members));
    }
    return result;
}

/// Columns: pods that run, by what they ask for; then nodes by group and layout.
class layout_program {
public:
    layout_program(std::span<const cuttable> nodes, const instance_demand& demand)
        : nodes_{nodes}, groups_{groups_of(nodes)} {
        program_.sense = plan::lp_sense::maximise;
        for (const auto& [profile, count] : demand.elsewhere) row_of(profile, count);
        for (const auto& [asked, pods] : demand.pods) {
            const auto column = program_.add_column({.cost = 1.0, .upper = static_cast<double>(pods), .integer = true});
            for (const auto& [profile, count] : asked) add(profile, column, static_cast<double>(count));
        }
        pod_columns_ = static_cast<std::uint32_t>(program_.columns.size());
        for (const alike_nodes& members : groups_) add_group(members);
    }

    [[nodiscard]] std::optional<way_by_program> solve(plan::lp_solver& solver) {
        const plan::lp_limits limits{.nodes = 20'000};
        const auto most = solver.solve(program_, limits);
        if (!most || !std::isfinite(most->bound)) return std::nullopt;
        constexpr double rounding = 1e-6;
        way_by_program result{.pods_max = static_cast<std::int64_t>(std::floor(most->bound + rounding))};
        if (most->values.empty()) return result;
        result.chosen = way_of(most->values);
        cut_fewest(std::round(most->objective));
        const auto fewest = solver.solve(program_, limits);
        if (fewest && !fewest->values.empty()) result.chosen = way_of(fewest->values);
        return result;
    }

private:
    std::uint32_t row_of(const std::string& profile, std::int64_t elsewhere = 0) {
        const auto [row, is_new] = rows_.try_emplace(profile);
        if (is_new) row->second = program_.add_row({.upper = static_cast<double>(elsewhere)});
        return row->second;
    }

    void add(const std::string& profile, std::uint32_t column, double value) {
        if (value != 0.0) program_.add_entry(row_of(profile), column, value);
    }

    void add_group(const alike_nodes& members) {
        const auto all = static_cast<double>(members.size());
        const std::uint32_t of_group = program_.add_row({.lower = all, .upper = all});
        const cuttable& one = nodes_[members.front()];
        for (std::size_t layout = 0; layout < one.layouts.size(); ++layout) {
            const auto column = program_.add_column({.upper = all, .integer = true});
            program_.add_entry(of_group, column, 1.0);
            for (const auto& [profile, count] : one.room_with(layout))
                add(profile, column, -static_cast<double>(count));
        }
    }

    /// From now on so many pods have to run, with as few pods on nodes that are cut as can be, and then as few nodes.
    void cut_fewest(double pods) {
        program_.sense = plan::lp_sense::minimise;
        const std::uint32_t running = program_.add_row({.lower = pods});
        for (std::uint32_t column = 0; column < pod_columns_; ++column) {
            program_.columns[column].cost = 0.0;
            program_.add_entry(running, column, 1.0);
        }
        const auto more_than_all_nodes = static_cast<double>(nodes_.size() + 1);
        std::uint32_t column = pod_columns_;
        for (const alike_nodes& members : groups_) {
            const std::size_t layouts = nodes_[members.front()].layouts.size();
            const std::uint32_t cut = program_.add_row({.lower = 0.0, .upper = 0.0});
            for (std::uint32_t layout = 1; layout < layouts; ++layout) program_.add_entry(cut, column + layout, 1.0);
            // Nodes are cut in the order of their pods, so that these columns are filled one after the other.
            std::map<std::int64_t, double> nodes_by_pods;
            for (const std::size_t i : members) nodes_by_pods[nodes_[i].pods] += 1.0;
            for (const auto& [pods_each, count] : nodes_by_pods) {
                const double cost = static_cast<double>(pods_each) * more_than_all_nodes + 1.0;
                program_.add_entry(cut, program_.add_column({.cost = cost, .upper = count}), -1.0);
            }
            column += static_cast<std::uint32_t>(layouts);
        }
    }

    [[nodiscard]] way way_of(const std::vector<double>& values) const {
        way chosen(nodes_.size(), 0);
        std::size_t column = pod_columns_;
        for (const alike_nodes& members : groups_) {
            auto next = members.begin();
            const std::size_t layouts = nodes_[members.front()].layouts.size();
            for (std::size_t layout = 1; layout < layouts; ++layout) {
                for (auto left = std::llround(values[column + layout]); left > 0 && next != members.end(); --left)
                    chosen[*next++] = layout;
            }
            column += layouts;
        }
        return chosen;
    }

    std::span<const cuttable> nodes_;
    std::vector<alike_nodes> groups_;
    plan::linear_program program_{};
    std::uint32_t pod_columns_ = 0;
    std::map<std::string, std::uint32_t> rows_{}; ///< by profile
};

} // namespace

std::optional<way_by_program> best_way_by_program(std::span<const cuttable> nodes, const instance_demand& demand,
                                                  plan::lp_solver& solver) {
    return layout_program{nodes, demand}.solve(solver);
}

} // namespace vgpuops::whatif
