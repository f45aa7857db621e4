// Recorded vectors of the FGD reference simulator: nodes with their fragmentation, and scores of pods on them.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "milli_gpus.hpp"

namespace vgpualloc::recorded_vectors {

using row = std::vector<std::string>;

inline std::vector<row> read_csv(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::vector<row> rows;
    std::string line;
    std::getline(file, line); // header
    while (std::getline(file, line)) {
        row cells;
        std::istringstream text{line};
        for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
        rows.push_back(std::move(cells));
    }
    return rows;
}

inline std::int64_t integer(const std::string& text) { return std::stoll(text); }

/// Correctly rounded, so that 17 digits give back the same double.
inline double exact(const std::string& text) {
    double value = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

inline std::vector<std::int64_t> lefts(const std::string& text) {
    std::vector<std::int64_t> result;
    std::istringstream cells{text};
    for (std::string cell; std::getline(cells, cell, '-');) result.push_back(integer(cell));
    return result;
}

inline workload typical_pods(const std::vector<row>& rows) {
    workload target;
    for (const row& cells : rows) {
        std::vector<std::string> models;
        std::istringstream names{cells[4]};
        for (std::string model; std::getline(names, model, '|');) models.push_back(model);
        const auto request =
            test::milli_request(milli_cpu{integer(cells[1])}, integer(cells[2]), integer(cells[3]), std::move(models));
        target.typical.push_back({.cpu = request.cpu, .containers = request.containers, .frequency = exact(cells[5])});
    }
    return target;
}

struct recording {
    workload target;
    std::vector<row> rows;
};

inline std::filesystem::path file() {
    const char* const evidence = std::getenv("VGPUALLOC_EVIDENCE");
    return std::filesystem::path{evidence != nullptr ? evidence : ""} / "golden" / "fgd_unit_vectors_seed42.csv";
}
inline bool are_required() {
    const char* const ci = std::getenv("CI");
    return ci != nullptr && std::string_view{ci} == "true";
}

/// None where the evidence is not there.
inline std::optional<recording> read() {
    if (std::getenv("VGPUALLOC_EVIDENCE") == nullptr || !std::filesystem::exists(file())) return std::nullopt;
    return recording{.target = typical_pods(read_csv(file().parent_path() / "typical_pods_default.csv")),
                     .rows = read_csv(file())};
}

} // namespace vgpualloc::recorded_vectors
