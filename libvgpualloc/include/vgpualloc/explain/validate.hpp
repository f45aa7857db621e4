// Manifests checked against every dialect: what each pod would ask for, what each node offers, what cannot be read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::explaining {

struct understood_request {
    std::string container; ///< empty: the pod as a whole
    device_request request;
};
/// What one dialect makes of an object.
struct dialect_report {
    std::string dialect;
    std::vector<understood_request> requests; ///< of a pod
    std::size_t requests_unread = 0;          ///< containers, or the pod, whose request is an error
    std::vector<device_registration> devices; ///< of a node
};
struct object_report {
    std::string place, kind, ns, name;
    std::int64_t replicas = 1;
    milli_cpu cpu;
    bytes memory;
    bool is_pod = false;
    bool is_node = false;

    /// The memory in MiB: a pod's rounded up, a node's down.
    [[nodiscard]] std::int64_t memory_mib() const noexcept { return is_pod ? mib_up(memory) : mib_down(memory); }

    std::vector<dialect_report> dialects; ///< those whose words the object uses
    std::vector<std::string> notes;       ///< worth knowing, but no mistake
    std::vector<error> errors;            ///< every one once
};

/// One report per object, in their order, after one for the configuration if it has warnings. Objects of all files
/// together, because a pod's node may be in another one.
[[nodiscard]] std::vector<object_report> validate(std::span<const kube::manifest> manifests,
                                                  const dialect_set& dialects);

/// The reports and the number of errors in all of them, as one JSON document.
[[nodiscard]] std::string validate_json(const std::vector<object_report>& reports);

} // namespace vgpualloc::explaining
