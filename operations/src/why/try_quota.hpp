// What would have to change for pods that a ResourceQuota keeps from being made.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/verdict.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// The pods that count for the quota of `held`: their amounts, and what they are. `waiting` are verdicts of pods that
/// wait, by name.
[[nodiscard]] std::vector<counted_pod> counted_pods(const kube::snapshot& state,
                                                    const std::vector<kube::manifest>& objects,
                                                    const show::held_job& held,
                                                    const std::map<std::string, show::verdict>& waiting);

/// Changes of the quota, and of the pods that count for it, after which all quotas admit one more pod of `maker` and a
/// node takes it. Each was made in a trial. The ledger is as before.
[[nodiscard]] std::vector<tried_change> try_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                                  const kube::manifest& maker, const show::held_job& held,
                                                  const std::vector<counted_pod>& counted, const stop_signal& stop);

} // namespace vgpuops::why
