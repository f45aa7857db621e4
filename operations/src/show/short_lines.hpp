// Lines that a terminal shows whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vgpuops::show {

inline constexpr std::size_t line_width = 100;

/// Whether a text is or ends with a command to paste, which a line break would cut in two.
[[nodiscard]] bool has_command(std::string_view text);

/// How many columns the longest part of a text takes that is not broken.
[[nodiscard]] std::size_t longest_word_of(std::string_view text);

/// The lines of a text that is broken where it is longer than `width` columns: behind a comma or semicolon, else
/// between words, else behind a comma inside a word. What has none of them stays whole. All lines begin with the spaces
/// that the text begins with.
[[nodiscard]] std::vector<std::string> lines_within(std::string_view text, std::size_t width);

/// A text of which no line is longer than line_width, as far as words let it, but for commands and warnings: a sentence
/// goes on two columns further in, and the last cell of a row below itself.
[[nodiscard]] std::string with_short_lines(std::string_view text);

} // namespace vgpuops::show
