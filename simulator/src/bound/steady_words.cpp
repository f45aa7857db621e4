#include "vgpusim/bound/steady_words.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace vgpusim {

namespace {

document share_json(const share_bound& bound, bool has_luck) {
    document result = document::map({{"ratio", bound.most}});
    if (!bound.achieved) return result;
    if (has_luck) result["luck_ratio"] = bound.luck;
    result["achieved"] = *bound.achieved;
    result["achieved_ratio"] = *part_achieved(bound);
    return result;
}

document wait_json(const least_wait& wait) {
    document result = document::map(
        {{"mean", wait.mean_s}, {"gpu_mean", wait.gpu_mean_s}, {"pods", wait.pods}, {"conditions", wait.conditions}});
    if (wait.achieved_mean_s) {
        result["achieved_mean"] = *wait.achieved_mean_s;
        result["unavoidable_ratio"] = *part_unavoidable(wait);
    }
    if (wait.achieved_gpu_mean_s) result["achieved_gpu_mean"] = *wait.achieved_gpu_mean_s;
    return result;
}

std::string in_percent(double ratio) { return fmt::format("{:.2f} %", 100.0 * ratio); }

/// "; achieved 98.70 % of that".
std::string achieved_words(const share_bound& bound) {
    const auto part = part_achieved(bound);
    return part ? fmt::format("; achieved {} of that", in_percent(*part)) : "";
}

} // namespace

std::optional<double> part_achieved(const share_bound& bound) noexcept {
    if (!bound.achieved) return std::nullopt;
    constexpr double rounding = 1e-9;
    const double most = std::clamp(bound.most + bound.luck, 0.0, 1.0);
    if (most <= rounding) return *bound.achieved <= rounding ? 1.0 : 0.0; // nothing is all there is
    const double ratio = *bound.achieved / most;
    return std::abs(ratio - 1.0) < rounding ? 1.0 : ratio;
}

std::optional<double> part_unavoidable(const least_wait& wait) noexcept {
    if (!wait.achieved_mean_s) return std::nullopt;
    return *wait.achieved_mean_s > 0.0 ? wait.mean_s / *wait.achieved_mean_s : 1.0;
}

document steady_document(const steady_figures& figures) {
    document result = document::map({{"seconds", figures.seconds}, {"served", share_json(figures.served, false)}});
    if (figures.accepted) result["accepted_gpus"] = share_json(*figures.accepted, false);
    if (figures.blind) result["accepted_gpus_blind"] = share_json(*figures.blind, true);
    if (!figures.accepted) result["no_accepted_gpus"] = figures.why_no_accepted;
    if (figures.wait) {
        result["wait_s"] = wait_json(*figures.wait);
    } else {
        result["no_wait_s"] = figures.why_no_wait;
    }
    return result;
}

std::string steady_words(const steady_figures& figures) {
    std::string text;
    const auto line = [&text](std::string_view name, const std::string& words) {
        fmt::format_to(std::back_inserter(text), "{:<16} {}\n", name, words);
    };
    line("mean served", fmt::format("at most {} of all GPUs on average until the last pod has arrived{}",
                                    in_percent(figures.served.most), achieved_words(figures.served)));
    if (figures.blind) {
        line("accepted",
             fmt::format("at most {} of the GPUs asked for on average, by policies that do not know how long "
                         "pods run{}",
                         in_percent(figures.blind->most), achieved_words(*figures.blind)));
        line("", fmt::format("at most {} by policies that know all arrivals and durations{}",
                             in_percent(figures.accepted->most), achieved_words(*figures.accepted)));
    } else {
        line("accepted", fmt::format("no bound: {}", figures.why_no_accepted));
    }
    if (figures.wait) {
        std::string words = fmt::format("at least {:.1f} s on average, {:.1f} s for a GPU that is asked for",
                                        figures.wait->mean_s, figures.wait->gpu_mean_s);
        if (const auto part = part_unavoidable(*figures.wait)) {
            words += fmt::format("; pods waited {:.1f} s, of which {} could not be avoided",
                                 *figures.wait->achieved_mean_s, in_percent(*part));
        }
        line("wait", words);
    } else {
        line("wait", fmt::format("no bound: {}", figures.why_no_wait));
    }
    return text;
}

std::string steady_answer(const steady_figures& figures) {
    std::string text;
    if (figures.blind && figures.blind->achieved) {
        text = fmt::format(
            "It accepts {} of the GPUs asked for; a policy that does not know how long pods run could accept {} on "
            "average: {} of the possible.",
            in_percent(*figures.blind->achieved), in_percent(figures.blind->most),
            in_percent(*part_achieved(*figures.blind)));
    }
    if (figures.wait && figures.wait->achieved_mean_s) {
        text = fmt::format("Pods wait {:.1f} s on average; under no policy could it be less than {:.1f} s.",
                           *figures.wait->achieved_mean_s, figures.wait->mean_s);
    }
    return text;
}

} // namespace vgpusim
