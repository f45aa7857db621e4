// What kube-scheduler counts of a resource that one pod's containers ask for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialects {

/// How many units of each resource that `counts` takes the pod needs while its init containers run, beyond those that
/// its containers and sidecars have together; without the resources of which it needs no more. Each init container that
/// ends needs its own units and those of the sidecars before it. Amounts are those of container::requests and small
/// enough to be added. Source: k8s.io/component-helpers/resource, AggregateContainerRequests.
[[nodiscard]] kubernetes::amount_map needed_at_init(const kubernetes::pod& pod,
                                                    const std::function<bool(const std::string& resource)>& counts);

/// Appends `entry`, which asks for `count` units of a resource, as an entry for each unit (device_request::units).
void split_units(device_request entry, std::vector<device_request>& to);

} // namespace vgpualloc::dialects
