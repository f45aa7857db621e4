// The reference simulator's discipline: one attempt, at the arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpusim/engine/discipline.hpp"

namespace vgpusim {

/// Every job is tried once, at its arrival, and fails if it does not fit then: the reference simulator's behaviour. A
/// job that was stopped is tried once more.
class try_once final : public discipline {
public:
    [[nodiscard]] bool keeps_waiting() const noexcept override { return false; }
    void on_arrival(std::uint32_t job, scheduling_context& /*run*/) override { arrived_.push_back(job); }
    void pass(scheduling_context& run) override;

private:
    std::vector<std::uint32_t> arrived_; ///< in this instant, in order
    std::vector<std::uint32_t> tried_;   ///< those of the pass at hand
};

} // namespace vgpusim
