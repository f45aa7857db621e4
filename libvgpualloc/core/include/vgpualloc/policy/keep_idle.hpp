// keep_idle: minus one for every idle device that is opened: a term for weighted sums.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// The price of opening an idle device, in GPUs: `weighted:ssp=1,keep_idle=0.1` opens one where that saves a tenth of a
/// start. Alone it tells only devices in use from idle ones.
class keep_idle final : public named<"keep_idle", usage_policy<keep_idle>> {
public:
    [[nodiscard]] static double of_node(const node_view& before, const node_view& after) {
        return static_cast<double>(after.config->devices_free_whole - before.config->devices_free_whole);
    }
    [[nodiscard]] static double of_device(const step_view& step) { return step.before->is_idle() ? -1.0 : 0.0; }
};

} // namespace vgpualloc::policies
