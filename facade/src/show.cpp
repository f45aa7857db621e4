#include "vgpufacade/show.hpp"

#include <utility>

#include "cluster_objects.hpp"

namespace vgpufacade {

namespace {

/// Sets the cost of an overview by an input with prices.
expected<void> add_cost(const std::string& name, const vgpualloc::power_catalog& power, vgpusim::input_reader& from,
                        vgpuops::show::overview& to) {
    const auto input = from.read(name);
    if (!input) return unexpected(input.error());
    const auto prices = vgpuops::show::read_prices(input->text, name);
    if (!prices) return unexpected(prices.error());
    auto cost = vgpuops::show::cost_of(to.models, *prices, power);
    if (!cost) return unexpected(std::move(cost).error());
    to.cost = *std::move(cost);
    return {};
}

} // namespace

expected<vgpuops::show::overview> show(const show_question& question, const vgpuformats::input_source& source,
                                       const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    const auto catalog = vgpusim::load_catalog(question.dialects.catalog, from);
    if (!catalog) return unexpected(catalog.error());
    auto config = vgpusim::load_dialects(*catalog, question.dialects.config, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    auto seen = vgpuops::show::overview_of(*objects, vgpualloc::dialect_set{*std::move(config)}, question.chosen, stop);
    if (!seen || question.prices.empty()) return seen;
    if (auto priced = add_cost(question.prices, catalog->power, from, *seen); !priced) {
        return unexpected(std::move(priced).error());
    }
    return seen;
}

} // namespace vgpufacade
