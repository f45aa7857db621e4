// The parts of an overview, each read off the snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

/// Whether the pod counts here: it asks for devices, or nobody can read what it asks for.
[[nodiscard]] bool asks_for_devices(const kube::snapshot_pod& pod);

/// The rows of pools, and the totals of nodes and GPUs.
void add_pools(const kube::snapshot& state, overview& to);

/// What there is for the pods of each request, by request.
using rooms = std::map<vgpualloc::pod_request, room>;

/// The rows of shapes and their mean, and what there is for each.
[[nodiscard]] rooms add_shapes(kube::snapshot& state, overview& to, const stop_signal& stop);

/// What of the idle capacity that is of the wrong kind for a request is so for which reason; the parts add up to
/// `wrong_milli`.
[[nodiscard]] wrong_kinds split_wrong_kind(const kube::snapshot& state, const vgpualloc::pod_request& request,
                                           std::int64_t wrong_milli);

/// Full names of pods that wait and whose gang cannot start now, placed alone.
[[nodiscard]] std::set<std::string>
pods_of_short_gangs(kube::snapshot& state, const std::vector<kube::manifest>& objects, const stop_signal& stop);

/// The pods that wait, and the first verdict of every shape.
void add_waiting(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                 const std::set<std::string>& short_gangs, const rooms& available, overview& to);

/// The namespaces that have pods here, with their quotas of devices.
void add_users(const kube::snapshot& state, const std::vector<kube::manifest>& objects, overview& to);

} // namespace vgpuops::show
