// The reference simulator's discipline: one attempt, at the arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpusim/discipline/discipline.hpp"

namespace vgpusim {

/// Every pod is tried once, at its arrival, and fails if it does not fit then: the reference simulator's behaviour.
class try_once final : public discipline {
public:
    void on_arrival(std::uint32_t pod, vgpualloc::ticks now, std::vector<attempt>& attempts) override {
        attempts.push_back({.pod = pod, .time = now});
    }
    [[nodiscard]] bool on_rejection(std::uint32_t, const vgpualloc::rejection&, vgpualloc::ticks,
                                    std::vector<attempt>&) override {
        return true;
    }
    void on_finish(std::uint32_t, vgpualloc::ticks, std::vector<attempt>&) override {}
};

} // namespace vgpusim
