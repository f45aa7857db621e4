// Which priority pods that are made have, as the API server's admission plugin Priority decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

/// The PriorityClasses of a cluster. Source: plugin/pkg/admission/priority.
class priority_classes {
public:
    /// A class that `more` has, where pods are added with it, is known as well.
    explicit priority_classes(std::span<const manifest> objects, std::span<const manifest> more = {});

    /// Gives a pod, or a template, the priority of its class, or of the class that pods without one have. Returns why
    /// the pod is refused: there is no such class, or it says another priority. A cluster of which no class is known
    /// refuses none.
    [[nodiscard]] std::optional<error> admit(manifest& object) const;

    /// The priority of a pod that is there: its own, or else that of its class if it is known.
    [[nodiscard]] std::int64_t priority_of(const manifest& object) const;
    /// Whether kube-scheduler may stop other pods for it: neither it nor its class says Never.
    [[nodiscard]] bool preempts(const manifest& object) const;

    /// The class that pods without one have; empty: there is none.
    [[nodiscard]] const std::string& default_class() const noexcept { return default_class_; }

private:
    std::map<std::string, std::int64_t> values_; ///< by name
    std::set<std::string> never_preempting_;
    std::string default_class_;
};

} // namespace vgpualloc::kube
