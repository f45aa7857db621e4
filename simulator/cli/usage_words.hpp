// What is wrong with a command line, in one line.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace vgpusim::cli {

/// CLI11's own sentences in the form of all other errors: "--moves: got 'x', expected a whole number from 0 to 100000".
[[nodiscard]] std::string usage_words(const CLI::ParseError& failure);

} // namespace vgpusim::cli
