// What of a pod's resources nothing here reads, in words.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"

namespace vgpualloc::explaining {

/// "container main asks for hygon.com/dcunum: 1, which no dialect here reads", and the pod's resource claims.
[[nodiscard]] std::vector<std::string> unread_words(const std::vector<unread_resource>& unread,
                                                    const kubernetes::pod& pod);

} // namespace vgpualloc::explaining
