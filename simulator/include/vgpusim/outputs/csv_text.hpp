// A text as a cell of CSV.
#pragma once

#include <string>

namespace vgpusim {

/// In quotes, as RFC 4180 has it, where it would not be one cell otherwise.
[[nodiscard]] inline std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string{"\"\""} : std::string{c};
    return quoted + "\"";
}

} // namespace vgpusim
