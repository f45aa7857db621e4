// Manifests checked against every dialect: what each pod would ask for, what each node offers, what cannot be read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::explaining {

/// What a container is to its pod: "container", "init_container", "sidecar" (an init container that is restarted
/// always); empty: it stands for the pod as a whole.
struct container_role {
    std::string container; ///< name
    std::string role;
};
struct understood_request : container_role {
    device_request request;
};
/// The extended resources and claims that a container names, as the file has them.
struct named_resources : container_role {
    std::vector<std::pair<std::string, std::string>> amounts; ///< resource, amount
    std::vector<std::string> claims;
};
/// What one dialect makes of an object.
struct dialect_report {
    std::string dialect;
    std::vector<understood_request> requests{}; ///< of a pod, but for containers with an error
    std::vector<container_role> refused{};      ///< whose request is an error
    std::vector<device_registration> devices{}; ///< of a node
};
struct object_report {
    std::string place, kind, ns, name;
    std::int64_t replicas = 1;
    bool one_per_node = false; ///< a DaemonSet's: a pod for every node that takes one
    milli_cpu cpu;
    bytes memory;
    bool is_pod = false;
    bool is_node = false;

    /// The memory in MiB: a pod's rounded up, a node's down.
    [[nodiscard]] std::int64_t memory_mib() const noexcept { return is_pod ? mib_up(memory) : mib_down(memory); }

    std::vector<named_resources> asks;    ///< of a pod, by container that names any
    std::vector<unread_resource> unread;  ///< what of it nothing here reads
    std::vector<dialect_report> dialects; ///< those whose words the object uses
    std::vector<std::string> notes;       ///< worth knowing, but no mistake
    std::vector<error> errors;            ///< the first errors_max
};
inline constexpr std::size_t errors_max = 1000; ///< of an object that are told

/// Errors of a dialect name the object only: the place in the file comes before, that of the value where `object` is
/// given and knows it. Every error once.
void add_error(object_report& report, error problem, const kube::manifest* object = nullptr);

/// One report per object, in their order, after one for the configuration if it has warnings. Objects of all files
/// together, because a pod's node may be in another one. Fewer once an end is wanted.
[[nodiscard]] std::vector<object_report> validate(std::span<const kube::manifest> manifests,
                                                  const dialect_set& dialects, stop_signal stop = {});

/// What the objects say of where and when pods run, and nothing here looks at; each once, with how many say it.
[[nodiscard]] std::vector<std::string> not_considered(std::span<const kube::manifest> manifests);

/// The reports, what was not considered, and the number of errors, as one JSON document.
[[nodiscard]] std::string validate_json(const std::vector<object_report>& reports,
                                        const std::vector<std::string>& not_considered);

} // namespace vgpualloc::explaining
