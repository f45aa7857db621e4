// Vetting geometry groups.
#include "vgpualloc/mode/mig_groups.hpp"

#include <algorithm>

#include "errors.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::modes {

expected<std::shared_ptr<const mig_groups>> make_mig_groups(const std::vector<mig_group>& groups, std::int64_t factor,
                                                            unit_rules units) {
    if (factor < 1 || factor > memory_factor_max) {
        return unexpected(out_of_range("memory_factor", factor, "1 to 2^20 MiB"));
    }
    std::int64_t slots = 0;
    for (const mig_group& group : groups) {
        for (const mig_kind& kind : group.kinds) {
            if (kind.count < 0) return unexpected(out_of_range("geometry count", kind.count, "0 or more"));
            if (kind.memory < mib{0} || kind.memory > device_memory_max) {
                return unexpected(out_of_range("geometry memory", kind.memory.count(), "0 to 2^40 MiB"));
            }
            if (kind.replicas < 1 || kind.replicas > mig_groups::slots_max) {
                return unexpected(out_of_range("replicas", kind.replicas, "1 to 64"));
            }
            slots += std::min(kind.count, mig_groups::slots_max + 1); // the sum of any counts stays small
        }
    }
    if (slots > mig_groups::slots_max) {
        return unexpected(bad_value(error_code::unsupported, "geometry", std::to_string(slots) + " instances or more",
                                    "at most 64 over all groups of a GPU"));
    }
    return std::make_shared<const mig_groups>(groups, factor, units);
}

} // namespace vgpualloc::modes
