// The dialects of manifests behind one interface.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/kube/dialect_options.hpp"

namespace vgpusim {

struct manifest_dialect {
    using pod = vgpualloc::kubernetes::pod;
    using node = vgpualloc::kubernetes::node;
    using device_info = vgpualloc::dialect::mindcluster::device_info;

    std::string name;
    bool whole_pod = false;             ///< a pod asks as one, not container by container
    std::string scheduler;              ///< the only one that serves it; empty: not said
    std::vector<std::string> resources; ///< that its pods can name
    std::function<bool(const pod&)> requests;
    std::function<vgpualloc::expected<vgpualloc::pod_request>(const pod&)> read_pod;
    /// A node, what a ConfigMap says of it beside, and the pods bound there.
    std::function<vgpualloc::dialect::node_reading(const node&, const device_info&, std::span<const pod* const>)>
        read_node;
    std::function<vgpualloc::dialect::assignment_reading(const pod&, std::span<const vgpualloc::device_registration>)>
        read_assignment;
    /// The tags of a bound pod that has so much; empty: those of its request.
    std::function<std::vector<std::string>(const pod&, std::span<const vgpualloc::device_share>)> tags_of{};
    /// The annotations that carry a decision on a pod that read_pod() reads.
    std::function<vgpualloc::kubernetes::text_map(const pod&, std::span<const vgpualloc::device_registration>,
                                                  const vgpualloc::dialect::decision&)>
        write_assignment;
};

/// Resources of accelerators that no dialect reads, or that the dialect they belong to does not take for a request. The
/// errors name the container.
[[nodiscard]] std::vector<vgpualloc::error> resources_not_read(const std::vector<manifest_dialect>& dialects,
                                                               const vgpualloc::kubernetes::pod& of);

struct npu_resources {
    std::string count, memory, core;
};
/// The resource names of a kind of NPU, those that are made of its name too.
[[nodiscard]] npu_resources resources_of(const vgpualloc::dialect::ascend_hami::kind& kind);

/// The dialects that the options configure; these have to outlive them.
[[nodiscard]] std::vector<manifest_dialect> manifest_dialects(const validate_options& with);

} // namespace vgpusim
