// Before and after, side by side.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "../show/short_lines.hpp"
#include "answer_parts.hpp"
#include "placement_words.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::whatif {

namespace {

/// The kind of a row. Whether a model's name has to be in full depends on the other models, so it may be in full on
/// one side only: here it is short.
std::string short_kind(const show::device_row& row) { return show::short_model(row.model) + " " + row.sharing; }

/// The rows of one kind together.
struct kind_sum {
    std::int64_t gpus = 0;
    show::three_parts parts{};

    bool operator==(const kind_sum&) const = default;
};
using sums_by_kind = std::map<std::string, kind_sum>;

sums_by_kind sums_of(const show::overview& seen) {
    sums_by_kind result;
    for (const show::device_row& row : seen.rows) {
        kind_sum& sum = result[short_kind(row)];
        sum.gpus += row.gpus;
        for (std::size_t part = 0; part < sum.parts.size(); ++part) sum.parts[part] += row.parts[part];
    }
    return result;
}

/// Fills one of the two columns of the free parts.
class part_counter {
public:
    part_counter(const sums_by_kind& before, const sums_by_kind& after) : before_{&before}, after_{&after} {}

    void add(const show::overview& seen, std::int64_t free_part::* column) {
        for (const show::device_row& row : seen.rows) {
            const std::string kind = short_kind(row);
            if (row.sharing == "whole") {
                constexpr std::size_t free_now = 1;
                entry_of(row, kind, "gpu").*column += row.parts[free_now] / vgpualloc::whole_gpu.count();
                continue;
            }
            for (const show::largest_part& largest : row.largest) {
                const bool is_instance = largest.node.empty();
                free_part& entry = entry_of(row, is_instance ? std::string{} : kind, largest.part);
                if (is_instance) {
                    entry.memory_mib = largest.memory_mib;
                    entry.*column += largest.amount;
                } else {
                    const std::int64_t amount = largest.part == "slice" ? largest.memory_mib : largest.amount;
                    entry.*column = std::max(entry.*column, amount);
                }
            }
        }
    }

    [[nodiscard]] std::vector<free_part> take() {
        std::vector<free_part> result;
        for (auto& [key, entry] : parts_) result.push_back(std::move(entry));
        std::ranges::stable_sort(result, {}, [](const free_part& entry) {
            const int sort = entry.part == "gpu" ? 0 : entry.kind.empty() ? 1 : 2;
            return std::tuple{sort, -entry.memory_mib};
        });
        return result;
    }

private:
    free_part& entry_of(const show::device_row& row, const std::string& shown_kind, const std::string& part) {
        free_part& entry = parts_[{shown_kind, part}];
        entry.kind = shown_kind;
        entry.model = shown_kind.empty() ? std::string{} : show::short_model(row.model);
        entry.part = part;
        const std::string kind = short_kind(row);
        const auto former = before_->find(kind);
        const auto later = after_->find(kind);
        const bool is_same = former != before_->end() && later != after_->end() && former->second == later->second;
        entry.is_touched = entry.is_touched || !is_same;
        return entry;
    }

