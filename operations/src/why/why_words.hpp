// Words that both answers of `why` use.
#pragma once

#include <string>
#include <vector>

#include "vgpuops/core_names.hpp"

namespace vgpuops::why {

/// "11-25 13:00Z" of "2026-11-25T13:00:00Z"; other texts as they are, and "-" for none.
[[nodiscard]] std::string since_words(const std::string& moment);

/// The warnings, and what was not looked at where there is such.
void add_last_lines(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at,
                    std::string& text);

/// The last members of a document: `not_looked_at` and `warnings`.
void add_last_members(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at, document& to);

} // namespace vgpuops::why
