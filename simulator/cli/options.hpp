// Options that several commands take alike.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "vgpusim/study/parallel.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim::cli {

/// Refuses an empty value.
inline const CLI::Validator not_empty{
    [](std::string& value) { return value.empty() ? std::string{"got '\"\"', expected a value"} : std::string{}; }, ""};

/// Adds an option whose value is not empty, a text.
template <class Text>
CLI::Option* add_filled(CLI::App& command, const char* name, Text& to, const char* type, const std::string& help) {
    return command.add_option(name, to, help)->type_name(type)->check(not_empty);
}

/// Adds an option that may be repeated, each time with one value, which is not empty.
inline CLI::Option* add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& to, const char* type,
                                   const char* help) {
    return command.add_option(name, to, help)->type_name(type)->allow_extra_args(false)->check(not_empty);
}

/// For options that are real numbers: CLI11's ranges let NaN through, because it is neither below nor above anything.
inline const CLI::Validator no_nan{[](std::string& text) {
                                       return std::isnan(std::strtod(text.c_str(), nullptr))
                                                  ? "got '" + text + "', expected a number"
                                                  : std::string{};
                                   },
                                   ""};

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
