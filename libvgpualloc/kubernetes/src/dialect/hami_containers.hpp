// Which of a pod's containers has which entry of its request in the dialects of HAMi's family, where init containers
// may ask for devices too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialects::hami_text {

/// The containers of a pod in the order of the annotations, init containers first.
struct container_entries {
    std::vector<device_request> entries;              ///< of the request
    std::vector<std::optional<std::uint32_t>> owners; ///< by container: its entry
    std::vector<std::optional<device_request>> own;   ///< by container: what it asks for
    std::vector<bool> at_init;                        ///< by container: an init container that ends before the others
    std::size_t init_containers = 0;
};

/// What one container asks for; none if it does not ask.
using container_reader = std::function<expected<std::optional<device_request>>(const kubernetes::container&)>;

/// Containers and sidecars run at once and have an entry each. An init container that ends before they start needs
/// nothing of its own where it asks for no more than one of them: devices are counted as the larger of both. Where it
/// asks for more, the entry of the container that grows least is raised to that; where no container asks, it has an
/// entry. (HAMi charges every device the larger of what init containers and containers have on it; which devices these
/// are, it decides apart.) Errors: the first of `read`.
[[nodiscard]] expected<container_entries> read_containers(const kubernetes::pod& pod, const container_reader& read);

/// A pod that cannot be read asks for nothing.
[[nodiscard]] container_entries or_nothing(expected<container_entries> containers, const kubernetes::pod& pod);

/// For each part of an annotation, its container: parts are those of all containers with init containers first, of the
/// containers without them, or of those that ask. Where their number is none of these, that is a problem, and parts are
/// taken for those that ask. None: there is no such container.
[[nodiscard]] std::vector<std::optional<std::size_t>> containers_of_parts(std::size_t parts,
                                                                          const container_entries& containers,
                                                                          const std::string& where,
                                                                          std::vector<error>& problems);

/// Whether `devices` are all that `container` asks for, of an entry that was raised to more for another one.
[[nodiscard]] bool has_all_its_devices(const container_entries& containers, std::size_t container,
                                       std::int64_t devices);

/// What `container` has of a share of its entry, which may be larger than what it asks for itself.
[[nodiscard]] partition part_of_container(const container_entries& containers, std::size_t container,
                                          const partition& part, mib device_memory);

/// Adds what an init container has to what its entry has already: of every device the larger.
void add_at_init(const device_share& share, std::vector<device_share>& shares);

} // namespace vgpualloc::dialects::hami_text
