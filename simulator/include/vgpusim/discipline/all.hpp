// The disciplines there are: a new one is a header here, a line in this list and a test.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "vgpusim/discipline/conservative.hpp"
#include "vgpusim/discipline/queue.hpp"
#include "vgpusim/discipline/try_once.hpp"
#include "vgpusim/engine/discipline.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

struct discipline_entry {
    std::string_view name;
    std::string_view summary; ///< one sentence
    std::unique_ptr<discipline> (*make)();
    /// Whether it can plan the workload on these nodes; null: it can plan all. Errors have the field "discipline".
    expected<void> (*check)(const simulation_input&, const vgpualloc::cluster&) = nullptr;
    /// It starts jobs by simulation::try_start() alone, so that a scheduler other than the allocator may place them.
    bool only_tries = false;
};

template <class Discipline>
[[nodiscard]] std::unique_ptr<discipline> make_discipline() {
    return std::make_unique<Discipline>();
}

template <overtaking Overtakes, bool ByPriority>
[[nodiscard]] std::unique_ptr<discipline> make_queue() {
    return std::make_unique<queue_discipline>(queue_rules{.overtakes = Overtakes, .by_priority = ByPriority});
}

/// The first one is what a run uses where nothing is said. In all of them a job of several pods starts with at least
/// its minimum or not at all.
inline constexpr std::array all_disciplines{
    discipline_entry{.name = "try_once",
                     .summary = "every pod is tried at its arrival and fails if it does not fit then",
                     .make = make_discipline<try_once>,
                     .only_tries = true},
    discipline_entry{.name = "fifo",
                     .summary = "a queue in order of arrival; one that does not fit holds up all behind it",
                     .make = make_queue<overtaking::none, false>,
                     .only_tries = true},
    discipline_entry{.name = "easy",
                     .summary =
                         "fifo, but whoever does not delay the first in the queue, by the estimates, may overtake",
                     .make = make_queue<overtaking::unpromised, false>},
    discipline_entry{.name = "conservative",
                     .summary = "fifo, but whoever delays nobody before it, by the estimates, may overtake",
                     .make = make_discipline<conservative>,
                     .check = conservative::check},
    discipline_entry{.name = "priority",
                     .summary =
                         "by priority, then arrival; whoever fits starts, and lower priority is stopped for higher",
                     .make = make_queue<overtaking::everybody, true>},
    discipline_entry{.name = "gang",
                     .summary = "whoever fits starts, in order of arrival, jobs of several pods all or nothing",
                     .make = make_queue<overtaking::everybody, false>,
                     .only_tries = true},
    discipline_entry{.name = "priority+fifo",
                     .summary = "by priority with preemption; one that does not fit holds up all behind it",
                     .make = make_queue<overtaking::none, true>},
    discipline_entry{.name = "priority+easy",
                     .summary = "by priority with preemption; whoever does not delay the first may overtake",
                     .make = make_queue<overtaking::unpromised, true>},
};

/// The discipline of that name. Error unknown_name with the field "discipline", which lists the known ones.
[[nodiscard]] expected<const discipline_entry*> find_discipline(std::string_view name);

} // namespace vgpusim
