#include "vgpufacade/purchase.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cluster_objects.hpp"
#include "start_replays.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/whatif/changed_cluster.hpp"
#include "vgpusim/study/parallel.hpp"

namespace vgpufacade {

namespace kube = vgpualloc::kube;

namespace {

/// What a node of that kind costs an hour, in millionths of the currency.
expected<std::int64_t> price_of(const vgpuops::whatif::node_kind& kind, const std::string& name,
                                const vgpuops::show::price_list& prices, const vgpualloc::power_catalog& power) {
    std::map<std::string, std::int64_t> gpus_of; // by model
    for (const kube::snapshot_device& device : kind.devices) ++gpus_of[device.registered.model];
    std::vector<vgpuops::show::model_use> models;
    for (const auto& [model, gpus] : gpus_of) {
        models.push_back({.name = vgpuops::show::short_model(model),
                          .model = model,
                          .gpus = gpus,
                          .parts = {0, gpus * vgpualloc::whole_gpu.count(), 0}});
    }
    const auto cost = vgpuops::show::cost_of(models, prices, power);
    if (!cost) return unexpected(cost.error());
    constexpr std::int64_t hours_a_day = 24;
    if (cost->total_micro >= hours_a_day) return cost->total_micro / hours_a_day;
    return unexpected(
        bad_value(error_code::out_of_range, "", name, "a kind whose GPUs have a price above 0").at("--buy"));
}

/// Replays the table with purchases.
class purchase_runs {
public:
    purchase_runs(const purchase_question& question, kube::snapshot& state, const start_replays& table,
                  const stop_signal& stop)
        : question_{&question}, state_{&state}, table_{&table}, stop_{stop} {}

    expected<void> prepare(const std::vector<kube::manifest>& objects,
                           std::span<const vgpuops::whatif::node_kind> kinds) {
        for (std::size_t i = 0; i < question_->seeds.count(); ++i) {
            auto start = table_->start_from(*state_, objects, question_->seeds.at(i));
            if (!start) return unexpected(std::move(start).error());
            starts_.push_back(*std::move(start));
        }
        for (const auto& kind : kinds) added_.push_back(add_nodes(*state_, kind, question_->most));
        return {};
    }

    /// The measure of a purchase under every seed. The first one has to have the most nodes of every kind: it says
    /// which pods run even so on no node, and count for nothing.
    expected<std::vector<purchase_result>> results_of(std::span<const std::int64_t> nodes,
                                                      const vgpusim::waiting_goal& goal) {
        std::vector<std::vector<arrival_wait>> arrivals(question_->seeds.count());
        const auto run = [&](std::size_t seed) -> expected<void> {
            auto waits = replay(nodes, seed);
            if (!waits) return unexpected(std::move(waits).error());
            arrivals[seed] = *std::move(waits);
            return {};
        };
        if (auto done = vgpusim::for_each_parallel(arrivals.size(), question_->jobs, run); !done) {
            return unexpected(std::move(done).error());
        }
        if (!arrivals_) note_never(arrivals.front());
        std::vector<purchase_result> results;
        for (std::size_t seed = 0; seed < arrivals.size(); ++seed) {
            counted_waits counted = count_waits(arrivals[seed], never_);
            results.push_back({.seed = question_->seeds.at(seed),
                               .measure = vgpusim::measure_of(goal, std::move(counted.waits), counted.endless)});
        }
        return results;
    }

    [[nodiscard]] const vgpusim::start_counts& start_counts() const { return starts_.front().counts; }
    [[nodiscard]] std::int64_t never() const { return std::ssize(never_); }
    [[nodiscard]] std::int64_t counted() const { return arrivals_.value_or(0) - never(); }

private:
    void note_never(const std::vector<arrival_wait>& arrivals) {
        arrivals_ = std::ssize(arrivals);
        for (std::size_t i = 0; i < arrivals.size(); ++i) {
            if (arrivals[i].never) never_.push_back(i);
        }
    }

    /// Replays under the seed of that position, with the first nodes of every kind.
    [[nodiscard]] expected<std::vector<arrival_wait>> replay(std::span<const std::int64_t> bought,
                                                             std::size_t seed) const {
        vgpusim::cluster_start start = starts_[seed];
        for (std::size_t kind = 0; kind < bought.size(); ++kind) {
            for (std::int64_t n = 0; n < bought[kind]; ++n) {
                start.nodes.nodes.push_back(state_->nodes().nodes[added_[kind][static_cast<std::size_t>(n)].at()]);
            }
        }
        return table_->waits_from(*state_, std::move(start), question_->seeds.at(seed), stop_);
    }

