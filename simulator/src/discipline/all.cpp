#include "vgpusim/discipline/all.hpp"

#include <algorithm>

#include "vgpusim/workload/settings.hpp"

namespace vgpusim {

static_assert(std::ranges::equal(all_disciplines, discipline_names, {}, &discipline_entry::name),
              "what the setting takes is what there is");

expected<const discipline_entry*> find_discipline(std::string_view name) {
    const auto entry = std::ranges::find(all_disciplines, name, &discipline_entry::name);
    if (entry == all_disciplines.end()) return unexpected(unknown_discipline(name));
    return &*entry;
}

} // namespace vgpusim
