#include "vgpusim/study/experiment.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/version.hpp"
#include "vgpuformats/sha256.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/study/compare.hpp"
#include "vgpusim/study/parallel.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/kubernetes.hpp"

namespace vgpusim {

cell experiment::cell_at(std::size_t position) const noexcept {
    const std::size_t seeds = lists.seeds.count();
    const std::size_t row = position / seeds / lists.policies.size();
    return {.list = row / loads(),
            .load = row % loads(),
            .policy = position / seeds % lists.policies.size(),
            .seed = position % seeds};
}

run_config experiment::config_of(const cell& where) const {
    const studied_policy& policy = lists.policies[where.policy];
    run_config config = run;
    config.pods = lists.pods[where.list];
    if (!lists.loads.empty()) config.offered_load = lists.loads[where.load];
    config.seed = lists.seeds.at(where.seed);
    if (policy.policy != pool_reference) config.policy = policy.policy;
    return with_settings(std::move(config), policy.settings);
}

experiment experiment_of(const run_config& run, const std::vector<std::string>& policies, const seed_range& seeds) {
    experiment plan{.run = run, .lists = {.policies = {}, .pods = {run.pods}, .seeds = seeds}};
    for (const std::string& policy : policies) plan.lists.policies.push_back({.name = policy, .policy = policy});
    return plan;
}

std::span<const std::string_view> keys_of_decisions() noexcept {
    static constexpr std::string_view keys[] = {"policy",
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
    return keys;
}

namespace {

/// Refuses a list of nothing and one with something twice. `flag` is what errors call it.
expected<void> check_each_once(const std::vector<std::string>& values, const char* flag) {
    if (values.empty()) return unexpected(bad_input(error_code::missing, flag, "missing", "at least one"));
    std::set<std::string_view> known;
    for (const std::string& value : values) {
        if (known.insert(value).second) continue;
        return unexpected(bad_value(error_code::duplicate, flag, value, "each only once"));
    }
    return {};
}

/// Keys that one policy sets for itself.
expected<void> check_own_keys(const run_config& run, const studied_policy& policy) {
    constexpr std::string_view of_all[] = {"pods", "policy", "offered_load", "seed", "trace", "out", "format"};
    bool sets_prices = false;
    for (const auto& [key, value] : policy.settings) {
        if (std::ranges::find(of_all, key) != std::end(of_all)) {
            return unexpected(bad_value(error_code::unsupported, "study.policies.set." + key, value,
                                        "nothing: it is the same for all policies of a study"));
        }
        sets_prices = sets_prices || key.starts_with("price");
    }
    if (!sets_prices || policy.policy == pool_reference) return {};
    return check_prices(with_settings(run, policy.settings), {policy.policy});
}

expected<void> check_policies_of(const experiment& plan) {
    std::vector<std::string> names;
    std::vector<std::string> spellings;
    std::vector<std::string> of_allocator; // those that are policies
    for (const studied_policy& entry : plan.lists.policies) {
        names.push_back(entry.name);
        spellings.push_back(entry.policy);
        if (entry.policy != pool_reference) of_allocator.push_back(entry.policy);
    }
    if (auto checked = check_each_once(names, "--policy"); !checked) return checked;
    if (auto checked = check_policy_names(of_allocator); !checked) return checked;
    for (const studied_policy& entry : plan.lists.policies) {
        if (auto checked = check_own_keys(plan.run, entry); !checked) return checked;
    }
    return check_prices(plan.run, spellings);
}

/// Refuses a name that no policy of the study has.
expected<void> check_name(const study_lists& lists, const std::string& name, const char* field) {
    if (std::ranges::find(lists.policies, name, &studied_policy::name) != lists.policies.end()) return {};
    const std::string names = vgpuformats::joined(lists.policies, &studied_policy::name);
    return unexpected(bad_value(error_code::unknown_name, field, name, "one of the study's policies: " + names));
}

} // namespace

expected<void> check_different(const study_lists& lists) {
    std::vector<std::string> names;
    for (const studied_policy& entry : lists.policies) names.push_back(entry.name);
    if (auto checked = check_each_once(names, "--policy"); !checked) return checked;
    return check_each_once(lists.pods, "--pods");
}

expected<void> check_lists(const experiment& plan) {
    const study_lists& lists = plan.lists;
    if (auto checked = check_policies_of(plan); !checked) return checked;
    if (auto checked = check_different(lists); !checked) return checked;
    constexpr std::size_t runs_max = 100'000;
    if (plan.runs() > runs_max) {
        return unexpected(bad_value(error_code::out_of_range, "--seeds", lists.seeds.text(),
                                    "at most 100000 runs, and these are " + std::to_string(plan.runs())));
    }
    if (!lists.against.empty()) {
        if (auto checked = check_name(lists, lists.against, "study.against"); !checked) return checked;
    }
    std::vector<std::string> loads;
    for (const double load : lists.loads) loads.push_back(fmt::format("{}", load));
    if (!loads.empty()) {
        if (auto checked = check_each_once(loads, "study.loads"); !checked) return checked;
    }
    if (lists.baselines.empty()) return {};
    if (auto checked = check_each_once(lists.baselines, "study.baselines"); !checked) return checked;
    for (const std::string& name : lists.baselines) {
        if (auto checked = check_name(lists, name, "study.baselines"); !checked) return checked;
    }
    return {};
}

input_loader loader_from(const vgpuformats::input_source& source, const experiment& plan, const stop_signal& stop) {
    return [&source, &plan, &stop](const cell& where, const run_config& config) -> expected<shared_input> {
        auto loaded = load_input(config, source,
                                 {.arrivals = plan.lists.arrivals,
                                  .nodes = plan.lists.node_total,
                                  .mig_dialect = plan.lists.policies[where.policy].mig_dialect},
                                 stop);
        if (!loaded) return unexpected(std::move(loaded).error());
        return std::make_shared<const loaded_input>(*std::move(loaded));
    };
}

namespace {

/// For every policy the first of the policies whose inputs are made of the same.
std::vector<std::size_t> inputs_of_policies(const experiment& plan) {
    std::vector<std::vector<std::pair<std::string, std::string>>> made_of;
    std::vector<std::size_t> first;
    for (std::size_t policy = 0; policy < plan.lists.policies.size(); ++policy) {
        auto settings = effective(plan.config_of({.policy = policy}));
        std::erase_if(settings, [&](const auto& setting) {
            return std::ranges::find(keys_of_decisions(), setting.first) != keys_of_decisions().end();
        });
        settings.emplace_back("mig_dialect", plan.lists.policies[policy].mig_dialect);
        const auto same = std::ranges::find(made_of, settings);
        first.push_back(static_cast<std::size_t>(same - made_of.begin()));
        made_of.push_back(std::move(settings));
    }
    return first;
}

template <class Value, class Projection>
void add_new(const std::vector<Value>& values, Projection name, std::vector<Value>& known) {
    for (const Value& value : values) {
        if (std::ranges::find(known, std::invoke(name, value), name) == known.end()) known.push_back(value);
    }
}

/// The cells of an experiment with the inputs that they share.
class cell_runner {
public:
    cell_runner(const experiment& plan, const cell_steps& steps, const stop_signal& stop)
        : plan_{plan}, steps_{steps}, stop_{stop}, input_of_{inputs_of_policies(plan)} {
        const std::size_t policies = input_of_.size();
        for (std::size_t i = 0; i < plan.runs(); ++i) {
            const auto uses = static_cast<std::size_t>(std::ranges::count(input_of_, i % policies));
            inputs_.push_back(uses > 0 ? std::make_unique<loads_once>(uses) : nullptr);
        }
        // Which files are read does not depend on load and seed.
        for (std::size_t i = 0; i < plan.lists.pods.size() * policies; ++i) {
            files_.push_back(std::make_unique<lists_once>(1));
        }
        noted_.resize(plan.lists.pods.size() * plan.loads() * policies);
    }

    /// Pieces are by list, then load, then seed, then policy.
    expected<void> run(std::size_t piece) {
        if (stop_.raised()) return unexpected(stop_signal::stopped());
        const std::size_t policies = input_of_.size();
        const std::size_t seeds = plan_.lists.seeds.count();
        const std::size_t policy = piece % policies;
        const std::size_t row = piece / policies / seeds;
        const cell where = plan_.cell_at((row * policies + policy) * seeds + piece / policies % seeds);
        const run_config config = plan_.config_of(where);
        loads_once& shared = *inputs_[piece - policy + input_of_[policy]];
        const auto load = [&]() -> const expected<shared_input>& {
            return shared.get([&] { return steps_.load(where, config); });
        };
        std::string address;
        if (steps_.is_known) {
            const auto& files = files_[where.list * policies + input_of_[policy]]->get(
                [&] { return load().map([](const shared_input& input) { return input->files; }); });
            if (!files) return unexpected(files.error());
            address = address_of(where, config, *files);
        }
        expected<void> result;
        if (address.empty() || !steps_.is_known(where, address)) {
            const auto& input = load();
            if (!input) return unexpected(input.error());
            if (where.seed == 0) noted_[row * policies + policy] = {(*input)->files, (*input)->warnings};
            result = steps_.replay({.where = where, .config = config, .loaded = **input, .address = address});
        }
        shared.done();
        return result;
    }

    void add_notes(experiment_notes& notes) const {
        for (const auto& [files, warnings] : noted_) {
            add_new(files, &input_file::path, notes.files);
            add_new(warnings, &error::message, notes.warnings);
        }
    }

private:
    using loads_once = shared_while_used<expected<shared_input>>;
    using lists_once = shared_while_used<expected<std::vector<input_file>>>;

    /// Empty where an input has no checksum.
    std::string address_of(const cell& where, const run_config& config, const std::vector<input_file>& files) const {
        const studied_policy& policy = plan_.lists.policies[where.policy];
        std::string text = fmt::format("{}\n", vgpualloc::version);
        const auto add = [&text](std::string_view key, const auto& value) { // texts cannot run into each other
            const std::string said = fmt::format("{}", value);
            fmt::format_to(std::back_inserter(text), "{} {}:{}\n", key, said.size(), said);
        };
        for (const run_setting& key : all_settings()) {
            if (key.name == "out" || key.name == "trace") continue;
            const std::string value = key.get(config);
            add(key.name, key.is_path(value) && !value.empty() ? "a file" : value);
        }
        if (policy.policy == pool_reference) add("policy", policy.policy);
        add("mig_dialect", policy.mig_dialect);
        add("arrivals", plan_.lists.arrivals.value_or(0));
        add("node_total", plan_.lists.node_total.value_or(0));
        for (const input_file& file : files) {
            if (file.sha256.empty()) return {};
            add("sha256", file.sha256);
        }
        return vgpuformats::sha256_hex(text);
    }

    const experiment& plan_;
    const cell_steps& steps_;
    const stop_signal stop_;
    std::vector<std::size_t> input_of_;
    std::vector<std::unique_ptr<loads_once>> inputs_; ///< by list, load, seed, policy that is the first of its like
    std::vector<std::unique_ptr<lists_once>> files_;  ///< by list, then such a policy
    /// What the first seed's runs read, by list, then load, then policy.
    std::vector<std::pair<std::vector<input_file>, std::vector<error>>> noted_;
};

} // namespace

expected<experiment_notes> run_cells(const experiment& plan, const cell_steps& steps,
                                     const experiment_control& control) {
    const std::uint64_t begin = now_ns();
    const double cpu_begin = cpu_seconds();
    cell_runner runner{plan, steps, control.stop};
    const auto done = for_each_parallel(
        plan.runs(), control.jobs, [&](std::size_t piece) { return runner.run(piece); }, control.tell);
    if (!done) return unexpected(done.error());
    experiment_notes notes;
    runner.add_notes(notes);
    notes.wall_s = static_cast<double>(now_ns() - begin) / 1e9;
    notes.cpu_s = cpu_seconds() - cpu_begin;
    notes.jobs = control.jobs;
    return notes;
}

} // namespace vgpusim
