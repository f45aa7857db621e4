#include "vgpusim/study/loss_study.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "lists.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/study/compare.hpp"
#include "vgpusim/study/load_study.hpp"
#include "vgpusim/study/parallel.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/kubernetes.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

error bad_loss_study(error_code code, std::string field, std::string value, std::string expectation) {
    return {.code = code,
            .where = "",
            .field = std::move(field),
            .value = std::move(value),
            .expected = std::move(expectation)};
}

/// What a study says itself of every run.
constexpr std::array<std::string_view, 5> set_by_study{"pods", "policy", "offered_load", "seed", "trace"};

expected<void> check_loss_keys(const run_config& run) {
    const auto defaults = effective(run_config{});
    const auto settings = effective(run);
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const auto& [key, value] = settings[i];
        if (value == defaults[i].second || std::ranges::find(set_by_study, key) == set_by_study.end()) continue;
        return unexpected(
            bad_loss_study(error_code::unsupported, key, value,
                           "nothing: a study sets models, policy, load and seed itself, and traces no run"));
    }
    if (!run.out.empty()) return {};
    return unexpected(bad_loss_study(error_code::missing, "out", "", "missing; expected a path"));
}

expected<std::size_t> position_of(const std::vector<studied_policy>& policies, const std::string& name,
                                  const char* field) {
    const auto known = std::ranges::find(policies, name, &studied_policy::name);
    if (known != policies.end()) return static_cast<std::size_t>(known - policies.begin());
    std::string names;
    for (const studied_policy& entry : policies) names += (names.empty() ? "" : ", ") + entry.name;
    return unexpected(bad_loss_study(error_code::unknown_name, field, name, "one of the study's policies: " + names));
}

/// Keys that one policy sets for itself.
expected<void> check_own_keys(const run_config& run, const studied_policy& policy) {
    for (const auto& [key, value] : policy.settings) {
        const bool is_of_study =
            std::ranges::find(set_by_study, key) != set_by_study.end() || key == "out" || key == "format";
        if (is_of_study) {
            return unexpected(bad_loss_study(error_code::unsupported, "study.policies.set." + key, value,
                                             "nothing: it is the same for all policies of a study"));
        }
    }
    const bool sets_prices =
        std::ranges::any_of(policy.settings, [](const auto& setting) { return setting.first.starts_with("price"); });
    if (!sets_prices || policy.policy == pool_reference) return {};
    return check_prices(with_settings(run, policy.settings), {policy.policy});
}

expected<void> check_loss_policies(const run_config& run, const std::vector<studied_policy>& policies) {
    std::vector<std::string> names;
    std::vector<std::string> spellings;
    std::vector<std::string> of_allocator; // those that are policies
    for (const studied_policy& entry : policies) {
        names.push_back(entry.name);
        spellings.push_back(entry.policy);
        if (entry.policy != pool_reference) of_allocator.push_back(entry.policy);
    }
    if (auto checked = check_different(names, "--policy"); !checked) return checked;
    if (auto checked = check_policy_names(of_allocator); !checked) return checked;
    for (const studied_policy& entry : policies) {
        if (auto checked = check_own_keys(run, entry); !checked) return checked;
    }
    return check_prices(run, spellings);
}

/// That no load and no baseline is there twice.
expected<void> check_once(const study_lists& lists) {
    for (auto load = lists.loads.begin(); load != lists.loads.end(); ++load) {
        if (std::find(lists.loads.begin(), load, *load) == load) continue;
        return unexpected(
            bad_loss_study(error_code::duplicate, "study.loads", fmt::format("{}", *load), "each only once"));
    }
    if (lists.baselines.empty()) return {};
    return check_different(lists.baselines, "study.baselines");
}

} // namespace

expected<loss_study> check_loss_study(const run_config& run, const study_lists& lists) {
    if (auto checked = check_loss_keys(run); !checked) return unexpected(std::move(checked).error());
    if (auto checked = check_loss_policies(run, lists.policies); !checked)
        return unexpected(std::move(checked).error());
    if (auto checked = check_different(lists.pods, "--pods"); !checked) return unexpected(std::move(checked).error());
    loss_study study{.run = run,
                     .policies = lists.policies,
                     .models = lists.pods,
                     .loads = lists.loads.empty() ? std::vector{0.0} : lists.loads,
                     .seeds = lists.seeds,
                     .arrivals = lists.arrivals,
                     .node_total = lists.node_total};
    if (auto checked = check_run_count(study.runs(), study.seeds); !checked)
        return unexpected(std::move(checked).error());
    if (!lists.against.empty()) {
        const auto position = position_of(lists.policies, lists.against, "study.against");
        if (!position) return unexpected(position.error());
        study.against = *position;
    }
    if (auto checked = check_once(lists); !checked) return unexpected(std::move(checked).error());
    for (const std::string& name : lists.baselines) {
        const auto position = position_of(lists.policies, name, "study.baselines");
        if (!position) return unexpected(position.error());
        study.baselines.push_back(*position);
    }
    return study;
}

