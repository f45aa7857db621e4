// Replays recorded decisions of other systems and compares, event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpuconformance {

/// One event that was decided otherwise than recorded.
struct event_difference {
    std::string case_id;
    std::size_t event = 0; ///< position in the case
    std::string at;        ///< JSON pointer into what was recorded ("/nodes/0/fit")
    std::string recorded;
    std::string decided;
    /// native: the smallest set of upstream's quirks without which compat:volcano decides as native does; empty = none
    std::vector<std::string> explained_by{};
};

struct replay_result {
    std::int64_t passed = 0; ///< events
    std::int64_t failed = 0;
    std::vector<event_difference> differences; ///< the first of each event that differs
};

/// The implementations that can be compared with recordings.
[[nodiscard]] std::vector<std::string> implementations();

/// Replays one file of cases (JSON lines, schema 1) with an implementation of the list. Errors name file and line.
/// compat:volcano is compared in everything recorded. native is compared in fit, node, devices, MIG slot or template
/// and in what is booked; a difference that quirks explain counts as passed.
[[nodiscard]] vgpualloc::expected<replay_result> replay_recording(const std::string& path,
                                                                  std::string_view implementation);

/// The cases of a file, one line each, with what the model decides as their `loaded` and `out`; what these were, if
/// they were there, is not read. Errors as above.
[[nodiscard]] vgpualloc::expected<std::string> decide_recording(const std::string& path);

} // namespace vgpuconformance
