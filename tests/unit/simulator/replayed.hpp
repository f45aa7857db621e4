// One replay of a workload, for the tests of the loop and the disciplines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vgpusim/engine/simulation.hpp"
#include "workloads.hpp"

namespace vgpusim_test {

inline vgpualloc::ticks seconds(std::int64_t count) { return count * vgpualloc::ticks_per_second; }

/// One replay under a policy.
class replayed {
public:
    replayed(vgpusim::simulation_input from, vgpusim::discipline& rules, vgpusim::simulation_options options = {},
             const vgpusim::simulation::progress& tell = {}, const std::string& policy = "best_fit")
        : input{std::move(from)}, policy_{policy_for(input, policy)} {
        vgpusim::simulation loop{input, book, alloc_, rules, measure_for(input), options};
        result = loop.run(tell);
    }

    /// Per sample "second:allocated".
    [[nodiscard]] std::vector<std::string> allocated() const {
        std::vector<std::string> lines;
        for (const auto& sample : result.samples) {
            lines.push_back(std::to_string(sample.time.count() / 1'000'000) + ":" +
                            std::to_string(sample.allocated_milli));
        }
        return lines;
    }
    [[nodiscard]] std::vector<bool> placed() const {
        std::vector<bool> all;
        for (const auto& pod : result.pods) all.push_back(pod.booking != vgpusim::no_booking);
        return all;
    }

    vgpusim::simulation_input input;
    vgpualloc::ledger book{input.nodes};

private:
    std::unique_ptr<vgpualloc::policy> policy_;
    vgpualloc::allocator alloc_{book, {.node = policy_.get(), .device = policy_.get()}};

public:
    vgpusim::simulation_result result;
};

} // namespace vgpusim_test
