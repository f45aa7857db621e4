#include "vgpufacade/show.hpp"

#include <utility>

#include "cluster_objects.hpp"
#include "show_page.hpp"

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

/// What an answer is made of.
struct show_inputs {
    vgpualloc::hardware_catalog catalog;
    vgpualloc::dialect_set dialects;
    vgpusim::shared_objects objects;
};

expected<show_inputs> inputs_of(const show_question& question, vgpusim::input_reader& from) {
    auto catalog = vgpusim::load_catalog(question.dialects.catalog, from);
    if (!catalog) return unexpected(std::move(catalog).error());
    auto config = vgpusim::load_dialects(*catalog, question.dialects.config, from);
    if (!config) return unexpected(std::move(config).error());
    auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(std::move(objects).error());
    return show_inputs{*std::move(catalog), vgpualloc::dialect_set{*std::move(config)}, *std::move(objects)};
}

/// Adds the cost, where prices are known.
expected<void> price(const show_question& question, const show_inputs& inputs, vgpusim::input_reader& from,
                     vgpuops::show::overview& to) {
    if (question.prices.empty()) return {};
    return add_cost(question.prices, inputs.catalog.power, from, to);
}

} // namespace

expected<vgpuops::show::overview> show(const show_question& question, const vgpuformats::input_source& source,
                                       const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    const auto inputs = inputs_of(question, from);
    if (!inputs) return unexpected(inputs.error());
    auto seen = vgpuops::show::overview_of(*inputs->objects, inputs->dialects, question.chosen, stop);
    if (!seen) return seen;
    if (auto priced = price(question, *inputs, from, *seen); !priced) return unexpected(std::move(priced).error());
    return seen;
}

expected<answer_html> show_page(const show_question& question, bool lists_all, const vgpuformats::input_source& source,
                                const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    const auto inputs = inputs_of(question, from);
    if (!inputs) return unexpected(inputs.error());
    auto both = vgpuops::why::overview_and_waiting(*inputs->objects, inputs->dialects, question.chosen, stop);
    if (!both) return unexpected(std::move(both).error());
    if (auto priced = price(question, *inputs, from, both->seen); !priced) return unexpected(std::move(priced).error());
    const vgpureport::answer_page page = page_of(both->seen, both->waiting, question, lists_all);
    return answer_html{.sentence = page.title, .html = vgpureport::render_answer(page)};
}

} // namespace vgpufacade
