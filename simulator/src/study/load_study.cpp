#include "vgpusim/study/load_study.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "lists.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/study/compare.hpp"
#include "vgpusim/study/parallel.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/openb.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

error bad_study(error_code code, const char* field, std::string value, std::string expectation) {
    return {.code = code, .where = "", .field = field, .value = std::move(value), .expected = std::move(expectation)};
}

/// A study varies pods, policy and seed itself, and loads make sense only where pods of openb lists stay.
expected<void> check_study_keys(const run_config& run) {
    constexpr std::string_view keys_of_studies[] = {"nodes",  "device_policy", "mode",        "tune",        "out",
                                                    "prices", "price_demand",  "price_every", "price_window"};
    const auto defaults = effective(run_config{});
    const auto settings = effective(run);
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const auto& [key, value] = settings[i];
        if (value == defaults[i].second || std::ranges::find(keys_of_studies, key) != std::end(keys_of_studies)) {
            continue;
        }
        return unexpected(bad_study(error_code::unsupported, key.c_str(), value,
                                    "nothing: a study replays openb lists whose pods stay, and sets pods, policy and "
                                    "seed itself (--pods, --policy, --seeds); it has the keys nodes, device_policy, "
                                    "mode, tune, out and those about prices"));
    }
    if (run.nodes.empty()) return unexpected(bad_study(error_code::missing, "nodes", "", "missing; expected a path"));
    if (run.out.empty()) return unexpected(bad_study(error_code::missing, "out", "", "missing; expected a path"));
    return {};
}

/// What only a study of workload models has.
expected<void> check_only_of_models(const study_lists& lists) {
    const auto refuse = [](const char* field, std::string value) {
        return unexpected(bad_study(error_code::unsupported, field, std::move(value),
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

expected<void> check_different(const std::vector<std::string>& values, const char* flag) {
    if (values.empty()) return unexpected(bad_study(error_code::missing, flag, "", "missing; expected at least one"));
    std::set<std::string_view> known;
    for (const std::string& value : values) {
        if (!known.insert(value).second) {
            return unexpected(bad_study(error_code::duplicate, flag, value, "each only once"));
        }
    }
    return {};
}

expected<void> check_run_count(std::size_t runs, const seed_range& seeds) {
    constexpr std::size_t runs_max = 100'000;
    if (runs <= runs_max) return {};
    return unexpected(bad_study(error_code::out_of_range, "--seeds", seeds.text(),
                                "at most 100000 runs, and these are " + std::to_string(runs)));
}

expected<load_study> check_study(const run_config& run, const study_lists& lists) {
    if (const auto checked = check_study_keys(run); !checked) return unexpected(checked.error());
    if (const auto checked = check_only_of_models(lists); !checked) return unexpected(checked.error());
    std::vector<std::string> policies;
    for (const studied_policy& entry : lists.policies) policies.push_back(entry.policy);
    if (const auto checked = check_different(policies, "--policy"); !checked) return unexpected(checked.error());
    if (const auto checked = check_different(lists.pods, "--pods"); !checked) return unexpected(checked.error());
    if (const auto checked = check_policy_names(policies); !checked) return unexpected(checked.error());
    if (const auto checked = check_prices(run, policies); !checked) return unexpected(checked.error());
    const std::size_t runs = policies.size() * lists.pods.size() * lists.seeds.count();
    if (const auto checked = check_run_count(runs, lists.seeds); !checked) return unexpected(checked.error());
    return load_study{.run = run, .policies = std::move(policies), .lists = lists.pods, .seeds = lists.seeds};
}

expected<study_inputs> read_study(const load_study& study, const vgpuformats::input_source& source) {
    study_inputs inputs;
    input_reader from{source, records_kept::all};
    auto nodes = from.read_list(study.run.nodes, vgputraces::read_openb_nodes);
    if (!nodes) return unexpected(std::move(nodes).error());
    inputs.nodes = *std::move(nodes);
    for (const std::string& list : study.lists) {
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

namespace {

using shared_workload = shared_while_used<expected<loaded_input>>;

expected<loaded_input> workload_of(const load_study& study, const study_inputs& inputs, std::size_t list,
                                   std::int64_t seed, const vgpualloc::sharing_mode& mode) {
    auto input =
        build_openb_workload(inputs.nodes, inputs.pods[list], {.tune = study.run.tune, .seed = seed, .mode = &mode});
    if (!input) {
        input.error().where = inputs.files[1 + list].path;
        return unexpected(std::move(input).error());
    }
    return loaded_input{.input = *std::move(input), .files = {}, .prices = inputs.prices};
}

expected<studied_run> run_once(const load_study& study, const std::string& policy, std::int64_t seed,
                               const loaded_input& workload) {
    run_config config = study.run;
    config.policy = policy;
    config.seed = seed;
    const auto record = replay(config, workload, workload.input.nodes, {});
    if (!record) return unexpected(record.error());
    return studied_run{.curve = load_curve_of(*record), .arrived = record->rows.arrived, .failed = record->rows.failed};
}

} // namespace

expected<study_results> run_study(const load_study& study, const study_inputs& inputs, std::size_t jobs,
                                  const std::function<void(std::size_t)>& tell) {
    const auto mode = openb_mode(study.run);
    if (!mode) return unexpected(mode.error());
    const std::size_t policies = study.policies.size();
    const std::size_t lists = study.lists.size();
    const std::size_t seeds = study.seeds.count();
    study_results results;
    results.jobs = jobs;
    results.runs.resize(policies * lists * seeds);
    std::vector<std::unique_ptr<shared_workload>> workloads; // by list, then seed
    for (std::size_t i = 0; i < lists * seeds; ++i) workloads.push_back(std::make_unique<shared_workload>(policies));
    const std::uint64_t begin = now_ns();
    const double cpu_begin = cpu_seconds();
    // The policies of one workload come one after the other, so that about as many workloads live as there are threads.
    const auto done = for_each_parallel(
        results.runs.size(), jobs,
        [&](std::size_t piece) -> expected<void> {
            const std::size_t pair = piece / policies;
            const std::size_t policy = piece % policies;
            const std::int64_t seed = study.seeds.at(pair % seeds);
            const auto& workload =
                workloads[pair]->get([&] { return workload_of(study, inputs, pair / seeds, seed, **mode); });
            if (!workload) return unexpected(workload.error());
            auto run = run_once(study, study.policies[policy], seed, *workload);
            workloads[pair]->done();
            if (!run) return unexpected(std::move(run).error());
            results.runs[(policy * lists + pair / seeds) * seeds + pair % seeds] = *std::move(run);
            return {};
        },
        tell);
    if (!done) return unexpected(done.error());
    results.wall_s = static_cast<double>(now_ns() - begin) / 1e9;
    results.cpu_s = cpu_seconds() - cpu_begin;
    return results;
}

} // namespace vgpusim
