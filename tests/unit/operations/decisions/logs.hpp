// Decision logs for tests, and what of them is changed.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "history.hpp"
#include "vgpuformats/document.hpp"
#include "vgpuformats/json.hpp"

namespace decisions_test {

inline std::string device_config() {
    std::ostringstream text;
    text << std::ifstream{std::string{VGA_SOURCE_DIR} + "/tests/data/explain/device-config.yaml"}.rdbuf();
    return text.str();
}

inline std::string random_log(std::uint64_t seed, int steps, const std::string& policy = "binpack") {
    scheduler_history history{{.seed = seed, .steps = steps, .policy = policy, .device_config = device_config()}};
    return history.run();
}

inline std::vector<std::string> lines_of(const std::string& log) {
    std::vector<std::string> lines;
    std::istringstream text{log};
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
    std::string log;
    for (const std::string& line : lines) log += line + "\n";
    return log;
}

/// The event of a line that can be read; null otherwise.
inline vgpuformats::document parsed(const std::string& line) {
    const auto event = vgpuformats::parse_json(line, "line");
    return event ? *event : vgpuformats::document{};
}

inline std::string kind_of(const vgpuformats::document& event) {
    return event.is_map() ? event.find("event")->text : std::string{};
}

} // namespace decisions_test
