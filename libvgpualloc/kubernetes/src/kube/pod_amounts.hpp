// What a pod comes to of a resource, from what its containers say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

/// What a container has of a resource; none: it says nothing of it.
using container_amount = std::function<std::optional<std::int64_t>(const kubernetes::container&)>;

/// What the containers of a pod need at once, at most `most`; none: no container says anything. Init containers run one
/// after the other, but those that are restarted always (sidecars) stay: they run beside the init containers that
/// follow and beside the containers. Source: k8s.io/component-helpers/resource, AggregateContainerRequests.
[[nodiscard]] std::optional<std::int64_t> amount_at_once(const kubernetes::pod& pod, const container_amount& amount_of,
                                                         std::int64_t most);

/// CPU and memory that the containers of a pod ask for come to these amounts with what the pod says of itself.
[[nodiscard]] std::int64_t with_pod_level(const kubernetes::host_resource& own, std::int64_t of_containers,
                                          std::int64_t overhead);

/// What a container or a pod says of "cpu" (mCPU) and "memory" (bytes), and of other resources as whole amounts.
[[nodiscard]] std::optional<std::int64_t> request_of(const kubernetes::container& container,
                                                     const std::string& resource);
[[nodiscard]] std::optional<std::int64_t> limit_of(const kubernetes::container& container, const std::string& resource);
[[nodiscard]] std::optional<std::int64_t> request_of(const manifest& object, const std::string& resource);
[[nodiscard]] std::optional<std::int64_t> limit_of(const manifest& object, const std::string& resource);

/// An amount of request_of() in the words of Kubernetes: "1500m", "2", "512Mi".
[[nodiscard]] std::string amount_words(const std::string& resource, std::int64_t amount);
/// A quantity of a resource as an amount of request_of(); none: it is no quantity.
[[nodiscard]] std::optional<std::int64_t> amount_from(const std::string& resource, const std::string& quantity,
                                                      kubernetes::rounding rest);

} // namespace vgpualloc::kube
