// vgpusim run: replays one workload under one policy.
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "run_flags.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpufacade/words.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpusim::cli {

namespace {

void run(const run_flags& flags, bool bound) {
    if (bound) or_end(find_solver("--bound"));
    const auto plan = plan_from(flags);
    const vgpufacade::progress follow{.tell = progress_bars()};
    auto prepared = or_end(vgpufacade::prepared_simulation::prepare(
        files_here(), {.config = plan.run, .baseline = plan.baseline, .bound = bound}, follow));
    keep_inputs(flags, plan.run, prepared.input(), prepared.file_names());
    auto finished = std::move(prepared).run(follow);
    end_progress();
    const vgpufacade::simulation_outcome outcome = or_end(std::move(finished));
    const named_texts files = outcome.files();
    write_texts(plan.run.out, files);
    print_warnings(outcome.input());
    print_warnings(outcome.record());
    if (flags.json) {
        fmt::print("{}", text_of(files, "summary.json"));
    } else {
        fmt::print("{}", vgpufacade::outcome_text(outcome));
        fmt::print("inputs         {}\n", inputs_in_words(outcome.input()));
        fmt::print("report         {}/report.html\n", printable(plan.run.out));
    }
}

} // namespace

void add_run(CLI::App& app) {
    auto flags = std::make_shared<run_flags>();
    CLI::App* command = app.add_subcommand("run", "Replay a trace under one policy");
    add_run_flags(*command, flags);
    const run_setting& policy = *find_setting("policy");
    add_keyed_flag(*command, flags, "--policy", "policy", std::string{policy.placeholder}, std::string{policy.help});
    auto bound = std::make_shared<bool>(false);
    command->add_flag("--bound", *bound, "Also say how near the run comes to what any policy could have served");
    command->callback([flags, bound] { run(*flags, *bound); });
}

} // namespace vgpusim::cli
