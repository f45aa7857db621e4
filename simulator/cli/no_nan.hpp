// Options that are real numbers: CLI11's ranges let NaN through, because it is neither below nor above anything.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

namespace vgpusim::cli {

inline const CLI::Validator no_nan{[](std::string& text) {
                                       return std::isnan(std::strtod(text.c_str(), nullptr))
                                                  ? "Value " + text + " is not a number"
                                                  : std::string{};
                                   },
                                   ""};

} // namespace vgpusim::cli
