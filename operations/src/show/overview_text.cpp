// Overviews as text. What is printed adds up as it is printed.
#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "overview_tables.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

namespace {

void add_first_line(const overview& seen, const three_parts& total, std::string& text) {
    if (seen.gpus == 0) {
        std::string resources;
        for (const std::string& name : seen.looked_for) resources += (resources.empty() ? "" : ", ") + name;
        text += fmt::format("0 GPUs on {}. Looked for: {} (vgpusim dialects)\n", several(seen.nodes_all, "node"),
                            resources);
        return;
    }
    const std::int64_t percent = rounded(seen.parts[0] * 100, seen.gpus * 1000) / (seen.gpus * 1000);
    text += fmt::format("{} on {}: {} used ({} %), {} free, {} out of service.\n", several(seen.gpus, "GPU"),
                        several(seen.nodes, "node"), gpus(total[0]), percent, gpus(total[1]), gpus(total[2]));
}

/// " 1 Job makes no pods: quota."
std::string held_sentence(const std::vector<held_job>& jobs) {
    if (jobs.empty()) return {};
    const auto queued = std::ranges::count_if(jobs, &held_job::by_queue);
    const auto rest = std::ssize(jobs) - queued;
    if (queued > 0 && rest > 0) {
        return fmt::format(" {}: {} quota, {} queue.", held_words(jobs), rest, queued);
    }
    return fmt::format(" {}: {}.", held_words(jobs), word_of(jobs.front()));
}

/// "4 pods wait, none fits now: 1 scattered, 1 gate."
void add_waiting_line(const overview& seen, std::string& text) {
    if (seen.pods_all == 0 && seen.makes_no_pods.empty()) {
        text += "no pods in these files: everything counts as free\n";
        return;
    }
    if (seen.pods_wait == 0) {
        text += "No pod waits." + held_sentence(seen.makes_no_pods) + "\n";
        return;
    }
    std::array<std::int64_t, verdict_count> counts{};
    std::string fitting; // the name of one
    for (const waiting_pod& pod : seen.waiting) {
        ++counts[static_cast<std::size_t>(pod.why)];
        if (pod.why == verdict::fits_now) fitting = pod.name;
    }
    const std::int64_t fit = counts[static_cast<std::size_t>(verdict::fits_now)];
    text += fmt::format("{} {}, ", several(seen.pods_wait, "pod"), seen.pods_wait == 1 ? "waits" : "wait");
    if (fit == 0) {
        text += seen.pods_wait == 1 ? "and does not fit now" : "none fits now";
    } else if (fit == seen.pods_wait) {
        text += seen.pods_wait == 1 ? "and fits now" : "all fit now";
    } else {
        text += fmt::format("{} {} now", fit, fit == 1 ? "fits" : "fit");
    }
    if (fit == 1) text += fmt::format(" ({}; see why)", printable(fitting));
    std::string others;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto why = static_cast<verdict>(i);
        if (counts[i] == 0 || why == verdict::fits_now) continue;
        others += fmt::format("{}{} {}", others.empty() ? ": " : ", ", counts[i], to_string(why));
    }
    text += others + "." + held_sentence(seen.makes_no_pods) + "\n";
}

void add_last_lines(const overview& seen, std::string& text) {
    for (const std::string& line : explaining::warning_lines(seen.warnings)) text += "warning: " + line + "\n";
    std::string others;
    for (const std::string& rule : seen.not_looked_at) others += (others.empty() ? "" : "; ") + rule;
    text += fmt::format("not looked at: {}. Used is what pods were given, not how busy GPUs are.\n",
                        others.empty() ? "nothing that is in this file" : printable(others));
}

} // namespace

std::string overview_text(const overview& seen, const table_options& options) {
    const rounded_rows tenths = in_tenths(seen);
    std::string text;
    add_first_line(seen, tenths.total, text);
    add_waiting_line(seen, text);
    if (seen.gpus > 0) {
        add_first_table(seen, tenths, options, text);
        add_idle_table(seen, tenths.total, options, text);
        add_user_table(seen, tenths.total, options, text);
    }
    if (seen.cost) text += "\n" + cost_line(*seen.cost);
    add_last_lines(seen, text);
    return text;
}

} // namespace vgpuops::show
