// What the checks of studies share.
#pragma once

#include <string>
#include <utility>

#include "vgpualloc/core/error.hpp"

namespace vgpusim {

[[nodiscard]] inline vgpualloc::error bad_study(vgpualloc::error_code code, std::string field, std::string value,
                                                std::string expectation) {
    return {.code = code,
            .where = "",
            .field = std::move(field),
            .value = std::move(value),
            .expected = std::move(expectation)};
}

} // namespace vgpusim
