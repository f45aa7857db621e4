// A child process and what it took.
#pragma once

#include <string>
#include <vector>

namespace vgpubench {

struct child_use {
    int status = -1; ///< exit code, -1 if it could not be started or was killed
    double wall_s = 0.0;
    double cpu_s = 0.0;   ///< user and system
    double rss_mib = 0.0; ///< peak
};

/// Runs a program with its output thrown away and waits for it.
[[nodiscard]] child_use run_child(const std::vector<std::string>& command);

} // namespace vgpubench
