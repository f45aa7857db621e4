// Inflating what gzip has compressed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/input.hpp"

namespace vgpuformats::detail {

/// Whether the bytes begin as every gzip stream does.
[[nodiscard]] inline bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }

/// What the streams, one after the other, inflate to; `name` is what errors call them. Memory stays near bytes_max,
/// however much they would inflate to.
[[nodiscard]] vgpualloc::expected<std::string> gunzip(std::string_view bytes, const std::string& name,
                                                      const input_options& options);

/// The error of an input that is too large.
[[nodiscard]] vgpualloc::error too_large(const std::string& name, std::size_t bytes_max, bool inflated);

} // namespace vgpuformats::detail
