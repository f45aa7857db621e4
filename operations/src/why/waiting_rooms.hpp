// What `show` knows of the pods that wait: their verdicts, and what there is for the request of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/verdict.hpp"

namespace vgpuops::why {

struct waiting_rooms {
    std::map<vgpualloc::pod_request, show::room> rooms{};
    std::map<vgpualloc::pod_request, std::map<std::string, std::int64_t>> asks{}; ///< device resources
    std::vector<show::waiting_pod> pods{};                                        ///< by name
};

/// The pods of the snapshot that wait and ask for devices, as `show` counts them. Once an end is wanted, pods are
/// missing.
[[nodiscard]] waiting_rooms rooms_for_waiting(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                              const stop_signal& stop);

[[nodiscard]] show::room room_for(const std::map<vgpualloc::pod_request, show::room>& rooms,
                                  const kube::snapshot_pod& pod);
/// What there is for a pod; for one whose request cannot be read, nothing.
[[nodiscard]] show::room room_for(const waiting_rooms& waiting, const kube::snapshot_pod& pod);

} // namespace vgpuops::why
