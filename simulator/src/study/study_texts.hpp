// What the files of everything that compares runs have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vgpusim/study/experiment.hpp"
#include "vgpusim/study/statistics.hpp"

namespace vgpusim {

[[nodiscard]] inline std::string csv_number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : std::string{};
}

[[nodiscard]] inline document number_or_null(const std::optional<double>& value) {
    return value ? document{*value} : document{};
}

[[nodiscard]] inline document json_of(const std::vector<input_file>& inputs) {
    document files = document::list();
    for (const input_file& file : inputs) {
        files.push_back(document::map({{"path", file.path}, {"sha256", file.sha256}}));
    }
    return files;
}

/// How long an experiment of so many runs took.
[[nodiscard]] inline document timing_of(const experiment_notes& notes, std::size_t runs) {
    const double per_s = notes.wall_s > 0.0 ? static_cast<double>(runs) / notes.wall_s : 0.0;
    return document::map(
        {{"wall_s", notes.wall_s}, {"cpu_s", notes.cpu_s}, {"runs_per_s", per_s}, {"jobs", notes.jobs}});
}

} // namespace vgpusim
