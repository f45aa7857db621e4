// Overviews as text. What is printed adds up as it is printed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "overview_tables.hpp"
#include "short_lines.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

namespace {

constexpr std::size_t resources_named = 4;

std::string usage_line(const overview& seen, const three_parts& total) {
    if (seen.gpus == 0) {
        std::vector<std::string> resources = seen.looked_for;
        std::ranges::stable_partition(resources,
                                      [](const std::string& name) { return name.find("/gpu") != std::string::npos; });
        const std::size_t others = resources.size() - std::min(resources.size(), resources_named);
        resources.resize(resources.size() - others);
        return fmt::format("0 GPUs on {}. Looked for: {}{} (vgpusim dialects)", several(seen.nodes_all, "node"),
                           vgpuformats::joined(resources), others > 0 ? fmt::format(" and {} more", others) : "");
    }
    const std::int64_t percent = rounded(seen.parts[0] * 100, seen.gpus * 1000) / (seen.gpus * 1000);
    return fmt::format("{} on {}: {} used ({} %), {} free, {} out of service.", several(seen.gpus, "GPU"),
                       several(seen.nodes, "node"), gpus(total[0]), percent, gpus(total[1]), gpus(total[2]));
}

/// " 1 Job makes no pods: quota.", " 3 owners make no pods: 1 quota, 2 queue."
std::string held_sentence(const std::vector<held_job>& jobs) {
    if (jobs.empty()) return {};
    std::map<verdict, std::int64_t> owners;
    for (const held_job& job : jobs) ++owners[job.why];
    std::string verdicts;
    for (const auto& [why, count] : owners) {
        if (!verdicts.empty()) verdicts += ", ";
        verdicts += owners.size() == 1 ? std::string{to_string(why)} : fmt::format("{} {}", count, to_string(why));
    }
    return fmt::format(" {}: {}.", held_words(jobs), verdicts);
}

/// "4 pods wait, none fits now: 1 scattered, 1 gate."
std::string waiting_line(const overview& seen) {
    if (seen.pods_all == 0 && seen.makes_no_pods.empty()) {
        return "no pods in these files: everything counts as free";
    }
    if (seen.pods_wait == 0) {
        const std::string unread = unread_words(seen.pods_unread);
        return (unread.empty() ? "No pod waits." : "No pod waits for GPUs." + unread) +
               held_sentence(seen.makes_no_pods);
    }
    std::array<std::int64_t, verdict_count> counts{};
    std::string fitting; // the name of one
    for (const waiting_pod& pod : seen.waiting) {
        ++counts[static_cast<std::size_t>(pod.why)];
        if (pod.why == verdict::fits_now) fitting = pod.name;
    }
    const std::int64_t fit = counts[static_cast<std::size_t>(verdict::fits_now)];
    std::string text = waiting_words(seen.pods_wait, fit);
    if (fit == 1) text += fmt::format(" ({}; see why)", printable(fitting));
    std::string others;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto why = static_cast<verdict>(i);
        if (counts[i] == 0 || why == verdict::fits_now) continue;
        others += fmt::format("{}{} {}", others.empty() ? ": " : ", ", counts[i], to_string(why));
    }
    return text + others + "." + unread_words(seen.pods_unread) + held_sentence(seen.makes_no_pods);
}

std::string not_looked_at_line(const overview& seen) {
    std::string others;
    for (const std::string& rule : seen.not_looked_at) others += (others.empty() ? "" : "; ") + rule;
    return fmt::format("not looked at: {}. Used is what pods were given, not how busy GPUs are.",
                       others.empty() ? "nothing that is in this file" : printable(others));
}

} // namespace

overview_tables tables_of(const overview& seen, const table_options& options) {
    const rounded_rows tenths = in_tenths(seen);
    overview_tables result{.usage = usage_line(seen, tenths.total),
                           .waiting = waiting_line(seen),
                           .total = tenths.total,
                           .cost = seen.cost ? cost_line(*seen.cost) : std::string{},
                           .warnings = explaining::warning_lines(seen.warnings),
                           .not_looked_at = not_looked_at_line(seen)};
    if (seen.gpus == 0) return result;
    result.first = first_table(seen, tenths, options);
    if (options.is_wide) result.hosts = hosts_table(seen, tenths, options);
    result.idle = idle_table(seen, tenths.total, options);
    result.users = user_table(seen, tenths.total, options);
    return result;
}

std::string overview_text(const overview& seen, const table_options& options) {
    const overview_tables tables = tables_of(seen, options);
    std::string text = tables.usage + "\n" + tables.waiting + "\n";
    for (const printed_table* const table : {&tables.first, &tables.hosts, &tables.idle, &tables.users}) {
        if (!table->rows.empty()) text += "\n" + text_of(*table);
    }
    if (!tables.cost.empty()) text += "\n" + tables.cost;
    for (const std::string& line : tables.warnings) text += "warning: " + line + "\n";
    return with_short_lines(text + tables.not_looked_at + "\n");
}

} // namespace vgpuops::show
