// --seeds and --jobs, for commands that replay with several seeds on several threads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "vgpusim/study/parallel.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim::cli {

struct seeds_flags {
    std::optional<seed_range> seeds;
    std::size_t jobs = hardware_jobs();
};

/// Adds both flags. `to` must live until the command line is parsed.
inline void add_several_seeds(CLI::App& command, seeds_flags& to, const std::string& help) {
    command
        .add_option_function<std::string>(
            "--seeds",
            [&to](const std::string& text) {
                to.seeds = parse_seed_range(text);
                if (!to.seeds) throw CLI::ValidationError{"--seeds", "got '" + text + "', expected " + seeds_expected};
            },
            help)
        ->type_name("FIRST..LAST");
    command
        .add_option("--jobs", to.jobs,
                    "Threads; the results are the same for any number. Default: all of the machine's")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::size_t{1}, jobs_max));
}

} // namespace vgpusim::cli
