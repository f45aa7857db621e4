#include "vgpusim/study/cheapest_nodes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpusim {

namespace {

using counts = std::vector<std::int64_t>;

class searcher {
public:
    searcher(std::span<const offered_kind> kinds,
             const std::function<expected<bool>(std::span<const std::int64_t>)>& holds, std::size_t tries_max)
        : kinds_{kinds}, holds_{&holds}, tries_max_{tries_max} {}

    expected<purchase_search> run() {
        counts all;
        for (const offered_kind& kind : kinds_) all.push_back(kind.most);
        const auto is_possible = attempt(all);
        if (!is_possible) return unexpected(is_possible.error());
        if (!*is_possible) return std::move(result_);
        if (auto done = search(0, std::move(all)); !done) return unexpected(std::move(done).error());
        while (!is_over()) {
            const auto below = dearest_below(result_.tries[*result_.best].price);
            if (!below) break;
            const auto holds = attempt(*below, true);
            if (!holds) return unexpected(holds.error());
            if (*holds || is_over()) continue;
            result_.below = tries_of_.at(*below);
            break;
        }
        return std::move(result_);
    }

private:
    [[nodiscard]] std::int64_t price_of(const counts& nodes) const {
        std::int64_t price = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) price += nodes[i] * kinds_[i].price;
        return price;
    }
    [[nodiscard]] bool is_over() const { return !result_.is_complete; }

    /// Whether the goal holds. What tries of more or fewer nodes tell already is not tried unless `even_if_known`.
    expected<bool> attempt(const counts& nodes, bool even_if_known = false) {
        const auto known = tries_of_.find(nodes);
        if (known != tries_of_.end()) return result_.tries[known->second].holds;
        const auto any_of = [&](bool holding, const auto& compare) {
            return std::ranges::any_of(result_.tries, [&](const purchase& tried) {
                return tried.holds == holding && std::ranges::equal(nodes, tried.nodes, compare);
            });
        };
        if (!even_if_known && any_of(false, std::less_equal{})) return false;
        if (!even_if_known && any_of(true, std::greater_equal{})) return true;
        if (result_.tries.size() == tries_max_) {
            result_.is_complete = false;
            return false;
        }
        const auto holds = (*holds_)(nodes);
        if (!holds) return unexpected(holds.error());
        tries_of_.emplace(nodes, result_.tries.size());
        result_.tries.push_back({.nodes = nodes, .price = price_of(nodes), .holds = *holds});
        const bool is_best =
            *holds && (!result_.best || result_.tries.back().price < result_.tries[*result_.best].price);
        if (is_best) result_.best = result_.tries.size() - 1;
        return holds;
    }

    /// The largest number of a kind that costs less than the best, with none of the kinds behind it; -1: not even 0.
    [[nodiscard]] std::int64_t most_of(std::size_t kind, counts nodes) const {
        std::fill(nodes.begin() + static_cast<std::ptrdiff_t>(kind), nodes.end(), 0);
        const std::int64_t left = result_.tries[*result_.best].price - 1 - price_of(nodes);
        return left < 0 ? -1 : std::min(kinds_[kind].most, left / kinds_[kind].price);
    }

    /// The smallest number of a kind with which the goal holds; with the number in `nodes` it does.
    expected<std::int64_t> least_of(std::size_t kind, counts nodes) {
        std::int64_t fails = -1;
        std::int64_t suffices = nodes[kind];
        std::int64_t step = 1;
        while (suffices - fails > 1) { // 0, 2, 6, …, then by halves: few nodes are what most goals need
            const std::int64_t middle = fails + (suffices - fails) / 2;
            nodes[kind] = std::min(middle, fails + step);
            step *= 2;
            const auto holds = attempt(nodes);
            if (!holds) return unexpected(holds.error());
            if (is_over()) return suffices;
            if (*holds) {
                suffices = nodes[kind];
                step = suffices - fails; // no more small steps
            } else {
                fails = nodes[kind];
            }
        }
        return suffices;
    }

    /// Goes through the numbers of all kinds from `kind` on. The goal holds with `nodes`, which has the most of these.
    expected<void> search(std::size_t kind, counts nodes) {
        if (kind + 1 == kinds_.size() && kind > 0) { // as many as cost less than the best are most often too few
            nodes[kind] = most_of(kind, nodes);
            if (nodes[kind] < 0) return {};
            const auto holds = attempt(nodes);
            if (!holds) return unexpected(holds.error());
            if (!*holds) return {};
        }
        const auto least = least_of(kind, nodes);
        if (!least) return unexpected(least.error());
        if (kind + 1 == kinds_.size() || is_over()) return {};
        for (std::int64_t n = *least; n <= most_of(kind, nodes); ++n) {
            nodes[kind] = n;
            if (auto done = search(kind + 1, nodes); !done || is_over()) return done;
        }
        return {};
    }

    /// The purchase with the highest price below that one; of several the first by numbers.
    [[nodiscard]] std::optional<counts> dearest_below(std::int64_t price) const {
        std::optional<counts> dearest;
        std::int64_t dearest_price = -1;
        counts nodes(kinds_.size(), 0);
        const auto go_on = [&](const auto& self, std::size_t kind, std::int64_t left) -> void {
            const bool is_last = kind + 1 == kinds_.size();
            const std::int64_t most = std::min(kinds_[kind].most, left / kinds_[kind].price);
            for (std::int64_t n = is_last ? most : 0; n <= most; ++n) { // the last kind as often as it can
                nodes[kind] = n;
                const std::int64_t rest = left - n * kinds_[kind].price;
                if (!is_last) {
                    self(self, kind + 1, rest);
                } else if (price - 1 - rest > dearest_price) {
                    dearest_price = price - 1 - rest;
                    dearest = nodes;
                }
            }
            nodes[kind] = 0;
        };
        if (price > 0) go_on(go_on, 0, price - 1);
        return dearest;
    }

    std::span<const offered_kind> kinds_;
    const std::function<expected<bool>(std::span<const std::int64_t>)>* holds_;
    std::size_t tries_max_;
    purchase_search result_{};
    std::map<counts, std::size_t> tries_of_{}; ///< positions among the tries
};

} // namespace

expected<purchase_search> find_cheapest(std::span<const offered_kind> kinds,
                                        const std::function<expected<bool>(std::span<const std::int64_t>)>& holds,
                                        std::size_t tries_max) {
    VGA_ASSERT(!kinds.empty() && kinds.size() <= 4, "one to four kinds are offered");
    VGA_ASSERT(std::ranges::all_of(kinds, [](const offered_kind& kind) { return kind.price > 0; }),
               "kinds have a price");
    return searcher{kinds, holds, tries_max}.run();
}

} // namespace vgpusim
