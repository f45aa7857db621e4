// A cluster of a few GPUs on which every way of placing pods is tried.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../workloads.hpp"

namespace vgpusim_test {

/// A pod of the list, in milli-GPU, milli-CPU and seconds.
struct tiny_pod {
    int gpus = 1; ///< 0: no device
    std::int64_t milli = 1000;
    std::int64_t cpu = 1000;
    std::int64_t arrival = 0;
    std::int64_t duration = 1;
};

struct tiny_node {
    std::vector<std::int64_t> free; ///< by device, in milli-GPU
    std::int64_t cpu = 64000;
};

/// Where one pod is: the node, and how its devices were taken.
struct tiny_place {
    std::size_t node = 0;
    std::vector<std::size_t> devices{};
};

class tiny_cluster {
public:
    explicit tiny_cluster(std::vector<tiny_node> nodes) : nodes_{std::move(nodes)} {}

    /// Every place that has room for the pod.
    [[nodiscard]] std::vector<tiny_place> places_of(const tiny_pod& pod) const {
        std::vector<tiny_place> result;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            if (nodes_[n].cpu < pod.cpu) continue;
            const std::size_t devices = nodes_[n].free.size();
            for (std::uint32_t chosen = 0; chosen < (1U << devices); ++chosen) {
                tiny_place place{.node = n};
                bool fits = true;
                for (std::size_t d = 0; d < devices; ++d) {
                    if ((chosen >> d & 1U) == 0) continue;
                    place.devices.push_back(d);
                    fits = fits && nodes_[n].free[d] >= pod.milli;
                }
                if (fits && std::ssize(place.devices) == pod.gpus) result.push_back(std::move(place));
            }
        }
        return result;
    }
    void take(const tiny_pod& pod, const tiny_place& place, std::int64_t sign = 1) {
        nodes_[place.node].cpu -= sign * pod.cpu;
        for (const std::size_t device : place.devices) nodes_[place.node].free[device] -= sign * pod.milli;
    }

private:
    std::vector<tiny_node> nodes_;
};

/// The same cluster and list for the simulator.
inline vgpusim::simulation_input input_of(const std::vector<tiny_node>& nodes, const std::vector<tiny_pod>& pods) {
    std::vector<vgputraces::openb_node> listed_nodes;
    for (const tiny_node& node : nodes) {
        listed_nodes.push_back(gpu_node("n" + std::to_string(listed_nodes.size()), static_cast<int>(node.free.size())));
        listed_nodes.back().cpu = vgpualloc::milli_cpu{node.cpu};
    }
    std::vector<vgputraces::openb_pod> listed_pods;
    for (const tiny_pod& pod : pods) {
        std::string name{static_cast<char>('a' + listed_pods.size())};
        auto listed = vgpusim_test::pod(std::move(name), pod.gpus, pod.gpus == 0 ? 0 : pod.milli);
        listed.cpu = vgpualloc::milli_cpu{pod.cpu};
        listed_pods.push_back(at(std::move(listed), pod.arrival, pod.arrival + pod.duration));
    }
    return built(listed_nodes, listed_pods, 0.0, true);
}

/// Small numbers from a seed, the same everywhere.
class tiny_random {
public:
    explicit tiny_random(std::uint64_t seed) : state_{seed * 2654435761U + 1} {}
    std::int64_t below(std::int64_t most) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::int64_t>((state_ >> 33U) % static_cast<std::uint64_t>(most));
    }

private:
    std::uint64_t state_;
};

/// Two nodes of one to three GPUs, one of them perhaps short of CPU, and pods of a few kinds in order of arrival.
inline std::vector<tiny_node> random_nodes(tiny_random& random) {
    std::vector<tiny_node> nodes;
    for (int i = 0; i < 2; ++i) {
        nodes.push_back({.free = std::vector<std::int64_t>(static_cast<std::size_t>(1 + random.below(2)), 1000),
                         .cpu = random.below(2) == 0 ? 64000 : 3000});
    }
    return nodes;
}

inline std::vector<tiny_pod> random_pods(tiny_random& random, int count, std::int64_t gap_max) {
    const tiny_pod kinds[] = {{.gpus = 1, .milli = 600},
                              {.gpus = 1, .milli = 400, .cpu = 2000},
                              {.gpus = 2},
                              {.gpus = 1},
                              {.gpus = 0, .milli = 0, .cpu = 2000}};
    std::vector<tiny_pod> pods;
    std::int64_t time = 0;
    for (int i = 0; i < count; ++i) {
        tiny_pod pod = kinds[random.below(5)];
        pod.arrival = time;
        pod.duration = 1 + random.below(8);
        time += random.below(gap_max + 1);
        pods.push_back(pod);
    }
    return pods;
}

} // namespace vgpusim_test
