// Which fields of Kubernetes objects a snapshot keeps: those that are read, and nothing else.
#pragma once

#include <string_view>

#include "vgpuops/core_names.hpp"

namespace vgpuops::snapshots {

/// kubectl's copy of what it was last told to apply says everything twice, and nothing is decided by it.
inline constexpr std::string_view applied_copy = "kubectl.kubernetes.io/last-applied-configuration";

/// Copies with the fields that are read of a node, a pod, and so on. A field of a shape that nothing reads is copied as
/// it is, so that what is wrong with it is told of the copy too.
[[nodiscard]] document kept_of_node(const document& object);
[[nodiscard]] document kept_of_pod(const document& object);
[[nodiscard]] document kept_of_config_map(const document& object);
[[nodiscard]] document kept_of_namespace(const document& object);
/// What others decide by: quotas, limits, budgets, classes, queues and what waits in them.
[[nodiscard]] document kept_of_rule(const document& object, std::string_view kind);
/// What makes pods: who made it, how many pods, and their templates.
[[nodiscard]] document kept_of_maker(const document& object, std::string_view kind);

/// Whether a value is the template of pods, as objects that make them have it anywhere.
[[nodiscard]] bool is_pod_template(const document& value);
/// Whether the members of a field have names that people choose: the roles of a training job.
[[nodiscard]] bool has_roles_by_name(std::string_view field);

} // namespace vgpuops::snapshots
