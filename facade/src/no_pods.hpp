// What is said of a file without pods.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpufacade {

/// Error missing, with the kinds that `where` has instead.
[[nodiscard]] inline error no_pods(const std::vector<vgpualloc::kube::manifest>& objects, const std::string& where) {
    return bad_value(error_code::missing, "", vgpuformats::joined(objects, &vgpualloc::kube::manifest::kind),
                     "a Pod, or an object with a template for pods that is read here")
        .at(where);
}

} // namespace vgpufacade
