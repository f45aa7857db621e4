// What would have to change for pods that a ResourceQuota keeps from being made.
#pragma once

#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// What there is to say of a quota that keeps pods from being made.
struct quota_findings {
    std::vector<counted_pod> counted{}; ///< the pods that count for it: their amounts, and what they are
    /// Changes of the quota, and of these pods, after which all quotas admit one more pod and a node takes it. Each was
    /// made in a trial.
    std::vector<tried_change> changes{};
};

/// Of the quota of `held`, which keeps `maker` from making one more pod. The ledger is as before, and of the pods that
/// wait only those of the namespace are left.
[[nodiscard]] quota_findings look_at_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                           const kube::manifest& maker, const show::held_job& held,
                                           const stop_signal& stop);

/// The object whose template the pods have that a quota or a queue keeps from being made; null: it is not there.
[[nodiscard]] const kube::manifest* maker_of(const std::vector<kube::manifest>& objects, const show::held_job& held);

} // namespace vgpuops::why
