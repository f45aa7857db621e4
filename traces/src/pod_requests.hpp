// What a pod asks for, read from its spec as the API server has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgputraces/accounting.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// The requests of the containers of a PodSpec, and the limits where there are no requests, as the API server fills
/// them in. CPU, memory and devices; other resources, init containers and overhead are passed over.
[[nodiscard]] std::vector<accounted_container> containers_in(const cursor& pod_spec);

/// Adds a pod's containers to a job whose pods are all alike.
void set_containers(accounted_job& job, std::vector<accounted_container> containers);

/// A time as Kubernetes writes it; nothing where the key is absent.
[[nodiscard]] std::optional<ticks> maybe_time(const cursor& map, std::string_view key);

/// The same, and fails if the key is absent.
[[nodiscard]] ticks required_time(const cursor& map, std::string_view key);

/// Hands over an object, or what a list has of them (also in lists of lists), one by one. The first error ends it.
[[nodiscard]] expected<void> for_each_object(const document& object, const std::string& name,
                                             const std::function<expected<void>(const document&)>& read);

/// A text that can stand in tables.
[[nodiscard]] std::string table_text(const cursor& value);

} // namespace vgputraces
