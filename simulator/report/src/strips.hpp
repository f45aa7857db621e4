// Every GPU: a strip for each node, or for a few that are alike.
#pragma once

#include <string>
#include <vector>

#include "vgpureport/answer.hpp"

namespace vgpureport {

/// Appends the strips of all groups, and a sentence where they do not show every node by itself.
void append_strips(std::string& out, const std::vector<strip_group>& groups);

} // namespace vgpureport
