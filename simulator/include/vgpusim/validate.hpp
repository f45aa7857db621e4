// Manifests checked against every dialect: what each pod would ask for, what each node offers, what cannot be read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgputraces/kubernetes.hpp"

namespace vgpusim {

/// What the dialects are configured with. `hami.catalog` is where every GPU that is cut without groups is looked up.
struct validate_options {
    vgpualloc::dialect::volcano_vgpu::options vgpu;
    vgpualloc::dialect::ascend_hami::options ascend;
    vgpualloc::dialect::hami::options hami;
    vgpualloc::dialect::mindcluster::options mindcluster;
    std::vector<vgpualloc::error> warnings{};            ///< of the configuration: keys that were not read
    std::shared_ptr<const vgpualloc::mig_catalog> mig{}; ///< keeps what hami.catalog points to, if not built in
};

/// The names that the components have without a configuration, and the GPUs and NPUs of a catalog.
[[nodiscard]] validate_options default_validate_options();
[[nodiscard]] validate_options default_validate_options(const vgpualloc::hardware_catalog& catalog);

/// `base` with what a device configuration says: device-config.yaml itself, or a ConfigMap that holds it. Its NPUs are
/// then the only ones.
[[nodiscard]] vgpualloc::expected<validate_options> configured(validate_options base, const std::string& text,
                                                               const std::string& name);

struct understood_request {
    std::string container; ///< empty: the pod as a whole
    vgpualloc::device_request asked;
};
/// What one dialect makes of an object.
struct dialect_report {
    std::string dialect;
    std::vector<understood_request> requests;            ///< of a pod
    std::size_t requests_unread = 0;                     ///< containers, or the pod, whose request is an error
    std::vector<vgpualloc::device_registration> devices; ///< of a node
};
struct object_report {
    std::string place, kind, ns, name;
    std::int64_t replicas = 1;
    vgpualloc::milli_cpu cpu;
    vgpualloc::mib memory;
    bool is_pod = false;
    bool is_node = false;
    std::vector<dialect_report> dialects; ///< those whose words the object uses
    std::vector<std::string> notes;       ///< worth knowing, but no mistake
    std::vector<vgpualloc::error> errors;
};

/// One report per object, in their order, after one for the configuration if it has warnings. Objects of all files
/// together, because a pod's node may be in another one.
[[nodiscard]] std::vector<object_report> validate(const std::vector<vgputraces::manifest>& objects,
                                                  const validate_options& with);

/// The reports and the number of errors in all of them, as one JSON document.
[[nodiscard]] std::string validate_json(const std::vector<object_report>& reports);

} // namespace vgpusim
