// Volcano's Ascend 310P devices in MindCluster mode (docs/compat.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/compat/volcano/device.hpp"

namespace vgpualloc::compat::volcano {

/// What upstream learns of a node beside the Node object.
struct npu_node_info {
    kubernetes::text_map device_list; ///< DeviceList of the device-info ConfigMap
    std::int64_t device_list_update_time = 0;
    std::string noded_status;
};

/// A node's 310P object. copy() shares the template cache, which upstream keeps in the scheduler cache.
class mindcluster_object : public device_object {
public:
    [[nodiscard]] virtual std::int64_t idle_cores() const = 0;
    [[nodiscard]] virtual bool downgraded(const std::string& pod_name) const = 0;
};

/// The node's object; null where upstream creates none. The options must outlive it.
[[nodiscard]] std::unique_ptr<mindcluster_object> make_mindcluster_310p(const node& where, npu_node_info info,
                                                                        const plugin_options& options);

/// The batch score of the candidates that passed the filter, in node order; 0 for all where the weight is <= 0.
[[nodiscard]] std::vector<double> batch_score(std::span<const mindcluster_object* const> candidates, const pod& pending,
                                              const plugin_options& options);

} // namespace vgpualloc::compat::volcano
