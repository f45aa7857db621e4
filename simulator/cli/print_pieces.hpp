// Long texts on standard output.
#pragma once

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace vgpusim::cli {

/// Prints a text piece by piece, because print() makes a copy of what it prints.
inline void print_in_pieces(std::string_view text) {
    constexpr std::size_t piece = std::size_t{1} << 20U;
    for (std::size_t at = 0; at < text.size(); at += piece) fmt::print("{}", text.substr(at, piece));
}

} // namespace vgpusim::cli
