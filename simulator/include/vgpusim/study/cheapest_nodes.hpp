// The cheapest numbers of nodes of some kinds with which a goal holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// What a node of a kind costs, in any unit above 0, and how many there may be.
struct offered_kind {
    std::int64_t price = 0;
    std::int64_t most = 0;
};

/// Numbers of nodes that were tried, by kind.
struct purchase {
    std::vector<std::int64_t> nodes{};
    std::int64_t price = 0;
    bool holds = false;
};

struct purchase_search {
    std::vector<purchase> tries{};      ///< in their order, each once
    std::optional<std::size_t> best{};  ///< among these; none: the goal holds with nothing that was tried
    std::optional<std::size_t> below{}; ///< the dearest of all that cost less, which fails; none: nothing costs less
    bool is_complete = true;            ///< not ended at the largest number of tries
};

/// Finds the cheapest; of several at one price it is the one that was tried first. `holds` is taken to stay true with
/// more nodes: what has no more of any kind than something that fails, or no less than something that holds, is not
/// tried. The first try has the most of every kind. The dearest of all that cost less
/// is always tried. At most four kinds. Errors: those of `holds`.
[[nodiscard]] expected<purchase_search>
find_cheapest(std::span<const offered_kind> kinds,
              const std::function<expected<bool>(std::span<const std::int64_t>)>& holds, std::size_t tries_max);

} // namespace vgpusim
