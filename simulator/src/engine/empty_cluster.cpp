#include "vgpusim/engine/empty_cluster.hpp"

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpusim {

using vgpualloc::pod_id;
using vgpualloc::rejection_code;

vgpualloc::cluster all_in_service(vgpualloc::cluster nodes) {
    for (auto& node : nodes.nodes) {
        node.host.unschedulable = false;
        for (auto& device : node.devices) device.service = vgpualloc::service_state::in_service;
    }
    return nodes;
}

empty_cluster::empty_cluster(const vgpualloc::cluster& nodes)
    : book_{all_in_service(nodes)}, packing_{vgpualloc::make_policy("binpack", {.target = {}, .seed = 0}).value()},
      alloc_{book_, {.node = packing_.get(), .device = packing_.get()}} {}

rejection_code empty_cluster::why_not(std::span<const vgpualloc::pod_request* const> pods, std::uint32_t minimum) {
    const vgpualloc::trial packing{book_};
    std::uint32_t placed = 0;
    rejection_code first_refusal = rejection_code::none;
    for (const vgpualloc::pod_request* const pod : pods) {
        const auto request = alloc_.intern(*pod);
        VGA_ASSERT(request.has_value(), "a workload's requests are within the core's limits");
        const auto booked = alloc_.place(book_, pod_id{placed}, *request);
        if (booked) {
            if (++placed == minimum) return rejection_code::none;
        } else if (first_refusal == rejection_code::none) {
            first_refusal = booked.error().main_code();
        }
    }
    return first_refusal;
}

} // namespace vgpusim
