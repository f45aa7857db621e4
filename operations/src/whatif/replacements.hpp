// Pods that take the place of deleted ones: the API server may refuse them, as any pod that is made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/limit_ranges.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::whatif {

/// Why a pod is not made; neither: it is.
struct refused_pod {
    std::optional<error> by_limits{};
    std::optional<kube::quota_shortage> by_quota{};

    [[nodiscard]] bool is_made() const noexcept { return !by_limits && !by_quota; }
    /// "quota q: requests.nvidia.com/gpu 6 of 2 used, 1 more needed"; empty: it is made.
    [[nodiscard]] std::string words() const;
};

/// A pod that runs has passed quotas and LimitRanges as they were. They may be narrower by now.
class replacements {
public:
    /// The objects outlive this.
    explicit replacements(const std::vector<kube::manifest>& objects) : limits_{objects}, quotas_{objects} {}

    /// Whether there is anything that could refuse a pod.
    [[nodiscard]] bool refuse_none() const noexcept { return limits_.empty() && quotas_.empty(); }
    /// A pod of the objects is deleted.
    void remove(const kube::manifest& pod) { quotas_.forget(pod); }
    /// Another one like it is made, and counts.
    [[nodiscard]] refused_pod make(const kube::manifest& pod);
    /// Whether it would be made again if it were deleted; nothing is.
    [[nodiscard]] refused_pod ask(const kube::manifest& pod);

private:
    kube::limit_ranges limits_;
    kube::resource_quotas quotas_;
};

/// Marks the evicted pods of a queue that are not made again. `objects` are those of the snapshot.
void hold_refused(const std::vector<kube::manifest>& objects, pod_queue& queue);

} // namespace vgpuops::whatif
