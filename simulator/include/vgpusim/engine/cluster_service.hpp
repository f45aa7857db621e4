// Which nodes and devices take pods while a workload changes its cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Carries a workload's cluster events out on a ledger. Reasons to be out of service may overlap (a drain that a
/// failure falls into): a node or device takes pods again when the last of them has ended.
class cluster_service {
public:
    explicit cluster_service(vgpualloc::ledger& book) : ledger_{&book} {}

    /// Carries out the event. What runs there stays booked.
    void apply(const cluster_event& change);
    /// The device takes nothing new while pods are moved for one that is to go there. May be closed by several.
    void close(node_index node, device_index device);
    /// Takes one close() back.
    void reopen(node_index node, device_index device);
    /// Whether the node itself has failed or is away.
    [[nodiscard]] bool is_stopped(node_index node) const {
        const auto known = reasons_.find({node.value(), no_device});
        return known != reasons_.end() && known->second.stopped > 0;
    }

private:
    /// How many reasons there are.
    struct reasons {
        std::int32_t stopped = 0;
        std::int32_t draining = 0;
        std::int32_t closed = 0; ///< of a device
    };
    using place = std::pair<std::uint32_t, std::uint32_t>; ///< node and device; no_device: the node itself

    void order(node_index node, device_index device, const reasons& why);

    static constexpr std::uint32_t no_device = ~std::uint32_t{0};

    vgpualloc::ledger* ledger_;
    std::map<place, reasons> reasons_;
};

} // namespace vgpusim
