// Small trace models for the tests of the generator.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "vgputraces/generator.hpp"

namespace vgputraces {

inline const std::string kinds_json = R"({"kinds": [
    {"count": 5, "cpu_milli": 96000, "memory_mib": 393216, "gpu": 8, "model": "G2"},
    {"count": 3, "cpu_milli": 64000, "memory_mib": 262144, "gpu": 2, "model": "T4"},
    {"count": 2, "cpu_milli": 32000, "memory_mib": 131072, "gpu": 0, "prefix": "host"}]})";
inline const std::string pods_json = R"({"count": 1000, "classes": [
    {"weight": 6, "cpu_milli": 1000, "memory_mib": 2048, "num_gpu": 1, "gpu_milli": 300},
    {"weight": 3, "cpu_milli": 2000, "memory_mib": 4096, "num_gpu": 2},
    {"weight": 1, "cpu_milli": 3000, "memory_mib": 8192, "num_gpu": 0}]})";
inline const std::string arrivals_json = R"({"process": "poisson", "mean_interarrival_s": 100})";
inline const std::string durations_json = "[[0, 10], [0.5, 100], [1, 1000]]";

inline std::string model_json(const std::string& nodes, const std::string& pods, const std::string& arrivals,
                              const std::string& durations) {
    return R"({"nodes": )" + nodes + R"(, "pods": )" + pods + R"(, "arrivals": )" + arrivals +
           R"(, "duration_quantiles_s": )" + durations + "}";
}

inline std::string plain_json() { return model_json(kinds_json, pods_json, arrivals_json, durations_json); }

inline generated_trace generated(const std::string& json, const generate_options& options = {}) {
    const auto model = parse_trace_model(json, "m.json");
    if (!model) {
        ADD_FAILURE() << model.error().message();
        return {};
    }
    auto trace = generate(*model, options);
    if (trace) return *std::move(trace);
    ADD_FAILURE() << trace.error().message();
    return {};
}

inline std::string bytes_of(const generated_trace& trace) {
    return write_openb_nodes(trace.nodes) + write_openb_pods(trace.pods) + write_trace_model(trace.effective);
}

} // namespace vgputraces
