// What the catalog says of Ascend chips, as text.
#pragma once

#include <string>
#include <vector>

namespace vgpualloc::test {

/// "<name> <memory> <capacity> <AI cores> <AI CPUs>" and " <template>:<memory>/<AI cores>/<AI CPUs>" for each template
/// by ascending memory; 0 for what is not known.
[[nodiscard]] std::vector<std::string> ascend_catalog_lines();

/// "<template> <AI cores> <AI CPUs> <null|yes|no>" for each template of the 310P, in the catalog's order.
[[nodiscard]] std::vector<std::string> mindcluster_310p_lines();

} // namespace vgpualloc::test
