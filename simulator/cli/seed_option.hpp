// --seed, which every command that draws takes alike.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "vgpusim/workload/seed.hpp"

namespace vgpusim::cli {

/// Adds --seed. `take` gets the seed when the command line is parsed.
template <class Take>
CLI::Option* add_seed(CLI::App& command, const std::string& help, Take take) {
    return command
        .add_option_function<std::string>(
            "--seed",
            [take](const std::string& text) {
                const auto seed = parse_seed(text);
                if (!seed) throw CLI::ValidationError{"--seed", "got '" + text + "', expected " + seed_expected};
                take(*seed);
            },
            help)
        ->type_name("INTEGER");
}

} // namespace vgpusim::cli
