// Reading of the configurations of device plugins: keys that are known, mistyped or strange.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc::dialects {

using key_list = std::span<const std::string_view>;

/// Fails at a key that looks like one of `ours` mistyped; other unknown keys are a warning, because these files are
/// made for programs of which each has keys of its own.
void check_keys(const vgpuformats::cursor& from, key_list ours, key_list others, std::vector<error>& warnings);

/// False where the key is not there.
[[nodiscard]] bool read_flag(const vgpuformats::cursor& from, std::string_view key);

} // namespace vgpualloc::dialects
