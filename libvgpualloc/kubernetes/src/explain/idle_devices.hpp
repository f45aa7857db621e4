// What devices answer that nothing runs on.
#pragma once

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::explaining {

/// Answers for devices that nothing runs on; a registration that makes no device refuses nothing. The catalog must
/// outlive the answers.
[[nodiscard]] idle_answer idle_devices(const mig_catalog& catalog);

} // namespace vgpualloc::explaining
