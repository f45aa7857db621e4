// What a rest of a device is worth, as plain data: whoever solves a packing program of the workload hands it in.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// Prices are whole thousandths, so that they are the same on every machine. Without steps a rest is worth its size.
struct price_table {
    /// From a rest of `from` on, up to the next step, a device is worth this much; below the first step nothing.
    struct step {
        milli_gpu from;
        std::int64_t worth = 0; ///< in thousandths of the unit of the program's objective; never falls

        bool operator==(const step&) const = default;
    };
    std::vector<step> steps{};    ///< by `from`, ascending; the last one is of a whole device
    std::int64_t cpu_per_gpu = 0; ///< milli-CPU that a GPU's worth of the workload asks for; 0 = CPU never runs out

    bool operator==(const price_table&) const = default;

    /// The worth of a rest in millionths of a whole device.
    [[nodiscard]] std::int64_t worth_of(milli_gpu rest) const noexcept {
        if (steps.empty() || steps.back().worth <= 0) return rest.count() * 1000;
        std::int64_t worth = 0;
        for (const step& next : steps) {
            if (next.from > rest) break;
            worth = next.worth;
        }
        return worth * 1'000'000 / steps.back().worth;
    }
};

/// A table without steps, made of a workload alone: rests are worth their size, capped by the CPU per GPU that its
/// typical requests ask for. A request's part of a GPU is that on the first kind of device in the cluster that takes
/// it; requests that no kind takes are left out.
[[nodiscard]] price_table price_table_without_steps(const workload& target, const cluster& nodes);

} // namespace vgpualloc
