// Where the values of a catalog come from.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace vgpualloc {

/// Field of a catalog entry -> where its value comes from; "*" speaks for the fields that are not named. "S:…" means
/// sourced (the code is a key of the catalog's `sources`), "D:…" derived by the rule named. A value that nobody could
/// say is absent from the entry, and needs no word here.
using provenance = std::map<std::string, std::string, std::less<>>;

/// Code of a source -> what it is, in a sentence.
using source_list = std::map<std::string, std::string, std::less<>>;

/// What is said of `field`; empty if nothing is.
[[nodiscard]] inline std::string_view provenance_of(const provenance& from, std::string_view field) {
    if (const auto own = from.find(field); own != from.end()) return own->second;
    const auto others = from.find("*");
    return others == from.end() ? std::string_view{} : std::string_view{others->second};
}

} // namespace vgpualloc