namespace {

/// One of the runs that meet the same arrivals.
struct cell_of_seed {
    std::string model;
    double load = 0.0;
    std::int64_t seed = 0;
};

run_config config_of(const loss_study& study, const cell_of_seed& cell, const studied_policy& policy) {
    run_config config = study.run;
    config.format = model_format;
    config.pods = cell.model;
    config.offered_load = cell.load;
    config.seed = cell.seed;
    if (policy.policy != pool_reference) config.policy = policy.policy;
    return with_settings(std::move(config), policy.settings);
}

/// For every policy the first of the policies whose workloads are made of the same. What is not known to concern the
/// decisions alone may concern the workload.
std::vector<std::size_t> workload_of_policies(const loss_study& study) {
    constexpr std::array<std::string_view, 16> of_decisions{"policy",
                                                            "device_policy",
                                                            "discipline",
                                                            "after_failure",
                                                            "layout_change_s",
                                                            "sample_interval_s",
                                                            "out",
                                                            "defragment",
                                                            "defragment_every_s",
                                                            "defragment_moves_max",
                                                            "defragment_share",
                                                            "move_downtime_s",
                                                            "move_copy_s_per_gib",
                                                            "price_demand",
                                                            "price_every",
                                                            "price_window"};
    std::vector<std::vector<std::pair<std::string, std::string>>> made_of;
    std::vector<std::size_t> first;
    for (const studied_policy& policy : study.policies) {
        auto settings = effective(config_of(study, {.model = ""}, policy));
        std::erase_if(settings, [&](const auto& setting) {
            return std::ranges::find(of_decisions, setting.first) != of_decisions.end();
        });
        settings.emplace_back("mig_dialect", policy.mig_dialect);
        const auto same = std::ranges::find(made_of, settings);
        first.push_back(static_cast<std::size_t>(same - made_of.begin()));
        made_of.push_back(std::move(settings));
    }
    return first;
}

expected<loss_run> run_once_lossy(const run_config& config, const studied_policy& policy,
                                  const loaded_input& workload) {
    loss_run run;
    run.classes = workload.input.measured->classes;
    if (policy.policy == pool_reference) {
        run.figures = pool_figures_of(workload.input);
        return run;
    }
    const auto record = replay(config, workload, workload.input.nodes, {}, {.kept = kept_of_run::pods});
    if (!record) return unexpected(record.error());
    run.figures = loss_figures_of(record->result, workload.input);
    run.started = record->result.placed;
    run.moved = record->result.disturbed.migrations + record->result.moves.done;
    return run;
}

void note_files(const std::vector<input_file>& files, std::vector<input_file>& known) {
    for (const input_file& file : files) {
        if (std::ranges::find(known, file.path, &input_file::path) == known.end()) known.push_back(file);
    }
}

void note_warnings(const std::vector<error>& warnings, std::vector<error>& known) {
    for (const error& warning : warnings) {
        if (std::ranges::find(known, warning.message(), &error::message) == known.end()) known.push_back(warning);
    }
}

} // namespace

expected<loss_results> run_loss_study(const loss_study& study, const vgpuformats::input_source& source,
                                      std::size_t jobs, const std::function<void(std::size_t)>& tell) {
    using shared_input = shared_while_used<expected<loaded_input>>;
    const std::size_t policies = study.policies.size();
    const std::size_t seeds = study.seeds.count();
    const auto made_like = workload_of_policies(study);
    loss_results results;
    results.jobs = jobs;
    results.runs.resize(study.runs());
    std::vector<std::unique_ptr<shared_input>> inputs; // by cell, then seed, then policy that is the first of its like
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const auto uses = std::ranges::count(made_like, i % policies);
        inputs.push_back(uses > 0 ? std::make_unique<shared_input>(static_cast<std::size_t>(uses)) : nullptr);
    }
    std::vector<std::vector<input_file>> files(study.cells() * policies); // that the first seed's workloads are made of
    std::vector<std::vector<error>> warnings(study.cells() * policies);
    const std::uint64_t begin = now_ns();
    const double cpu_begin = cpu_seconds();
    // The policies of one workload come one after the other, so that about as many workloads live as there are threads.
    const auto done = for_each_parallel(
        results.runs.size(), jobs,
        [&](std::size_t piece) -> expected<void> {
            const std::size_t policy = piece % policies;
            const std::size_t seed = piece / policies % seeds;
            const std::size_t cell = piece / policies / seeds;
            const cell_of_seed where{.model = study.models[cell / study.loads.size()],
                                     .load = study.loads[cell % study.loads.size()],
                                     .seed = study.seeds.at(seed)};
            const run_config config = config_of(study, where, study.policies[policy]);
            shared_input& shared = *inputs[piece - policy + made_like[policy]];
            const auto& workload = shared.get([&] {
                return load_input(config, source,
                                  {.arrivals = study.arrivals,
                                   .nodes = study.node_total,
                                   .mig_dialect = study.policies[policy].mig_dialect});
            });
            if (!workload) return unexpected(workload.error());
            if (seed == 0) {
                files[cell * policies + policy] = workload->files;
                warnings[cell * policies + policy] = workload->warnings;
            }
            auto run = run_once_lossy(config, study.policies[policy], *workload);
            shared.done();
            if (!run) return unexpected(std::move(run).error());
            results.runs[(cell * policies + policy) * seeds + seed] = *std::move(run);
            return {};
        },
        tell);
    if (!done) return unexpected(done.error());
    for (const auto& of_runs : files) note_files(of_runs, results.files);
    for (const auto& of_runs : warnings) note_warnings(of_runs, results.warnings);
    results.wall_s = static_cast<double>(now_ns() - begin) / 1e9;
    results.cpu_s = cpu_seconds() - cpu_begin;
    return results;
}

} // namespace vgpusim