    const purchase_question* question_;
    kube::snapshot* state_;
    const start_replays* table_;
    stop_signal stop_;
    std::vector<vgpusim::cluster_start> starts_{};            ///< by seed
    std::vector<std::vector<vgpualloc::node_index>> added_{}; ///< by kind
    std::vector<std::size_t> never_{};                        ///< positions of arrivals, ascending
    std::optional<std::int64_t> arrivals_{};                  ///< none: nothing was replayed yet
};

} // namespace

expected<purchase_answer> find_purchase(const purchase_question& question, const vgpuformats::input_source& source,
                                        const stop_signal& stop) {
    constexpr std::size_t kinds_max = 4;
    if (question.kinds.empty() || question.kinds.size() > kinds_max) {
        return unexpected(bad_value(error_code::out_of_range, "", std::to_string(question.kinds.size()) + " kinds",
                                    "one to four kinds")
                              .at("--buy"));
    }
    if (std::ranges::find(question.kinds, "") != question.kinds.end()) {
        std::string list;
        for (const std::string& kind : question.kinds) list += (&kind == question.kinds.data() ? "" : ",") + kind;
        return unexpected(
            bad_value(error_code::malformed, "", list, "kinds with a name, one ',' between two").at("--buy"));
    }
    auto goal = vgpusim::read_goal(question.goal);
    if (!goal) return unexpected(std::move(goal).error());
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    const auto catalog = vgpusim::load_catalog(question.dialects.catalog, from);
    if (!catalog) return unexpected(catalog.error());
    auto config = vgpusim::load_dialects(*catalog, question.dialects.config, from);
    if (!config) return unexpected(std::move(config).error());
    const auto prices = from.read_text(question.prices, vgpuops::show::read_prices);
    if (!prices) return unexpected(prices.error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    auto cluster = vgpuops::whatif::with_kinds(**objects, vgpualloc::dialect_set{*std::move(config)}, *catalog,
                                               question.kinds, "--buy", stop);
    if (!cluster) return unexpected(std::move(cluster).error());
    purchase_answer answer{.goal = *std::move(goal),
                           .kinds = question.kinds,
                           .most = question.most,
                           .currency = prices->currency,
                           .warnings = cluster->state.warnings};
    std::vector<vgpusim::offered_kind> offered;
    for (std::size_t i = 0; i < question.kinds.size(); ++i) {
        const auto price = price_of(cluster->kinds[i], question.kinds[i], *prices, catalog->power);
        if (!price) return unexpected(price.error());
        offered.push_back({.price = *price, .most = question.most});
        answer.gpus.push_back(std::ssize(cluster->kinds[i].devices));
    }
    const auto table = start_replays::read({.pods = question.pods,
                                            .classes = question.classes,
                                            .policy = question.policy,
                                            .discipline = question.discipline,
                                            .start_ends = question.start_ends},
                                           cluster->state.dialects, from);
    if (!table) return unexpected(table.error());
    purchase_runs runs{question, cluster->state, *table, stop};
    if (auto ready = runs.prepare(**objects, cluster->kinds); !ready) return unexpected(std::move(ready).error());
    std::ranges::move(vgpusim::warnings_of(runs.start_counts(), question.cluster.front()),
                      std::back_inserter(answer.warnings));
    const auto holds = [&](std::span<const std::int64_t> nodes) -> expected<bool> {
        auto results = runs.results_of(nodes, answer.goal);
        if (!results) return unexpected(std::move(results).error());
        const bool all_hold = std::ranges::all_of(*results, [&](const purchase_result& result) {
            return result.measure && *result.measure <= answer.goal.limit;
        });
        answer.results.push_back(*std::move(results));
        return all_hold;
    };
    auto search = vgpusim::find_cheapest(offered, holds, purchases_tried_max);
    if (!search) return unexpected(std::move(search).error());
    answer.search = *std::move(search);
    answer.never = runs.never();
    answer.arrivals = runs.counted();
    return answer;
}

} // namespace vgpufacade
