#include "vgpualloc/model/peer_rules.hpp"

#include <algorithm>

namespace vgpualloc {

bool pod_peers::is_in(pod_set set) const noexcept { return std::ranges::binary_search(member_of, set); }

} // namespace vgpualloc
