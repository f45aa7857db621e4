// What the LimitRanges of a cluster make of pods that are made, as the API server's LimitRanger does.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

/// The LimitRanges of a cluster, each in the order of names. Source: plugin/pkg/admission/limitranger.
class limit_ranges {
public:
    /// The objects outlive this.
    explicit limit_ranges(std::span<const manifest> objects);

    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

    /// Fills in what the containers of a pod, or of a template, do not say of CPU, memory and extended resources.
    /// Returns why the pod is refused: it is outside a minimum or a maximum, or asks for more than its limit.
    [[nodiscard]] std::optional<error> admit(manifest& object);

    /// What would have counted for the pods that admit() was asked for, and was not looked at.
    [[nodiscard]] std::vector<std::string> not_looked_at() const;

private:
    std::map<std::string, std::vector<const manifest*>> ranges_; ///< by namespace
    std::set<std::string> not_looked_at_;
};

} // namespace vgpualloc::kube
