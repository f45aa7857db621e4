// The names one can use, each with a sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpufacade/core_names.hpp"

namespace vgpufacade {

struct listed_name {
    std::string name;
    std::string summary; ///< empty: the name says it
};

/// "policies", "modes", "dialects", "disciplines" or "reasons". Error unknown_name, which lists these.
[[nodiscard]] expected<std::vector<listed_name>> listing_of(std::string_view what);

} // namespace vgpufacade
