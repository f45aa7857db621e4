// What a request takes of a cluster as one number, before anybody decides where it goes.
#pragma once

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpusim {

/// What a request asks for on the devices of a cluster.
struct requested_amount {
    vgpualloc::milli_gpu milli; ///< over all its devices
    bool can_be_served = true;  ///< of each of its containers there is a kind of device that serves it when idle
};

/// Per device 1000 x the larger of the memory share and the compute share that the request takes of the smallest kind
/// of device that serves it when idle: the kind with the least memory, of equal memory the one with the least compute,
/// then the one that comes first. The part is the first that the kind's sharing mode offers. A device that no kind
/// serves counts as a whole one.
[[nodiscard]] requested_amount requested_of(const vgpualloc::device_kinds& kinds,
                                            const vgpualloc::pod_request& request);

} // namespace vgpusim
