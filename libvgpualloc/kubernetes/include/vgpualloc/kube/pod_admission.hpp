// What the API server does with a pod that is made, before quotas count it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/limit_ranges.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/priority_classes.hpp"

namespace vgpualloc::kube {

/// Priority, then LimitRanger, as the API server orders its admission plugins.
class pod_admission {
public:
    /// Classes that `more` has, where pods are added with it, are known as well. `cluster` outlives this.
    explicit pod_admission(std::span<const manifest> cluster, std::span<const manifest> more = {})
        : classes_{cluster, more}, limits_{cluster} {}

    /// Gives a pod, or a template, its priority and its defaults. Returns why the pod is refused.
    [[nodiscard]] std::optional<error> admit(manifest& object) {
        auto refusal = classes_.admit(object);
        return refusal ? refusal : limits_.admit(object);
    }

    /// As limit_ranges::not_looked_at().
    [[nodiscard]] std::vector<std::string> not_looked_at() const { return limits_.not_looked_at(); }

private:
    priority_classes classes_;
    limit_ranges limits_;
};

} // namespace vgpualloc::kube
