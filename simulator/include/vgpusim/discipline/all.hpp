// The disciplines there are: a new one is a header here, a line in this list and a test.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "vgpusim/discipline/discipline.hpp"
#include "vgpusim/discipline/try_once.hpp"

namespace vgpusim {

struct discipline_entry {
    std::string_view name;
    std::string_view summary; ///< one sentence
    std::unique_ptr<discipline> (*make)();
};

template <class Discipline>
[[nodiscard]] std::unique_ptr<discipline> make_discipline() {
    return std::make_unique<Discipline>();
}

/// The first one is what a run uses.
inline constexpr std::array all_disciplines{
    discipline_entry{.name = "try_once",
                     .summary = "every pod is tried at its arrival and fails if it does not fit then",
                     .make = make_discipline<try_once>},
};

} // namespace vgpusim
