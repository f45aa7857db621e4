// What is used of a living cluster and by whom: figures for metrics.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/live/live_cluster.hpp"

namespace vgpualloc {

/// A part of a device that a pod has.
struct live_share {
    std::string uid; ///< of the pod
    std::string ns;
    std::string pod;       ///< its name
    std::string container; ///< its name; empty: the pod as a whole
    explaining::explained_part part;
    bool reserved = false; ///< not bound yet
};

struct live_device {
    std::int64_t index = 0; ///< as its node counts the devices of its dialect
    std::string uuid, model, family, mode, dialect;
    bool healthy = true;
    bool overcommitted = false;
    mib memory, memory_used;
    std::int64_t cores = 0, cores_used = 0;
    std::int64_t slots = 0, slots_used = 0;
    milli_gpu used;
    std::vector<live_share> shares{}; ///< by pod's uid, then as they are booked
};

struct live_node {
    std::string name;
    milli_cpu cpu, cpu_used;
    std::int64_t pods = 0;
    double unusable_milli = 0.0; ///< idle, but of no use to the workload that was learned; 0 without one
    std::vector<live_device> devices{};
};

struct live_figures {
    std::vector<live_node> nodes{};                                      ///< those that are there, by name
    std::vector<std::pair<std::string, std::int64_t>> stranded_slices{}; ///< of MIG GPUs, by profile
    std::int64_t pods_waiting = 0;
    std::int64_t pods_reserved = 0;
    std::int64_t pods_committed = 0;
};

[[nodiscard]] live_figures figures_of(live_cluster& cluster);

} // namespace vgpualloc
