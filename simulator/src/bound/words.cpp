#include "vgpusim/bound/words.hpp"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/bound/steady_words.hpp"

namespace vgpusim {

using vgpualloc::plan::lp_status;

namespace {

double of_all(const bound_figures& figures, double milli) {
    return figures.total_milli == 0 ? 0.0 : milli / static_cast<double>(figures.total_milli);
}

document ratios(const bound_figures& figures, lp_status status, double milli) {
    document result = document::map({{"status", to_string(status)}});
    if (status == lp_status::infeasible) return result;
    result["milli"] = milli;
    result["ratio"] = of_all(figures, milli);
    if (figures.achieved) result["achieved_ratio"] = achieved_of(figures, milli);
    return result;
}

document json_of(const bound_figures& figures, const lp_bound& bound, bool forced) {
    document result = ratios(figures, bound.status, bound.amount);
    if (forced) {
        result["forced_pods"] = bound.forced_pods;
        result["forced_load"] = bound.forced_load;
    }
    if (bound.status == lp_status::infeasible) result["shortage_pods"] = bound.shortage;
    result["rounds"] = bound.rounds;
    result["columns"] = bound.columns;
    return result;
}

document json_of(const pool_amounts& amounts) {
    return document::map({{"pods", amounts.pods}, {"memory_units", amounts.memory_units}});
}

std::string percent(double ratio) { return fmt::format("{:.2f} %", 100.0 * ratio); }

/// "97.61 % of all GPUs (achieved 98.7 % of it)".
std::string amount_words(const bound_figures& figures, lp_status status, double milli) {
    std::string text =
        fmt::format("at most {} of {} GPUs", percent(of_all(figures, milli)), figures.total_milli / whole_gpu.count());
    if (status == lp_status::limit) text += ", where the search was ended";
    if (figures.achieved) text += fmt::format("; achieved {} of that", percent(achieved_of(figures, milli)));
    return text;
}

std::string forced_words(const bound_figures& figures, const lp_bound& bound) {
    if (bound.status == lp_status::infeasible) {
        return fmt::format("{} pods, {} of all GPUs, do not fit together: {:.1f} of them stay out at least",
                           bound.forced_pods, percent(bound.forced_load), bound.shortage);
    }
    return fmt::format("{}; {} pods forced, which ask for {}", amount_words(figures, bound.status, bound.amount),
                       bound.forced_pods, percent(bound.forced_load));
}

std::string share_words(std::int64_t part, std::int64_t whole) {
    return percent(whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole));
}

void add_pool(std::string& text, const bound_figures& figures) {
    const pool_outcome& pool = *figures.pool;
    const auto line = [&](const std::string& name, const pool_amounts& accepted) {
        fmt::format_to(std::back_inserter(text), "{:<16} {} of {} pods accepted, {} of their memory units\n", name,
                       share_words(accepted.pods, pool.arrived.pods), pool.arrived.pods,
                       share_words(accepted.memory_units, pool.arrived.memory_units));
    };
    line("pool", pool.accepted);
    if (figures.achieved && figures.achieved->accepted) {
        line(printable(figures.achieved->policy), *figures.achieved->accepted);
    }
    text +=
        "                 The pool is a reference and no bound on the number of pods: it accepts large pods where a "
        "policy would have lost them and placed several small ones.\n";
}

} // namespace

double achieved_of(const bound_figures& figures, double bound_milli) noexcept {
    if (!figures.achieved) return 0.0;
    constexpr double rounding = 1e-9;                                             // of the solver's sums
    if (bound_milli < rounding && figures.achieved->milli < rounding) return 1.0; // nothing is all there is
    if (bound_milli <= 0.0) return 0.0;
    const double ratio = figures.achieved->milli / bound_milli;
    return std::abs(ratio - 1.0) < rounding ? 1.0 : ratio;
}

document bound_document(const bound_figures& figures) {
    document result = document::map({{"solver", figures.solver},
                                     {"total_milli", figures.total_milli},
                                     {"arrived_milli", std::llround(figures.arrived_milli)}});
    if (figures.achieved) {
        result["achieved"] = document::map({{"policy", figures.achieved->policy},
                                            {"milli", std::llround(figures.achieved->milli)},
                                            {"ratio", of_all(figures, figures.achieved->milli)}});
    }
    document& configuration = result["configuration"];
    configuration = json_of(figures, figures.configuration, false);
    configuration["pods"] = figures.pods;
    if (figures.memory_total_mib > 0) {
        configuration["memory_mib"] = figures.memory_mib;
        configuration["memory_total_mib"] = figures.memory_total_mib;
    }
    if (figures.work_conserving) result["work_conserving"] = json_of(figures, *figures.work_conserving, true);
    if (figures.prefix) {
        document& prefix = result["forced_prefix"];
        prefix = json_of(figures, *figures.prefix, true);
        if (!figures.prefix_policy.empty()) prefix["policy"] = figures.prefix_policy;
    }
    if (figures.exact) {
        document& exact = result["exact"];
        exact = ratios(figures, figures.exact->status, figures.exact->milli);
        exact["columns"] = figures.exact->columns;
    }
    if (figures.pool) {
        document& pool = result["pool"];
        pool = document::map({{"is_a_bound", false},
                              {"arrived", json_of(figures.pool->arrived)},
                              {"accepted", json_of(figures.pool->accepted)}});
        if (figures.achieved && figures.achieved->accepted) pool["achieved"] = json_of(*figures.achieved->accepted);
    }
    if (figures.steady) result["steady"] = steady_document(*figures.steady);
    if (!figures.why_not_steady.empty()) result["no_steady"] = figures.why_not_steady;
    return result;
}

std::string bound_json(const bound_figures& figures, const loaded_input& loaded, const run_config& config) {
    document inputs = document::list();
    for (const input_file& file : loaded.files) {
        document& input = inputs.push_back(document::map({{"path", file.path}}));
        if (!file.sha256.empty()) input["sha256"] = file.sha256;
    }
    document result = document::map({{"version", vgpualloc::version}, {"seed", config.seed}, {"inputs", inputs}});
    for (auto& [key, value] : bound_document(figures).members) result[key] = value;
    return vgpuformats::print_json(result, 2) + "\n";
}

std::string bound_words(const bound_figures& figures) {
    std::string text;
    const auto line = [&text](const char* name, const std::string& words) {
        fmt::format_to(std::back_inserter(text), "{:<16} {}\n", name, words);
    };
    line("arrived", fmt::format("pods that ask for {} of all GPUs{}", percent(of_all(figures, figures.arrived_milli)),
                                figures.pods_leave ? "; they leave: amounts are those of any one moment" : ""));
    if (figures.achieved) {
        line("achieved", fmt::format("{} of all GPUs by {}{}", percent(of_all(figures, figures.achieved->milli)),
                                     printable(figures.achieved->policy), figures.pods_leave ? ", at the peak" : ""));
    }
    line("any policy", amount_words(figures, figures.configuration.status, figures.configuration.amount));
    if (figures.work_conserving) line("work-conserving", forced_words(figures, *figures.work_conserving));
    if (figures.prefix) {
        line("same prefix", forced_words(figures, *figures.prefix));
    }
    if (figures.exact) {
        const bool reached = figures.exact->status == lp_status::optimal;
        line("exact",
             (reached ? "reachable: " : "") + amount_words(figures, figures.exact->status, figures.exact->milli));
    }
    if (figures.steady) text += steady_words(*figures.steady);
    if (!figures.why_not_steady.empty()) line("means over time", "no bound: " + figures.why_not_steady);
    if (figures.pool) add_pool(text, figures);
    return text;
}

} // namespace vgpusim
