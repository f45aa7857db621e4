// The list of sharing modes: the factory of DESIGN §1. A new mode is one header and one line here.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/mode/ascend_vir.hpp"
#include "vgpualloc/mode/cce.hpp"
#include "vgpualloc/mode/exclusive.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"
#include "vgpualloc/mode/mps.hpp"
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

/// A mode by its name. Modes that need a table, such as one of a GPU model, are listed with a default one.
struct mode_entry {
    std::string_view name;
    const sharing_mode& (*get)();
};

/// Every mode, sorted by name.
inline constexpr std::array mode_list{
    mode_entry{"ascend_vir", &modes::instance<modes::ascend_vir>},
    mode_entry{"cce", &modes::instance<modes::cce>},
    mode_entry{"exclusive", &modes::instance<modes::exclusive>},
    mode_entry{"hami_core", &modes::instance<modes::hami_core>},
    mode_entry{"mig", &modes::default_mig},
    mode_entry{"mindcluster_310p", &modes::instance<modes::mindcluster_310p>},
    mode_entry{"mps", &modes::instance<modes::mps>},
};

/// The modes of the list.
[[nodiscard]] inline const std::vector<const sharing_mode*>& all_modes() {
    static const std::vector<const sharing_mode*> modes = [] {
        std::vector<const sharing_mode*> made;
        for (const mode_entry& each : mode_list) made.push_back(&each.get());
        return made;
    }();
    return modes;
}

/// The mode of that name; unknown names list the known ones.
[[nodiscard]] inline expected<const sharing_mode*> find_mode(std::string_view name) {
    for (const mode_entry& each : mode_list) {
        if (each.name == name) return &each.get();
    }
    std::string known;
    for (const mode_entry& each : mode_list) known += (known.empty() ? "" : ", ") + std::string{each.name};
    return unexpected(error{.code = error_code::unknown_name,
                            .where = "",
                            .field = "mode",
                            .value = std::string{name},
                            .expected = "one of " + known});
}

} // namespace vgpualloc
