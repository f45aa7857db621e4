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

int run(const run_flags& flags, bool bound) {
    if (bound) {
        if (const auto solver = find_solver("--bound"); !solver) return report_error(solver.error());
    }
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
    const vgpufacade::progress follow{.tell = progress_bars()};
    auto prepared = vgpufacade::prepared_simulation::prepare(
        files_here(), {.config = plan->run, .baseline = plan->baseline, .bound = bound}, follow);
    if (!prepared) return report_error(prepared.error());
    if (const auto kept = keep_inputs(flags, plan->run, prepared->input(), prepared->file_names()); !kept) {
        return report_error(kept.error());
    }
    const auto outcome = std::move(*prepared).run(follow);
    end_progress();
    if (!outcome) return report_error(outcome.error());
    const named_texts files = outcome->files();
    if (const auto written = write_texts(plan->run.out, files); !written) return report_write_failure(written.error());
    print_warnings(outcome->input());
    print_warnings(outcome->record());
    if (flags.json) {
        fmt::print("{}", text_of(files, "summary.json"));
    } else {
        fmt::print("{}", vgpufacade::outcome_text(*outcome));
        fmt::print("inputs         {}\n", inputs_in_words(outcome->input()));
        fmt::print("report         {}/report.html\n", printable(plan->run.out));
    }
    return exit_done;
}

} // namespace

void add_run(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    CLI::App* command = app.add_subcommand("run", "Replay a trace under one policy");
    add_run_flags(*command, flags);
    const run_setting& policy = *find_setting("policy");
    add_keyed_flag(*command, flags, "--policy", "policy", std::string{policy.placeholder}, std::string{policy.help});
    auto bound = std::make_shared<bool>(false);
    command->add_flag("--bound", *bound, "Also say how near the run comes to what any policy could have served");
    command->callback([flags, bound, &exit_code] { exit_code = run(*flags, *bound); });
}

} // namespace vgpusim::cli
