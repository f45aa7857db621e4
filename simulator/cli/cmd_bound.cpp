// vgpusim bound: the most that any policy could have served in a run.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "run_flags.hpp"
#include "vgpuformats/input.hpp"
#include "vgpusim/bound/bounds.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpusim::cli {

namespace {

constexpr const char* file_name = "bound.json";

struct bound_flags {
    std::shared_ptr<run_flags> run = std::make_shared<run_flags>();
    std::optional<double> forced_load;
    std::string summary;
    bool exact = false;
};

bool sets(const run_flags& flags, std::string_view key) {
    for (const auto& [name, value] : flags.keyed) {
        if (name == key) return true;
    }
    return false;
}

bound_figures answer(const bound_flags& flags, const run_config& config, const loaded_input& loaded,
                     vgpualloc::plan::lp_solver& solver) {
    bound_question question{.forced_load = flags.forced_load, .config = config, .exact = flags.exact};
    std::optional<run_record> finished;
    if (sets(*flags.run, "policy")) {
        auto replayed =
            replay(config, loaded, loaded.input.nodes, progress_bar(config.policy, loaded.input.pods.size()));
        end_progress();
        finished = or_end(std::move(replayed));
        question.finished = &*finished;
    }
    auto figures = or_end(bounds_of(loaded, question, solver));
    if (flags.summary.empty()) return figures;
    const auto text = or_end(vgpuformats::read_input(flags.summary));
    or_end(read_achieved(text.text, flags.summary, loaded, config, figures));
    return figures;
}

void run(const bound_flags& flags) {
    const auto solver = or_end(find_solver("bound")); // first, as nothing can be answered without one
    if (!flags.summary.empty() && sets(*flags.run, "policy")) {
        end_with(
            bad_value(error_code::unsupported, "--summary", "", "not beside --policy, which says the same otherwise"));
    }
    const auto plan = plan_from(*flags.run);
    const auto loaded = or_end(load_input(plan.run, files_here()));
    const bool writes = sets(*flags.run, "out");
    if (writes) keep_inputs(*flags.run, plan.run, loaded, {file_name});
    const bound_figures figures = answer(flags, plan.run, loaded, *solver);
    const std::string json = bound_json(figures, loaded, plan.run);
    if (writes) {
        const vgpuformats::output_file file{.name = file_name, .content = json};
        or_end(vgpuformats::write_files(plan.run.out, {file}));
    }
    print_warnings(loaded);
    fmt::print("{}", flags.run->json ? json : bound_words(figures));
}

} // namespace

void add_bound(CLI::App& app) {
    auto flags = std::make_shared<bound_flags>();
    CLI::App* command = app.add_subcommand("bound", "Bound what any policy could have served in a run");
    add_run_flags(*command, flags->run);
    command
        ->add_option_function<std::string>(
            "--policy", [flags](const std::string& value) { flags->run->keyed.emplace_back("policy", value); },
            "Run this policy: how close it comes, and a bound for all policies that place the same pods before the "
            "first failure")
        ->type_name("POLICY");
    command
        ->add_option("--forced-load", flags->forced_load,
                     "Bound policies that place all arrivals up to this multiple of all GPUs")
        ->type_name("NUMBER")
        ->check(CLI::Range(0.0, 1e6))
        ->check(no_nan);
    command
        ->add_option("--summary", flags->summary,
                     "The summary.json of a run: how near it came; without running it again")
        ->type_name("FILE");
    command->add_flag("--exact", flags->exact, "Also solve the integer program: for small cases");
    command->callback([flags] { run(*flags); });
}

} // namespace vgpusim::cli
