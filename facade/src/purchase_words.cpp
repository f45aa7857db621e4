// What to buy, in words and as a document.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/explain/words.hpp"
#include "vgpufacade/purchase.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/wait_words.hpp"

namespace vgpufacade {

namespace {

using vgpusim::purchase;

constexpr std::int64_t micro = 1'000'000;

/// "2 a100-1 and 1 t4-1"; "nothing".
std::string nodes_words(const purchase_answer& answer, const purchase& bought) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < bought.nodes.size(); ++i) {
        if (bought.nodes[i] > 0) parts.push_back(fmt::format("{} {}", bought.nodes[i], printable(answer.kinds[i])));
    }
    std::string words;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        words += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    }
    return words.empty() ? "nothing" : words;
}

std::int64_t gpus_of(const purchase_answer& answer, const purchase& bought) {
    std::int64_t gpus = 0;
    for (std::size_t i = 0; i < bought.nodes.size(); ++i) gpus += bought.nodes[i] * answer.gpus[i];
    return gpus;
}

/// "EUR 33.60 an hour".
std::string price_words(const purchase_answer& answer, const purchase& bought) {
    constexpr std::int64_t cent = micro / 100;
    const std::int64_t cents = (bought.price + cent / 2) / cent;
    return fmt::format("{} {}.{:02} an hour", printable(answer.currency), cents / 100, cents % 100);
}

bool is_longer(const purchase_result& one, const purchase_result& other) {
    return !one.measure ? other.measure.has_value() : other.measure && *one.measure > *other.measure;
}

/// The longest of all seeds; of equal ones the first.
const purchase_result& longest(const std::vector<purchase_result>& results) {
    return *std::ranges::max_element(results, [](const auto& one, const auto& other) { return is_longer(other, one); });
}

std::string measure_words(const purchase_answer& answer, const purchase_result& result) {
    return fmt::format("{} wait {} under seed {}", answer.goal.measure,
                       result.measure ? vgpuops::show::wait_words(*result.measure) : "without end", result.seed);
}

std::string seeds_words(std::size_t seeds) { return fmt::format("{} of {} seeds", seeds, seeds); }

} // namespace

std::string purchase_text(const purchase_answer& answer) {
    std::string text;
    const auto& search = answer.search;
    if (search.best) {
        const purchase& best = search.tries[*search.best];
        const auto& results = answer.results[*search.best];
        if (best.price == 0) {
            text += "Nothing to buy: ";
        } else {
            const std::int64_t gpus = gpus_of(answer, best);
            text += fmt::format("Buy {}: {} {} for {}. ", nodes_words(answer, best), gpus, gpus == 1 ? "GPU" : "GPUs",
                                price_words(answer, best));
        }
        text += fmt::format("{} holds under {}: at most {}.\n", answer.goal.text, seeds_words(results.size()),
                            vgpuops::show::wait_words(*longest(results).measure));
        if (search.below) {
            const purchase& below = search.tries[*search.below];
            text +=
                fmt::format("The dearest of all that cost less fails: {} for {}: {}.\n", nodes_words(answer, below),
                            price_words(answer, below), measure_words(answer, longest(answer.results[*search.below])));
        }
    } else {
        text += fmt::format("No purchase holds {}: with {} {}.\n", answer.goal.text,
                            nodes_words(answer, search.tries.front()),
                            measure_words(answer, longest(answer.results.front())));
    }
    text += fmt::format("{} pods count, those of the table and those that wait", answer.arrivals);
    text += answer.never == 0 ? ".\n"
                              : fmt::format("; {} more fit on no empty node, even with {} nodes of every kind.\n",
                                            answer.never, answer.most);
    text += fmt::format("Tried: {} {}{}, at most {} nodes of a kind. More nodes are taken never to lengthen waits.\n",
                        search.tries.size(), search.tries.size() == 1 ? "purchase" : "purchases",
                        search.is_complete ? "" : ", the largest number; there may be a cheaper one", answer.most);
    text += "not looked at: growth of the load, quotas, rules about other pods\n";
    for (const std::string& line : vgpualloc::explaining::warning_lines(answer.warnings)) {
        text += "warning: " + line + "\n";
    }
    return text;
}

std::string purchase_json(const purchase_answer& answer) {
    const auto purchase_of = [&](std::size_t position) {
        const purchase& bought = answer.search.tries[position];
        document nodes;
        for (std::size_t i = 0; i < bought.nodes.size(); ++i) nodes[answer.kinds[i]] = bought.nodes[i];
        document results = document::list();
        for (const purchase_result& result : answer.results[position]) {
            results.push_back(
                document::map({{"seed", result.seed},
                               {"wait_ticks", result.measure ? document{result.measure->count()} : document{}}}));
        }
        return document::map({{"nodes", std::move(nodes)},
                              {"gpus", gpus_of(answer, bought)},
                              {"hour_micro", bought.price},
                              {"holds", bought.holds},
                              {"results", std::move(results)}});
    };
    document tries = document::list();
    for (std::size_t i = 0; i < answer.search.tries.size(); ++i) tries.push_back(purchase_of(i));
    document warnings = document::list();
    for (const error& warning : answer.warnings) warnings.push_back(warning.message());
    const document result =
        document::map({{"schema", "vgpualloc.purchase/1"},
                       {"goal", answer.goal.text},
                       {"currency", answer.currency},
                       {"best", answer.search.best ? purchase_of(*answer.search.best) : document{}},
                       {"next_cheaper", answer.search.below ? purchase_of(*answer.search.below) : document{}},
                       {"pods", answer.arrivals},
                       {"pods_never", answer.never},
                       {"most", answer.most},
                       {"is_complete", answer.search.is_complete},
                       {"tries", std::move(tries)},
                       {"warnings", std::move(warnings)}});
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpufacade
