// Recorded cases of the real scheduler, for the tests that hold dialects to them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::test {

using nlohmann::json;

template <class Map>
[[nodiscard]] Map map_at(const json& of, const char* key) {
    return of.contains(key) ? of[key].get<Map>() : Map{};
}

[[nodiscard]] inline kubernetes::node recorded_node(const json& from) {
    return {.name = from["name"],
            .labels = map_at<kubernetes::text_map>(from, "labels"),
            .annotations = map_at<kubernetes::text_map>(from, "annotations"),
            .allocatable = map_at<kubernetes::text_map>(from, "allocatable"),
            .capacity = map_at<kubernetes::text_map>(from, "capacity")};
}

[[nodiscard]] inline std::vector<kubernetes::container> containers_of(const json& pod, const char* key) {
    std::vector<kubernetes::container> result;
    for (const json& entry : pod.value(key, json::array())) {
        const auto limits = map_at<kubernetes::amount_map>(entry, "limits");
        result.push_back({.name = entry["name"], .limits = limits, .requests = limits});
    }
    return result;
}

[[nodiscard]] inline kubernetes::pod recorded_pod(const json& from) {
    return {.name = from["name"],
            .ns = from.value("namespace", ""),
            .uid = from.value("uid", ""),
            .labels = map_at<kubernetes::text_map>(from, "labels"),
            .annotations = map_at<kubernetes::text_map>(from, "annotations"),
            .containers = containers_of(from, "containers"),
            .init_containers = containers_of(from, "init_containers")};
}

/// Skipped where the recordings are absent; a failure under CI=true.
class recorded_evidence : public testing::Test {
protected:
    void SetUp() override {
        folder_ = environment("VGPUALLOC_EVIDENCE") + "/conformance/public/";
        if (!environment("VGPUALLOC_EVIDENCE").empty() && std::filesystem::exists(folder_)) return;
        const char* why = "no recorded decisions: VGPUALLOC_EVIDENCE names no folder that has them";
        if (environment("CI") == "true") FAIL() << why;
        GTEST_SKIP() << why;
    }
    /// Of a family's cases, one a line.
    [[nodiscard]] std::string file_of(const std::string& family) const { return folder_ + family + ".jsonl"; }

private:
    [[nodiscard]] static std::string environment(const char* name) {
        const char* value = std::getenv(name);
        return value == nullptr ? std::string{} : std::string{value};
    }

    std::string folder_;
};

} // namespace vgpualloc::test
