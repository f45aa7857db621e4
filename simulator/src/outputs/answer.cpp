#include "vgpusim/outputs/answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "vgpureport/report.hpp"
#include "vgpusim/bound/steady_words.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace vgpusim {

namespace {

double accepted_pct(const run_record& record) { return 100.0 * record.accepted.gpu_ratio(); }

double served_pct(const run_record& record) { return 100.0 * figures_of(record).served_ratio; }

/// Mean waits that read alike, with one decimal.
bool is_same_wait(double first_s, double second_s) { return std::abs(first_s - second_s) < 0.05; }

using ranked_runs = std::vector<const run_record*>;

constexpr double lead_shown_min = 0.005; // in points: below that it would read 0.00

/// Mean wait of a GPU that pods ask for.
double gpu_wait_s(const run_record* record) { return record->accepted.gpu_wait_mean_s().value_or(0.0); }

/// Runs that accept and serve the same, as `alike` says, differ in how long pods wait. A mean over pods is the smaller
/// the longer large pods, which are few, stand back: nobody wins by it whose GPUs wait longer than another's.
std::string verdict_by_waits(ranked_runs ranked, const std::string& alike) {
    std::ranges::stable_sort(ranked, {}, [](const run_record* record) { return record->rows.wait_mean_s(); });
    const double first = ranked[0]->rows.wait_mean_s();
    const double second = ranked[1]->rows.wait_mean_s();
    if (is_same_wait(first, ranked.back()->rows.wait_mean_s())) {
        if (first >= 0.05) return fmt::format("{}, and wait {:.1f} s on average under each: no winner.", alike, first);
        const bool some_wait = std::ranges::any_of(ranked, [](const auto* record) { return record->rows.waiting > 0; });
        return alike + (some_wait ? "; those that start do not wait, and others wait to the end: no winner."
                                  : ", and none waits: no winner.");
    }
    const run_record* by_gpus = std::ranges::min(ranked, {}, gpu_wait_s);
    if (gpu_wait_s(ranked[0]) > gpu_wait_s(by_gpus) && !is_same_wait(gpu_wait_s(ranked[0]), gpu_wait_s(by_gpus))) {
        return fmt::format(
            "{}. A pod waits the least under {}, {:.1f} s on average, and a GPU that is asked for under {}, "
            "{:.1f} s instead of {:.1f} s: no winner.",
            alike, ranked[0]->config.policy, first, by_gpus->config.policy, gpu_wait_s(by_gpus), gpu_wait_s(ranked[0]));
    }
    if (is_same_wait(first, second)) {
        return fmt::format("{}; those of {} and {} wait the least, {:.1f} s on average.", alike,
                           ranked[0]->config.policy, ranked[1]->config.policy, first);
    }
    return fmt::format("{}. {} wins by waits: {:.1f} s on average, {:.1f} s under {}, on this one seed.", alike,
                       ranked[0]->config.policy, first, second, ranked[1]->config.policy);
}

std::string policies_of(const ranked_runs& runs) {
    std::string names;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        names += (i == 0 ? "" : i + 1 < runs.size() ? ", " : " and ") + runs[i]->config.policy;
    }
    return names;
}

/// Sorts by a share in per cent, largest first, and returns by how much the first leads.
template <class Share>
double rank_by(ranked_runs& ranked, Share share_pct) {
    std::ranges::stable_sort(ranked, std::greater{}, [&](const run_record* record) { return share_pct(*record); });
    return share_pct(*ranked[0]) - share_pct(*ranked[1]);
}

/// What the first one leads by, in a sentence that names a winner only where the lead is large enough.
std::string verdict_by_lead(const ranked_runs& ranked, double lead, const std::string& by) {
    const std::string& first = ranked[0]->config.policy;
    if (lead >= vgpureport::lead_min_pct) return fmt::format("{} wins: it {}, on this one seed.", first, by);
    return fmt::format("{} {}. That is from one seed, where a lead below {:.0f} point may be chance: no winner.", first,
                       by, vgpureport::lead_min_pct);
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
    ranked_runs ranked;
    for (const run_record& record : records) ranked.push_back(&record);
    if (std::ranges::all_of(records, &run_record::runs_all))
        return verdict_by_waits(ranked, "All pods run under every policy");
    const double lead = rank_by(ranked, accepted_pct);
    if (lead >= lead_shown_min) {
        const double gpus = ranked[0]->accepted.accepted_gpus() - ranked[1]->accepted.accepted_gpus();
        return verdict_by_lead(ranked, lead,
                               fmt::format("accepts {:.2f} percentage points of the GPUs asked for more than {} "
                                           "({:.1f} GPUs)",
                                           lead, ranked[1]->config.policy, gpus));
    }
    const auto keep_best = [&ranked](double (*share_pct)(const run_record&)) {
        const double best = share_pct(*ranked[0]);
        std::erase_if(ranked, [&](const run_record* record) { return best - share_pct(*record) >= lead_shown_min; });
    };
    keep_best(accepted_pct);
    const std::string alike = policies_of(ranked) + " accept the same share of the GPUs asked for";
    const double lead_served = rank_by(ranked, served_pct);
    if (lead_served >= lead_shown_min) {
        return alike + ". " +
               verdict_by_lead(ranked, lead_served,
                               fmt::format("serves {:.2f} percentage points {} more than {}", lead_served,
                                           ranked[0]->pods_leave ? "of all GPU time" : "of all GPUs",
                                           ranked[1]->config.policy));
    }
    keep_best(served_pct);
    const bool waits_compare = std::ranges::all_of(ranked, [&](const run_record* record) {
        return record->has_queue && record->rows.started == ranked[0]->rows.started;
    });
    if (!waits_compare) return alike + ", and serve the same.";
    return verdict_by_waits(ranked,
                            policies_of(ranked) + " accept the same share of the GPUs asked for and serve the same");
}

std::string answer_of(const run_record& record, const run_record* baseline) {
    std::string text;
    const auto add = [&text](const std::string& sentence) {
        if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
    };
    if (record.pods_leave) add(fullness_sentence(record));
    if (record.bound && record.bound->steady) add(steady_answer(*record.bound->steady));
    if (baseline != nullptr) add(gain_sentence(record, *baseline));
    return text;
}

} // namespace vgpusim
