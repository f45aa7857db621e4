// What tests of several dialects need.
#pragma once

#include <utility>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::test {

[[nodiscard]] inline kubernetes::container limited(kubernetes::amount_map limits) {
    return {.name = "c", .limits = std::move(limits), .requests = {}};
}

[[nodiscard]] inline kubernetes::pod pod_of(std::vector<kubernetes::container> containers) {
    kubernetes::pod made;
    made.name = "p";
    made.ns = "default";
    made.containers = std::move(containers);
    return made;
}

} // namespace vgpualloc::test
