// What a container asks for, in words.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/model/request.hpp"

namespace vgpualloc::explaining {

/// What is counted where a device plugin offers devices as units (device_request::units).
inline constexpr std::string_view units_word = "units";

/// "2 devices, 10240 MiB each, cores 50, mode hami_core". What says nothing is left out.
[[nodiscard]] std::string request_words(const device_request& request);

} // namespace vgpualloc::explaining
