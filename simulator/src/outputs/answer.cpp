#include "vgpusim/outputs/answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "vgpureport/report.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace vgpusim {

namespace {

double served_pct(const run_record& record) { return 100.0 * figures_of(record).served_ratio; }

/// Mean waits that read alike, with one decimal.
bool is_same_wait(double first_s, double second_s) { return std::abs(first_s - second_s) < 0.05; }

/// Where every policy runs all pods they serve the same, and differ in how long pods wait.
std::string verdict_by_waits(const std::vector<run_record>& records) {
    std::vector<const run_record*> ranked;
    for (const run_record& record : records) ranked.push_back(&record);
    std::ranges::stable_sort(ranked, {}, [](const run_record* record) { return record->rows.wait_mean_s(); });
    const double first = ranked[0]->rows.wait_mean_s();
    const double second = ranked[1]->rows.wait_mean_s();
    if (is_same_wait(first, ranked.back()->rows.wait_mean_s())) {
        return first < 0.05 ? "All pods run under every policy, and none waits: no winner."
                            : fmt::format("All pods run under every policy, and wait {:.1f} s on average under each: "
                                          "no winner.",
                                          first);
    }
    if (is_same_wait(first, second)) {
        return fmt::format("All pods run under every policy; those of {} and {} wait the least, {:.1f} s on average.",
                           ranked[0]->config.policy, ranked[1]->config.policy, first);
    }
    return fmt::format("All pods run under every policy. {} wins by waits: {:.1f} s on average, {:.1f} s under {}, on "
                       "this one seed.",
                       ranked[0]->config.policy, first, second, ranked[1]->config.policy);
}

/// Where two configurations differ, without where their output goes: "mode hami_core against exclusive".
std::string differences(const run_config& run, const run_config& baseline) {
    const auto ours = effective(run);
    const auto theirs = effective(baseline);
    std::string text;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const auto& [key, value] = ours[i];
        if (key == "out" || key == "trace" || value == theirs[i].second) continue;
        text += fmt::format("{}{} {} against {}", text.empty() ? "" : ", ", key, value, theirs[i].second);
    }
    return text.empty() ? "the same configuration" : text;
}

bool only_sharing_differs(run_config run, const run_config& baseline) {
    if (baseline.mode != "exclusive" || run.mode == "exclusive") return false;
    run.mode = baseline.mode;
    run.out = baseline.out;
    return effective(run) == effective(baseline);
}

std::string gain_sentence(const run_record& record, const run_record& baseline) {
    const std::string subject = only_sharing_differs(record.config, baseline.config) ? "Sharing" : "The change";
    const std::string difference = differences(record.config, baseline.config);
    const bool ranks_by_waits = record.runs_all() && baseline.runs_all() && record.has_queue && baseline.has_queue;
    if (ranks_by_waits) {
        const double wait = record.rows.wait_mean_s();
        const double before = baseline.rows.wait_mean_s();
        const char* word = is_same_wait(wait, before) ? "changes little" : wait < before ? "gains" : "loses";
        return fmt::format("{} {} ({}): all pods run either way, and wait {:.1f} s on average instead of {:.1f} s.",
                           subject, word, difference, wait, before);
    }
    const double served = served_pct(record);
    const double before = served_pct(baseline);
    const double lead = served - before;
    const bool clear = std::abs(lead) >= vgpureport::lead_min_pct;
    const char* word = !clear ? "changes little" : lead > 0.0 ? "gains" : "loses";
    const std::string factor = clear && before > 0.0 ? fmt::format(", {:.1f} times as much", served / before) : "";
    return fmt::format(
        "{} {} ({}): it serves {:.2f} % of all GPUs instead of {:.2f} %{}, and places {} pods instead of "
        "{}.",
        subject, word, difference, served, before, factor, record.rows.placed, baseline.rows.placed);
}

std::string fullness_sentence(const run_record& record) {
    const run_figures figures = figures_of(record);
    const auto after = record.result.peak.state.time - record.first_arrival;
    return fmt::format(
        "The cluster is {:.2f} % full on average and {:.2f} % full at its peak, {} s after the first "
        "arrival; running pods asked for {:.2f} % of it on average. Until the last pod has arrived it is "
        "{:.2f} % full on average.",
        100.0 * figures.allocation_mean_ratio, 100.0 * figures.allocation_peak_ratio,
        after.count() / ticks_per_second.count(), 100.0 * figures.served_ratio,
        100.0 * figures.allocation_until_last_arrival_ratio);
}

} // namespace

std::string verdict_of(const std::vector<run_record>& records) {
    if (std::ranges::all_of(records, &run_record::runs_all)) return verdict_by_waits(records);
    std::vector<double> served;
    for (const run_record& record : records) served.push_back(served_pct(record));
    std::vector<std::size_t> ranked(records.size());
    std::iota(ranked.begin(), ranked.end(), std::size_t{0});
    std::ranges::stable_sort(ranked, std::greater{}, [&served](std::size_t run) { return served[run]; });
    const run_record& first = records[ranked[0]];
    const run_record& second = records[ranked[1]];
    const double lead = served[ranked[0]] - served[ranked[1]];
    const char* share = first.pods_leave ? "of all GPU time" : "of all GPUs";
    constexpr double lead_shown_min = 0.005; // below that it would read 0.00
    if (lead < lead_shown_min) {
        return fmt::format("{} and {} serve the same share {}.", first.config.policy, second.config.policy, share);
    }
    const std::string by = fmt::format("serves {:.2f} percentage points {} more than {} ({:.1f} GPUs)", lead, share,
                                       second.config.policy, lead / 100.0 * static_cast<double>(first.gpus));
    if (lead < vgpureport::lead_min_pct) {
        return fmt::format("{} {}. That is from one seed, where a lead below {:.0f} point may be chance: no winner.",
                           first.config.policy, by, vgpureport::lead_min_pct);
    }
    return fmt::format("{} wins: it {}, on this one seed.", first.config.policy, by);
}

std::string answer_of(const run_record& record, const run_record* baseline) {
    std::string text;
    if (record.pods_leave) text = fullness_sentence(record);
    if (baseline != nullptr) text += (text.empty() ? "" : " ") + gain_sentence(record, *baseline);
    return text;
}

} // namespace vgpusim
