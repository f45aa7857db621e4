// Why a pod has its verdict, in a few words with numbers.
#pragma once

#include <string>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/verdict.hpp"

namespace vgpuops::why {

/// "4 gpu on one node; 5 free, at most 3 on one", "mig-3g.40gb: 4 of 4 used", "wants pool=dev; does not tolerate
/// team=dev". `available` is what there is for the pod. The ledger is as before.
[[nodiscard]] std::string because_of(kube::snapshot& state, const kube::snapshot_pod& pod,
                                     const show::waiting_pod& waiting, const show::room& available,
                                     const stop_signal& stop = {});

} // namespace vgpuops::why
