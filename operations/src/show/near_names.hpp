// Names that are spelled almost like another one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vgpuops::show {

/// Of `names`, those with the fewest letters to change, add or leave out until they are `wanted`, the nearest first;
/// at most `names_max`.
[[nodiscard]] std::vector<std::string> near_names(const std::string& wanted, const std::vector<std::string>& names,
                                                  std::size_t names_max);

} // namespace vgpuops::show
