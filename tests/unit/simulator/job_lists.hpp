// Workloads of whole jobs for the tests of the disciplines: who asks for how many GPUs, when, for how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayed.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpusim/discipline/all.hpp"

namespace vgpusim_test {

/// A job of `pods` equal pods; times in seconds.
struct test_job {
    std::int64_t arrival = 0;
    std::int64_t duration = 0;
    int gpus = 1; ///< of each pod, whole ones
    std::optional<std::int64_t> estimate = std::nullopt;
    std::int32_t priority = 0;
    std::uint32_t queue = 0;
    std::uint32_t pods = 1;
    std::uint32_t minimum = 0; ///< 0: all of them
    std::int64_t milli = 1000; ///< of each GPU
    std::int64_t cpu_milli = 0;
};

/// The jobs on `nodes` nodes "n0", … with `gpus` GPUs and 8 CPU cores each. Jobs are in order of arrival.
inline vgpusim::simulation_input workload_of(const std::vector<test_job>& jobs, int nodes, int gpus) {
    vgpusim::simulation_input input;
    for (int i = 0; i < nodes; ++i) {
        vgpualloc::openb::add_node(input.nodes, "n" + std::to_string(i), vgpualloc::milli_cpu{8000}, vgpualloc::mib{0},
                                   gpus, "G", *shared_mode());
    }
    for (const test_job& wanted : jobs) {
        const vgpualloc::milli_gpu share{wanted.gpus > 0 ? wanted.milli : 0};
        auto request =
            vgpualloc::openb::make_request(vgpualloc::milli_cpu{wanted.cpu_milli}, {}, wanted.gpus, share, "");
        std::uint32_t number = 0;
        while (number < input.requests.size() && input.requests[number] != request) ++number;
        if (number == input.requests.size()) {
            input.requests.push_back(std::move(request));
            input.requested.add(vgpusim::requested_milli(wanted.gpus, share));
        }
        vgpusim::job added{.first = static_cast<std::uint32_t>(input.members.size()),
                           .pods = wanted.pods,
                           .minimum = wanted.minimum == 0 ? wanted.pods : wanted.minimum,
                           .queue = wanted.queue,
                           .priority = wanted.priority};
        if (wanted.estimate) added.estimate = seconds(*wanted.estimate);
        input.jobs.push_back(added);
        for (std::uint32_t i = 0; i < wanted.pods; ++i) {
            const auto pod = static_cast<std::uint32_t>(input.pods.size());
            input.names.push_back("j" + std::to_string(input.jobs.size() - 1) + "-" + std::to_string(i));
            input.pods.push_back({.name = pod,
                                  .request = number,
                                  .arrival = seconds(wanted.arrival),
                                  .duration = seconds(wanted.duration)});
            input.members.push_back(pod);
        }
    }
    return input;
}

/// The workload under a discipline; the ledger is checked afterwards.
class ruled {
public:
    ruled(vgpusim::simulation_input workload, const std::string& discipline, vgpusim::simulation_options options = {},
          const std::string& policy = "best_fit")
        : rules_{(*vgpusim::find_discipline(discipline))->make()},
          run_{std::move(workload), *rules_, options, {}, policy} {
        run_.book.check();
    }

    [[nodiscard]] const vgpusim::simulation_result& result() const { return run_.result; }
    /// Of every pod the second of its first start, -1 if there was none.
    [[nodiscard]] std::vector<std::int64_t> starts() const {
        std::vector<std::int64_t> all;
        for (const auto& times : result().times) all.push_back(times.starts > 0 ? whole_seconds(times.start) : -1);
        return all;
    }
    /// Of every pod the second of its end, -1 if there was none.
    [[nodiscard]] std::vector<std::int64_t> ends() const {
        std::vector<std::int64_t> all;
        for (const auto& times : result().times) all.push_back(times.ended ? whole_seconds(times.end) : -1);
        return all;
    }

private:
    [[nodiscard]] static std::int64_t whole_seconds(vgpualloc::ticks time) {
        return time.count() / vgpualloc::ticks_per_second.count();
    }

    std::unique_ptr<vgpusim::discipline> rules_;
    replayed run_;
};

} // namespace vgpusim_test
