// The packing program (packing_lp.hpp) of pods on the nodes of a cluster, whatever their modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/plan/packing_lp.hpp"

namespace vgpualloc::plan {

/// What is made as much of as possible.
enum class packing_objective : std::uint8_t {
    milli_gpu,  ///< per part, what its mode says is used of a device with nothing else on it
    memory_mib, ///< per part, the device memory that it takes
    pods,       ///< pods that ask for devices
    given,      ///< packing_demand::value_of_part
};

struct cluster_packing_options {
    packing_objective objective = packing_objective::milli_gpu;
    bool host_memory = true; ///< besides the CPU; without it more fits
    bool any_model = false;  ///< leaves out which families, models and types a request accepts
    bool by_node = false;    ///< every node is a group of its own, and host rules say which pods it takes
    bool pooled = false;     ///< all nodes are one group, without host amounts: only devices count
    /// Of the parts that may serve a request the one that is worth least counts, as for prices; a bound needs the most.
    bool least_value = false;
    std::size_t states_max = 20'000; ///< of a device that is not cut in slices
};

/// Pods that ask for the same.
struct packing_demand {
    const pod_request* request = nullptr;
    double count = 0.0;
    double forced = 0.0; ///< of `count`
    /// By container that wants devices, what a part on one device is worth wherever it is; for
    /// packing_objective::given, in which a whole device has whole_gpu.
    std::vector<double> value_of_part{};
};

struct cluster_packing {
    packing_program program;
    /// By position in the demand, the types that it is part of: one for every container that wants devices, one for a
    /// pod that wants none. Demands whose requests differ only in what the options leave out share types.
    std::vector<std::vector<std::uint32_t>> types_of_demand{};
    std::vector<double> parts_of_type{}; ///< entries of the type's demand that one pod is: parts on devices, or 1
    std::vector<device_request> part_of_type{}; ///< what a pod of the type asks of one container; count 0: no devices
    std::vector<std::uint32_t> kind_of_class{}; ///< of the program's devices, position in cluster::kinds
    double total = 0.0;                         ///< what all devices have of the objective; infinite for pods
    /// Whether a pod is one block or one part: then, with by_node, the program is the placement problem itself.
    bool pods_are_whole = true;
};

/// Sums up a cluster and what is to be placed on it, empty: devices that are out of service, and what runs, are left
/// out. Nodes are alike if their host resources and the kinds of their devices are. A pod may go to a group whose nodes
/// have the host resources, and for each container the devices, that it wants. Everything that only narrows this down
/// is left out: host rules (but by_node), tags, uuids, link groups, the order among a pod's containers, pods_max. So
/// every placement that any policy makes is one of the program, and bounds are sound. Pods that want whole devices of
/// one node are blocks; other pods on several devices are as many parts. Types come in the order of the demand, groups
/// in the order of the nodes, classes in the order of the devices. Errors: those of packing_of_device().
[[nodiscard]] expected<cluster_packing> pack_cluster(const cluster& cluster, std::span<const packing_demand> demand,
                                                     const cluster_packing_options& options = {});

} // namespace vgpualloc::plan
