// What merging catalogs of GPUs and of NPUs has in common.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::detail {

/// The catalog that a file built into the library describes.
template <class Catalog>
[[nodiscard]] Catalog well_formed(expected<Catalog> parsed) {
    VGA_ASSERT(parsed.has_value(), "a built-in catalog is well-formed");
    return *std::move(parsed);
}

/// `entries` without those that an entry of `more` replaces, since it has their name.
template <class Named>
[[nodiscard]] std::vector<Named> not_replaced(std::vector<Named> entries, const std::vector<Named>& more) {
    std::erase_if(entries, [&more](const Named& entry) {
        return std::ranges::find(more, entry.name, &Named::name) != more.end();
    });
    return entries;
}

/// Every entry of `more` takes the place of the one that has its name, or comes last.
template <class Named>
void put(std::vector<Named>& entries, const std::vector<Named>& more) {
    for (const Named& entry : more) {
        const auto same = std::ranges::find(entries, entry.name, &Named::name);
        if (same != entries.end()) {
            *same = entry;
        } else {
            entries.push_back(entry);
        }
    }
}

} // namespace vgpualloc::detail
