// Replays recorded decisions of other systems and compares, event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpuconformance {

/// Whether quirks of upstream explain that native decided an event otherwise than recorded. They do only where
/// compat:volcano with all its quirks decides as recorded.
enum class explanation : std::uint8_t {
    none,            ///< nothing does: the event fails
    quirks,          ///< without a few named ones compat:volcano decides as native does
    more_than_three, ///< without any quirk it does, but no set of three or fewer is enough
    follow_up,       ///< so too, and native decides as recorded once its session is as recorded
};

/// One event that was decided otherwise than recorded.
struct event_difference {
    std::string case_id;
    std::size_t event = 0; ///< position in the case
    std::string at;        ///< JSON pointer into what was recorded ("/nodes/0/fit")
    std::string recorded;
    std::string decided;
    explanation why = explanation::none; ///< of native; compat:volcano has none
    /// explanation::quirks: the smallest set of upstream's quirks without which compat:volcano decides as native does
    std::vector<std::string> explained_by{};
};

struct replay_result {
    std::int64_t passed = 0; ///< events
    std::int64_t failed = 0;
    std::int64_t as_without_quirks = 0; ///< of native: events that compat:volcano without any quirk decides likewise
    std::vector<event_difference> differences; ///< the first of each event that differs
};

/// The implementations that can be compared with recordings.
[[nodiscard]] std::vector<std::string> implementations();

/// Replays one file of cases (JSON lines, schema 1) with an implementation of the list. Errors name file and line.
/// compat:volcano is compared in everything recorded. native is compared in fit, node, devices, MIG slot or template
/// and in what is booked, with the default options of its dialects; a difference that quirks explain counts as passed.
[[nodiscard]] vgpualloc::expected<replay_result> replay_recording(const std::string& path,
                                                                  std::string_view implementation);

/// The cases of a file, one line each, with what the model decides as their `loaded` and `out`; what these were, if
/// they were there, is not read. Errors as above.
[[nodiscard]] vgpualloc::expected<std::string> decide_recording(const std::string& path);

} // namespace vgpuconformance
