// What is said of a file without the objects that it is to have.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpufacade {

/// Error missing, with the kinds that `where` has instead.
[[nodiscard]] inline error none_of_kind(const std::vector<vgpualloc::kube::manifest>& objects,
                                        std::string expected_text, const std::string& where) {
    std::vector<std::string> kinds; // each once
    for (const auto& object : objects) {
        const std::string kind = object.kind.empty() ? "an object without a kind" : object.kind;
        if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    if (kinds.empty()) return bad_input(error_code::missing, "", "no object", std::move(expected_text)).at(where);
    return bad_value(error_code::missing, "", vgpuformats::joined(kinds), std::move(expected_text)).at(where);
}
[[nodiscard]] inline error no_pods(const std::vector<vgpualloc::kube::manifest>& objects, const std::string& where) {
    return none_of_kind(objects, "a Pod, or an object with a template for pods that is read here", where);
}

} // namespace vgpufacade
