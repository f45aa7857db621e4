// What the dialects are configured with: resource names, catalogs, what a device configuration says.
#pragma once

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

} // namespace vgpusim
