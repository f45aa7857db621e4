// Errors of registrations that no mode can be made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/core/error.hpp"

namespace vgpualloc::modes {

[[nodiscard]] inline error out_of_range(const char* field, std::int64_t value, const char* allowed,
                                        std::string_view where = {}) {
    return {.code = error_code::out_of_range,
            .where = std::string{where},
            .field = field,
            .value = std::to_string(value),
            .expected = allowed};
}

} // namespace vgpualloc::modes
