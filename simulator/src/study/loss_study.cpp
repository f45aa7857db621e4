#include "vgpusim/study/loss_study.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/kubernetes.hpp"

namespace vgpusim {

expected<void> check_loss_study_keys(const run_config& run) {
    constexpr std::string_view set_by_study[] = {"pods", "policy", "offered_load", "seed", "trace"};
    for (const auto& [key, value] : changed_settings(run)) {
        if (std::ranges::find(set_by_study, key) == std::end(set_by_study)) continue;
        return unexpected(bad_value(error_code::unsupported, key, value,
                                    "nothing: a study sets models, policy, load and seed itself, and traces no run"));
    }
    if (run.out.empty()) return unexpected(bad_input(error_code::missing, "out", "missing", "a path"));
    return {};
}

expected<experiment> check_loss_study(const run_config& run, const study_lists& lists) {
    if (auto checked = check_loss_study_keys(run); !checked) return unexpected(std::move(checked).error());
    experiment study{.run = run, .lists = lists};
    study.run.format = model_format;
    if (auto checked = check_lists(study); !checked) return unexpected(std::move(checked).error());
    return study;
}

loss_run loss_run_of(const run_record& record, const simulation_input& input) {
    return {.figures = loss_figures_of(record.result, input),
            .classes = input.measured->classes,
            .started = record.result.placed,
            .moved = record.result.disturbed.migrations + record.result.moves.done};
}

expected<loss_results> run_loss_study(const experiment& study, const vgpuformats::input_source& source,
                                      const experiment_control& control) {
    const auto measure = [&](const cell_run& run) -> expected<loss_run> {
        const simulation_input& input = run.loaded.input;
        if (study.lists.policies[run.where.policy].policy == pool_reference) {
            return loss_run{.figures = pool_figures_of(input), .classes = input.measured->classes};
        }
        const auto record =
            replay(run.config, run.loaded, input.nodes, {}, {.kept = kept_of_run::pods, .stop = control.stop});
        if (!record) return unexpected(record.error());
        return loss_run_of(*record, input);
    };
    return run_experiment<loss_run>(study, loader_from(source, study, control.stop), measure, control);
}

} // namespace vgpusim
