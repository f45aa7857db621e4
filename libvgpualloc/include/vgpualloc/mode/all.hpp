// The list of sharing modes: the factory of DESIGN §1. A new mode is one header and one line here.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/mode/exclusive.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

namespace modes {

/// The one instance of a mode; modes have no state of their own.
template <class Mode>
[[nodiscard]] const sharing_mode& instance() {
    static const Mode only{};
    return only;
}

} // namespace modes

/// Every mode, sorted by name.
[[nodiscard]] inline const auto& all_modes() {
    static const std::array list{
        &modes::instance<modes::exclusive>(),
        &modes::instance<modes::hami_core>(),
    };
    return list;
}

/// The mode of that name; unknown names list the known ones.
[[nodiscard]] inline expected<const sharing_mode*> find_mode(std::string_view name) {
    std::string known;
    for (const sharing_mode* each : all_modes()) {
        if (each->name() == name) return each;
        known += (known.empty() ? "" : ", ") + std::string{each->name()};
    }
    return unexpected(error{.code = error_code::unknown_name,
                            .where = "",
                            .field = "mode",
                            .value = std::string{name},
                            .expected = "one of " + known});
}

} // namespace vgpualloc
