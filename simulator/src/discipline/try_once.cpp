#include "vgpusim/discipline/try_once.hpp"

#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

void try_once::pass(scheduling_context& run) {
    tried_.swap(arrived_); // a job whose moves came to nothing is tried again, in the next pass
    for (const std::uint32_t job : tried_) {
        if (run.try_start(job) != start_result::started) run.give_up(job);
    }
    tried_.clear();
}

} // namespace vgpusim
