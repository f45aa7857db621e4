// Errors of registrations that no mode can be made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/core/error.hpp"

namespace vgpualloc::modes {

[[nodiscard]] inline error out_of_range(const char* field, std::int64_t value, const char* allowed,
                                        std::string_view where = {}) {
    return bad_value(error_code::out_of_range, field, std::to_string(value), allowed).at(std::string{where});
}

} // namespace vgpualloc::modes
