#include "vgpusim/discipline/try_once.hpp"

#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

void try_once::pass(simulation& run) {
    for (const std::uint32_t job : arrived_) {
        if (run.try_start(job) != start_result::started) run.give_up(job);
    }
    arrived_.clear();
}

} // namespace vgpusim
