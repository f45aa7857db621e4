// What the dialects of HAMi's family share: amounts in a pod's containers, and the annotations that list devices as
// `uuid,word,memory,cores:` per device and `;` after each container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::hami_text {

/// The components hold amounts in 32 bits.
inline constexpr std::int64_t amount_max = std::numeric_limits<std::int32_t>::max();

/// What ids must not contain, because annotations are made of it.
inline constexpr std::string_view separators = ",:;[]";

/// "pod <namespace>/<name>" with what follows: the place of an error.
[[nodiscard]] std::string place(const kubernetes::pod& pod, std::string_view kind, std::string_view name);
[[nodiscard]] std::string place(const kubernetes::node& node, std::string_view kind, std::string_view name);

/// The amount of a resource by limits, or else by requests; none if neither names it. Error out_of_range below 0 or
/// above amount_max. `unit` is that of an amount of memory, 0 for others.
[[nodiscard]] expected<std::optional<std::int64_t>> amount(const kubernetes::pod& pod,
                                                           const kubernetes::container& container,
                                                           const std::string& resource, mib unit = mib{0});

/// HAMi's webhook refuses pods that ask for devices and have a privileged container, unless they are exempt.
void check_privileged(const kubernetes::pod& pod, request_findings& findings);

struct record {
    std::string_view uuid;
    std::string_view word;
    std::int64_t memory = 0;
    std::int64_t cores = 0;
};
/// The parts of the annotation, one per ';'. A record that cannot be read is a problem and left out.
[[nodiscard]] std::vector<std::vector<record>> read_parts(std::string_view annotation, const std::string& where,
                                                          std::vector<error>& problems);
void append(std::string& text, const record& added);

/// What the containers of a pod are to one annotation.
struct askers {
    std::size_t init_containers = 0;
    std::vector<bool> regular; ///< per regular container, whether it has an entry in the request
};
/// Per part, the position of its container among those that ask; none for a container that does not ask. Parts are
/// those of all containers with init containers first, of the regular ones, or of those that ask: their number tells.
/// Where it is none of these, that is a problem, and a part's own position counts.
[[nodiscard]] std::vector<std::optional<std::uint32_t>>
owners_of_parts(std::size_t parts, const askers& containers, const std::string& where, std::vector<error>& problems);

/// The devices that an annotation lists as JSON. None for what is no list, which is a problem: `expected_text`.
[[nodiscard]] std::optional<vgpuformats::document> read_list(const std::string& annotation, const std::string& where,
                                                             const char* expected_text, std::vector<error>& problems);

/// What device plugins list of every device; `position` is that in the list.
[[nodiscard]] vgpuformats::document registered_entry(const device_registration& device, std::size_t position);

/// The node that HAMi's scheduler is binding the pod to; empty: none.
[[nodiscard]] std::string binding_node(const kubernetes::pod& pod);

/// The device of this family and uuid; none is a problem (unknown_name).
[[nodiscard]] std::optional<device_index> find_device(std::span<const device_registration> devices,
                                                      std::string_view family, std::string_view uuid,
                                                      const std::string& where, std::vector<error>& problems);

} // namespace vgpualloc::dialects::hami_text
