// A device as its node reports it, in the words of no dialect: what a mode is chosen and made for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/requested_share.hpp"

namespace vgpualloc {

/// One kind of instance in a geometry group.
struct mig_kind {
    std::string name; ///< profile ("1g.5gb")
    mib memory;       ///< of one instance
    std::int64_t count = 0;
    core_percent cores{}; ///< of one instance, share of the GPU's compute; 0 = not known
    /// Of one instance, exactly: its memory slices and compute slices of the GPU's; 0 = not known.
    requested_share slices{};
    std::int64_t replicas = 1; ///< of one instance, where containers share it; `count` is of replicas then

    bool operator==(const mig_kind&) const = default;
};
/// A way of cutting a whole GPU that an administrator allows. Groups are tried in their order.
struct mig_group {
    std::string name;
    std::vector<mig_kind> kinds;

    bool operator==(const mig_group&) const = default;
};

/// One GPU instance profile as the GPU's driver told it on the node.
struct mig_offer {
    std::string name; ///< "2g.10gb"
    mib memory;       ///< usable in an instance; 0 = not known, where an allowlist alone names the profile
    core_percent cores;
    std::int64_t compute_slices = 0;
    std::int64_t size = 0;            ///< units of the placement grid
    std::vector<std::int64_t> starts; ///< units where an instance may start; ascending

    bool operator==(const mig_offer&) const = default;
};

/// One template of an NPU.
struct npu_template {
    std::string name;
    mib memory;
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;

    bool operator==(const npu_template&) const = default;
};
/// How NPUs of one kind are cut.
struct npu_kind {
    std::string name;       ///< common word ("Ascend910B4")
    mib memory_allocatable; ///< charged for a whole card
    mib memory_capacity;    ///< the most that may be asked for
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;             ///< 0 = not counted
    std::vector<npu_template> templates; ///< in any order

    bool operator==(const npu_kind&) const = default;
};

struct device_registration {
    std::string uuid;
    std::string model;  ///< as the device reports it ("NVIDIA A100-SXM4-40GB")
    std::string family; ///< device_spec::family
    std::string mode;   ///< name of a sharing mode (mode/all.hpp)
    mib memory;
    core_percent cores = whole_compute; ///< AI cores where compute is counted in these
    std::int64_t slots = 1;
    bool healthy = true;
    std::int32_t link_group = no_link_group;
    std::int32_t numa = 0;           ///< node of the host's memory that it is at, as registered
    std::vector<mig_group> geometry; ///< mig: allowed groups; empty = every placement of the model
    std::vector<mig_offer> offers{}; ///< mig without groups: the profiles that there are; empty = those of the catalog
    std::int64_t memory_factor = 1;  ///< mig with groups: MiB per unit of `memory` and of requests
    unit_rules units{};              ///< mig with groups, mps, time_slicing: how a device plugin gives them out
    std::int64_t clients_max = 0;    ///< mps: clients that the GPU and its driver take; 0 = nothing says it
    npu_kind npu;                    ///< ascend_vir
    bool soft = false;               ///< ascend_vir: may be limited in software as well
    bool soft_only = false;          ///< ascend_vir: is limited in software whatever a request says, and not cut

    bool operator==(const device_registration&) const = default;
};

} // namespace vgpualloc
