// Text and bars of the pages of answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpureport/answer.hpp"

namespace vgpureport {

/// Text of somebody else's, escaped; what is not seen and steers how text is shown is written as an escape.
void append_shown(std::string& out, std::string_view text);

/// "20.5": tenths of a GPU.
[[nodiscard]] std::string tenths_of(std::int64_t milli);

/// A bar, as a picture whose name has all its numbers. What is free is what the others leave over.
void append_bar(std::string& out, const std::vector<std::pair<area, std::int64_t>>& parts);

/// A list of colours and words; numbers too where `amounts` are wanted.
void append_legend(std::string& out, const std::vector<std::pair<area, std::int64_t>>& parts, bool amounts);

/// A length in hundredths: "62.5".
[[nodiscard]] std::string hundredths(std::int64_t value);

} // namespace vgpureport
