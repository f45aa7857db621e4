// A scheduler that decides in place of the allocator: a model of another system, with books of its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// What a placer has given out that is not there.
struct overcommitment {
    std::int64_t devices_max = 0;  ///< devices that were given beyond what they have, at the worst moment
    std::int64_t devices_last = 0; ///< the same now
    /// Pods whose devices the ledger does not count, because what they were given is no part that the device can have
    /// in its mode; and which devices these are.
    std::map<std::uint32_t, std::vector<device_index>> not_counted{};
};

/// The loop tells it in the order in which things happen. Pods are positions in simulation_input::pods.
class placer {
public:
    placer() = default;
    virtual ~placer() = default;
    placer(const placer&) = delete;
    placer& operator=(const placer&) = delete;

    /// The instant's arrivals and ends are known; pods are placed next.
    virtual void begin_pass() = 0;
    /// Decides, and books in the ledger what was decided, whether there is as much or not.
    [[nodiscard]] virtual expected<vgpualloc::placed_pod, rejection_code> place(std::uint32_t pod) = 0;
    /// A pod that was placed in this pass does not start after all: its gang is not complete. The ledger is taken back
    /// by the caller.
    virtual void discard(std::uint32_t pod) = 0;
    /// A pod ends; the ledger still has it.
    virtual void release(std::uint32_t pod) = 0;
    /// Why `minimum` of the pods would not be placed if nothing else ran; none: they would.
    [[nodiscard]] virtual rejection_code why_never(std::span<const std::uint32_t> pods, std::uint32_t minimum) = 0;
    [[nodiscard]] virtual overcommitment given_beyond() = 0;
};

} // namespace vgpusim
