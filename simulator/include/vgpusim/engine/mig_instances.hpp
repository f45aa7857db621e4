// Which MIG instances exist on the devices: one that a pod needs and that is not there has to be made first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Instances stay when their pod ends, and are there for the next one. To make an instance, those that are in its way
/// are destroyed, which the booking has shown to be idle.
class mig_instances {
public:
    /// The instances that a booked placement needs exist from now on. Returns how many had to be made.
    std::int64_t provide(const vgpualloc::ledger& book, const vgpualloc::placement& where);

private:
    using instance_list = std::vector<vgpualloc::mig_instance>;
    [[nodiscard]] instance_list& existing_on(node_index node, device_index device);

    std::vector<std::vector<instance_list>> existing_; ///< by node and device
};

} // namespace vgpusim
