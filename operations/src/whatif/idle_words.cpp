#include "vgpuops/whatif/idle_words.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

namespace vgpuops::whatif {

using vgpualloc::idle_parts;

namespace {

constexpr std::array<const char*, vgpualloc::idle_cause_count> words{"of use to more pods", "host full", "scattered",
                                                                     "wrong kind", "out of service"};

idle_parts in_tenths(const idle_parts& parts) {
    constexpr std::int64_t tenth = 100; // milli-GPU
    return vgpualloc::rounded_to(parts, tenth);
}

std::string gpus(std::int64_t milli) { return fmt::format("{:.1f}", static_cast<double>(milli) / 1000.0); }

std::string sum_of(const idle_parts& parts) {
    return gpus(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
}

} // namespace

std::string idle_line(const idle_parts& parts) {
    const idle_parts tenths = in_tenths(parts);
    std::string line = sum_of(tenths) + " GPUs";
    for (std::size_t i = 0; i < words.size(); ++i) {
        line += fmt::format("{}{} {}", i == 0 ? ": " : ", ", gpus(tenths[i]), words[i]);
    }
    return line;
}

std::string before_after_line(const std::string& name, const std::string& before, const std::string& after) {
    return fmt::format("  {:<24}{:>16}{:>16}\n", name, before, after);
}

std::string idle_table(const idle_parts& before, const idle_parts& after) {
    const idle_parts tenths_before = in_tenths(before);
    const idle_parts tenths_after = in_tenths(after);
    std::string text = before_after_line("idle GPUs", sum_of(tenths_before), sum_of(tenths_after));
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += before_after_line(std::string{"  "} + words[i], gpus(tenths_before[i]), gpus(tenths_after[i]));
    }
    return text;
}

document idle_json(const idle_parts& parts) {
    document result = document::map({});
    for (std::size_t i = 0; i < parts.size(); ++i) {
        result[std::string{to_string(static_cast<vgpualloc::idle_cause>(i))} + "_milli"] = parts[i];
    }
    return result;
}

} // namespace vgpuops::whatif
