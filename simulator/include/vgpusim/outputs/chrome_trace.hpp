// trace.json: a run in the Trace Event Format of Chrome, which Perfetto opens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

inline constexpr std::string_view trace_name = "trace.json";
/// How the file begins, by which a later run knows it for one of ours.
inline constexpr std::string_view trace_beginning = R"({"otherData":{"producer":"vgpusim")";

/// A file with more spans than this opens in no reasonable time: then every second, third, … pod is in it.
inline constexpr std::size_t trace_spans_max = 500'000;

/// What one pod had of one device, or that it ran on a node without any.
struct trace_span {
    std::uint32_t node = 0;   ///< position in trace_contents::nodes
    std::uint32_t device = 0; ///< of the node; no_device for a pod that has none
    std::string name;
    ticks start;
    ticks end;
    std::vector<std::pair<std::string_view, std::string>> facts; ///< shown when the span is chosen
};
inline constexpr std::uint32_t no_device = 0xFFFF;

/// A quantity over time.
struct trace_counter {
    std::string name;
    std::vector<std::pair<ticks, double>> values; ///< each holds until the next one
};

struct trace_contents {
    std::vector<std::string> nodes; ///< drawn in this order
    std::vector<trace_span> spans;  ///< by start
    std::vector<trace_counter> counters;
    std::size_t kept_of = 1; ///< 1: all pods are there; n: one of n
};

/// The text of such a file. Nodes are processes and devices are threads; a device that several pods share at a time has
/// further threads, since spans of one thread must not overlap. Times are microseconds.
[[nodiscard]] std::string chrome_trace(const trace_contents& contents, stop_signal stop = {});

/// What there is to draw of a run: pods by node and device, GPUs allocated and served.
[[nodiscard]] trace_contents trace_of(const run_record& record, const simulation_input& input,
                                      std::size_t spans_max = trace_spans_max, const stop_signal& stop = {});

} // namespace vgpusim
