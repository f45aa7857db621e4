// The hami dialect: what its sources share.
#pragma once

#include <optional>

#include "vgpualloc/dialect/hami.hpp"

namespace vgpualloc::dialect::hami {

inline constexpr const char* mig_mode = "mig";

/// What one container asks for; none if it does not ask.
[[nodiscard]] expected<std::optional<device_request>>
read_container(const kubernetes::pod& of, const kubernetes::container& in, const options& with);

} // namespace vgpualloc::dialect::hami
