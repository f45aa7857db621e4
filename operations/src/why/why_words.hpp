// Words that both answers of `why` use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpuops/core_names.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/waiting.hpp"

namespace vgpuops::why {

/// "11-25 13:00Z" of "2026-11-25T13:00:00Z"; other texts as they are, and "-" for none.
[[nodiscard]] std::string since_words(const std::string& moment);

/// "vgpusim whatif atlas.json --uncordon a100-3", as a shell reads it: a command with its options, and the arguments
/// that name the cluster. Empty for no command.
[[nodiscard]] std::string command_line(const std::vector<std::string>& command, const std::vector<std::string>& inputs);

/// Amounts in tenths of a GPU that add up to the last, which is theirs together.
[[nodiscard]] std::vector<std::int64_t> in_tenths(std::vector<std::int64_t> milli);
/// "4.0" of such an amount.
[[nodiscard]] std::string tenths_of_gpu(std::int64_t milli);

/// "counted: research/nb-0 1 (runs), research/embed-0 1 (waits: never)"; nothing where none counts.
void add_counted(const std::vector<counted_pod>& counted, std::string& text);
[[nodiscard]] document counted_json(const std::vector<counted_pod>& counted);
/// A line for each of the first changes, with what comes of it or its command.
void add_change_lines(const std::vector<tried_change>& changes, const std::vector<std::string>& inputs,
                      std::string& text);
[[nodiscard]] document changes_json(const std::vector<tried_change>& changes, const std::vector<std::string>& inputs);

/// The warnings, and what was not looked at where there is such.
void add_last_lines(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at,
                    std::string& text);

/// The last members of a document: `not_looked_at` and `warnings`.
void add_last_members(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at, document& to);

/// Member `groups` of a document about pods that wait.
[[nodiscard]] document groups_json(const std::vector<waiting_group>& groups);

} // namespace vgpuops::why
