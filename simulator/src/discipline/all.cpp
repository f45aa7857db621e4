#include "vgpusim/discipline/all.hpp"

#include <string>

namespace vgpusim {

vgpualloc::expected<const discipline_entry*> find_discipline(std::string_view name) {
    std::string known;
    for (const discipline_entry& entry : all_disciplines) {
        if (entry.name == name) return &entry;
        known += (known.empty() ? "" : ", ") + std::string{entry.name};
    }
    return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::unknown_name,
                                                  .where = "",
                                                  .field = "discipline",
                                                  .value = std::string{name},
                                                  .expected = "one of " + known});
}

} // namespace vgpusim
