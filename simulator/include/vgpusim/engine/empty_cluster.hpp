// Whether a job would fit if nothing else ran: one that would not is refused instead of blocking a queue for ever.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/binpack.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// The nodes as they are when nothing has failed or is drained.
[[nodiscard]] vgpualloc::cluster all_in_service(vgpualloc::cluster nodes);

/// The cluster of a run with everything in service and nothing on it.
class empty_cluster {
public:
    explicit empty_cluster(const vgpualloc::cluster& nodes);

    /// Why `minimum` of these pods cannot run side by side, by the first one in the way; none if they can. They are
    /// packed one after the other in three orders, so pods of very different requests may be refused that some other
    /// order would place.
    [[nodiscard]] rejection_code why_not(std::span<const pod_request* const> pods, std::uint32_t minimum);

private:
    [[nodiscard]] rejection_code why_not_in_order(std::span<const pod_request* const> pods, std::uint32_t minimum);

    vgpualloc::ledger book_;
    std::unique_ptr<vgpualloc::policy> packing_;
    vgpualloc::allocator alloc_;
};

} // namespace vgpusim