    const sums_by_kind* before_;
    const sums_by_kind* after_;
    std::map<std::pair<std::string, std::string>, free_part> parts_; ///< by kind and part
};

/// A line of the table as it is printed.
struct comparison_line {
    std::string name{};
    std::string before{};
    std::string after{};
    std::string change{};
};

comparison_line line_of(std::string name, std::int64_t before, std::int64_t after,
                        const std::function<std::string(std::int64_t)>& words) {
    const std::int64_t change = after - before;
    const std::string amount = words(change < 0 ? -change : change);
    return {.name = std::move(name),
            .before = words(before),
            .after = words(after),
            .change = change == 0 ? "0" : (change < 0 ? "-" : "+") + amount};
}

std::string counted_words(std::int64_t count) { return std::to_string(count); }

/// Slices and replicas go by their model; where it is shared in several ways of which that is so, by their kind.
std::string name_of(const free_part& entry, const std::vector<free_part>& all) {
    if (entry.kind.empty()) return "mig-" + entry.part + " free";
    if (entry.part == "gpu") return entry.kind + " free";
    const bool is_alone = std::ranges::count_if(all, [&](const free_part& other) {
                              return other.model == entry.model && other.part == entry.part;
                          }) == 1;
    return (is_alone ? entry.model : entry.kind) + (entry.part == "slice" ? " largest MiB" : " replicas, one node");
}

std::vector<comparison_line> gpu_lines(const answer& answered) {
    const show::overview& before = answered.view_before.seen;
    const show::overview& after = answered.view_after.seen;
    const show::three_parts tenths_before = show::in_tenths(before).total;
    const show::three_parts tenths_after = show::in_tenths(after).total;
    const std::int64_t gpu = vgpualloc::whole_gpu.count();
    std::vector<comparison_line> lines{line_of("GPUs", before.gpus * gpu, after.gpus * gpu, show::gpus)};
    constexpr std::array<const char*, 3> names{"  used", "  free", "  out of service"};
    for (std::size_t part = 0; part < names.size(); ++part) {
        lines.push_back(line_of(names[part], tenths_before[part], tenths_after[part], show::gpus));
    }
    lines.push_back(line_of("pods run", before.pods_run, after.pods_run, counted_words));
    return lines;
}

std::vector<comparison_line> part_lines(const answer& answered, bool lists_all) {
    std::vector<comparison_line> lines;
    const std::vector<free_part> parts = free_parts_of(answered);
    for (const free_part& entry : parts) {
        if (lists_all || entry.is_touched) {
            lines.push_back(line_of(name_of(entry, parts), entry.before, entry.after, counted_words));
        }
    }
    const std::int64_t wh_before = answered.view_before.energy.wh;
    const std::int64_t wh_after = answered.view_after.energy.wh;
    if (wh_before == 0 && wh_after == 0) return lines;
    constexpr std::int64_t tenth_of_kwh = 100; // Wh
    lines.push_back(line_of("kWh a day, at most", show::rounded(wh_before, tenth_of_kwh),
                            show::rounded(wh_after, tenth_of_kwh), show::gpus)); // thousandths as milli-GPU are
    return lines;
}

/// Lines of one half of the table, all equally long, with the heading.
std::vector<std::string> columns_of(const std::vector<comparison_line>& lines, std::size_t name_width_min) {
    const comparison_line heading{.before = "BEFORE", .after = "AFTER", .change = "CHANGE"};
    std::array<std::size_t, 4> widths{name_width_min, heading.before.size(), heading.after.size(),
                                      heading.change.size()};
    const auto widen = [](std::size_t& width, const std::string& cell) { width = std::max(width, cell.size()); };
    for (const comparison_line& line : lines) {
        widen(widths[0], line.name);
        widen(widths[1], line.before);
        widen(widths[2], line.after);
        widen(widths[3], line.change);
    }
    std::vector<std::string> result;
    const auto add = [&](const comparison_line& line) {
        result.push_back(fmt::format("{:<{}}  {:>{}}  {:>{}}  {:>{}}", line.name, widths[0], line.before, widths[1],
                                     line.after, widths[2], line.change, widths[3]));
    };
    add(heading);
    for (const comparison_line& line : lines) add(line);
    return result;
}

document changed_json(std::int64_t before, std::int64_t after) {
    return document::map({{"before", before}, {"after", after}, {"change", after - before}});
}

} // namespace

std::vector<free_part> free_parts_of(const answer& answered) {
    const sums_by_kind before = sums_of(answered.view_before.seen);
    const sums_by_kind after = sums_of(answered.view_after.seen);
    part_counter counter{before, after};
    counter.add(answered.view_before.seen, &free_part::before);
    counter.add(answered.view_after.seen, &free_part::after);
    return counter.take();
}

void add_comparison(const answer& answered, bool lists_all, std::string& text) {
    constexpr std::size_t name_width = 19;
    const std::vector<comparison_line> lines = gpu_lines(answered);
    std::vector<std::string> left = columns_of(lines, name_width);
    const std::vector<comparison_line> parts = part_lines(answered, lists_all);
    std::vector<std::string> right = parts.empty() ? std::vector<std::string>{} : columns_of(parts, name_width);
    const auto fit_in_a_line = [&] {
        return right.empty() || left.front().size() + 3 + right.front().size() <= show::line_width;
    };
    if (!fit_in_a_line()) left = columns_of(lines, 0); // as narrow as the names are
    if (!fit_in_a_line()) {
        std::ranges::move(right, std::back_inserter(left));
        right.clear();
    }
    text += "\n";
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const std::string before_gap = i < left.size() ? left[i] : std::string(left.front().size(), ' ');
        add_line(text, i < right.size() ? before_gap + "   " + right[i] : before_gap);
    }
    const std::string without = show::without_energy_line(answered.view_before.energy, answered.view_after.energy);
    if (!without.empty()) add_line(text, without);
}

document comparison_json(const answer& answered) {
    const show::overview& before = answered.view_before.seen;
    const show::overview& after = answered.view_after.seen;
    const std::int64_t gpu = vgpualloc::whole_gpu.count();
    document parts = document::list();
    for (const free_part& entry : free_parts_of(answered)) {
        document row = changed_json(entry.before, entry.after);
        row["kind"] = entry.kind.empty() ? document{} : document{entry.kind};
        row["part"] = entry.part;
        parts.push_back(std::move(row));
    }
    return document::map(
        {{"gpus", changed_json(before.gpus * gpu, after.gpus * gpu)},
         {"used", changed_json(before.parts[0], after.parts[0])},
         {"free", changed_json(before.parts[1], after.parts[1])},
         {"out", changed_json(before.parts[2], after.parts[2])},
         {"pods_run", changed_json(before.pods_run, after.pods_run)},
         {"energy_at_most_wh", changed_json(answered.view_before.energy.wh, answered.view_after.energy.wh)},
         {"free_parts", std::move(parts)}});
}

} // namespace vgpuops::whatif
