// Recordings of decisions: read, replayed against both implementations, and decided again.
#include "fuzz.hpp"

#include "vgpuconformance/conformance.hpp"

void fuzzing::fuzz(std::string_view input) {
    const memory_file file{input};
    const auto decided = vgpuconformance::decide_recording(file.path());
    for (const std::string& implementation : vgpuconformance::implementations()) {
        const auto result = vgpuconformance::replay_recording(file.path(), implementation);
        if (!result) require_readable(result.error());
    }
    if (!decided) return require_readable(decided.error());
    const memory_file decisions{*decided};
    const auto result = vgpuconformance::replay_recording(decisions.path(), "compat:volcano");
    require(result.has_value() && result->failed == 0, "the model decides as it decided");
}
