#include "vgpusim/study/load_study.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "lists.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/openb.hpp"

namespace vgpusim {

namespace {

/// What only a study of workload models has.
expected<void> check_only_of_models(const study_lists& lists) {
    const auto refuse = [](const char* field, std::string value) {
        return unexpected(bad_value(error_code::unsupported, field, std::move(value),
                                    "a study with format model, whose loads and arrivals can be chosen"));
    };
    if (!lists.loads.empty()) return refuse("loads", "");
    if (lists.arrivals) return refuse("arrivals", std::to_string(*lists.arrivals));
    if (lists.node_total) return refuse("node_total", std::to_string(*lists.node_total));
    if (!lists.against.empty()) return refuse("against", lists.against);
    if (!lists.baselines.empty()) return refuse("baselines", lists.baselines.front());
    for (const studied_policy& entry : lists.policies) {
        if (entry != studied_policy{.name = entry.policy, .policy = entry.policy})
            return refuse("policies", entry.name);
    }
    return {};
}

} // namespace

/// A study varies pods, policy and seed itself, and loads make sense only where pods of openb lists stay.
expected<void> check_study_keys(const run_config& run) {
    constexpr std::string_view keys_of_studies[] = {"nodes",  "device_policy", "mode",        "tune",        "out",
                                                    "prices", "price_demand",  "price_every", "price_window"};
    for (const auto& [key, value] : changed_settings(run)) {
        if (std::ranges::find(keys_of_studies, key) != std::end(keys_of_studies)) continue;
        return unexpected(bad_value(error_code::unsupported, key, value,
                                    "nothing: a study replays openb lists whose pods stay, and sets pods, policy and "
                                    "seed itself (--pods, --policy, --seeds); it has the keys nodes, device_policy, "
                                    "mode, tune, out and those about prices"));
    }
    if (run.nodes.empty()) return unexpected(bad_input(error_code::missing, "nodes", "missing", "a path"));
    if (run.out.empty()) return unexpected(bad_input(error_code::missing, "out", "missing", "a path"));
    return {};
}

expected<experiment> check_study(const run_config& run, const study_lists& lists) {
    if (auto checked = check_study_keys(run); !checked) return unexpected(std::move(checked).error());
    if (auto checked = check_only_of_models(lists); !checked) return unexpected(std::move(checked).error());
    experiment study{.run = run, .lists = lists};
    if (auto checked = check_different(lists); !checked) return unexpected(std::move(checked).error());
    if (auto checked = check_lists(study); !checked) return unexpected(std::move(checked).error());
    return study;
}

std::vector<std::size_t> study_inputs::list_sizes() const {
    std::vector<std::size_t> sizes;
    for (const auto& list : pods) sizes.push_back(list.size());
    return sizes;
}

expected<study_inputs> read_study(const experiment& study, const vgpuformats::input_source& source) {
    study_inputs inputs;
    input_reader from{source, records_kept::all};
    auto nodes = from.read_list(study.run.nodes, vgputraces::read_openb_nodes);
    if (!nodes) return unexpected(std::move(nodes).error());
    inputs.nodes = *std::move(nodes);
    for (const std::string& list : study.lists.pods) {
        auto read = from.read_list(list, [](const vgpuformats::list_content& content, const std::string& name) {
            return vgputraces::read_openb_pods(content, name);
        });
        if (!read) return unexpected(std::move(read).error());
        for (error& warning : models_not_there(inputs.nodes, read->pods)) {
            warning.where = from.records().back().path;
            inputs.warnings.push_back(std::move(warning));
        }
        inputs.pods.push_back(std::move(read->pods));
    }
    auto prices = load_prices(study.run, from);
    if (!prices) return unexpected(std::move(prices).error());
    inputs.files = from.records();
    inputs.prices = *std::move(prices);
    if (!inputs.prices) return inputs;
    auto mode = openb_mode(study.run);
    if (!mode) return unexpected(std::move(mode).error());
    const auto first = build_openb_workload(inputs.nodes, inputs.pods.front(), {.seed = 1, .mode = *mode});
    if (first)
        warn_of_other_prices(study.run, inputs.prices, first->nodes, inputs.warnings); // an error is told by runs
    return inputs;
}

expected<study_results> run_study(const experiment& study, const study_inputs& inputs,
                                  const experiment_control& control) {
    const auto mode = openb_mode(study.run);
    if (!mode) return unexpected(mode.error());
    const auto load = [&](const cell& where, const run_config& config) -> expected<shared_input> {
        auto input = build_openb_workload(inputs.nodes, inputs.pods[where.list],
                                          {.tune = config.tune, .seed = config.seed, .mode = *mode});
        if (!input) {
            input.error().where = inputs.files[1 + where.list].path;
            return unexpected(std::move(input).error());
        }
        return std::make_shared<const loaded_input>(
            loaded_input{.input = *std::move(input), .files = {}, .prices = inputs.prices});
    };
    const auto measure = [&](const cell_run& run) -> expected<studied_run> {
        const auto record = replay(run.config, run.loaded, run.loaded.input.nodes, {},
                                   {.kept = kept_of_run::figures, .stop = control.stop});
        if (!record) return unexpected(record.error());
        return studied_run{.curve = load_curve_of(*record),
                           .arrived = record->rows.arrived,
                           .failed = record->rows.failed,
                           .accepted = record->accepted};
    };
    return run_experiment<studied_run>(study, load, measure, control);
}

} // namespace vgpusim
