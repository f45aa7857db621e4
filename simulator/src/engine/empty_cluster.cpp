#include "vgpusim/engine/empty_cluster.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpusim {

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

namespace {

/// How many devices the pod takes.
std::int64_t device_sum_of(const pod_request* pod) {
    std::int64_t devices = 0;
    for (const auto& container : pod->containers) devices += container.count;
    return devices;
}

} // namespace

rejection_code empty_cluster::why_not(std::span<const pod_request* const> pods, std::uint32_t minimum) {
    const rejection_code as_given = why_not_in_order(pods, minimum);
    if (as_given == rejection_code::none || pods.size() == 1) return as_given;
    // Packing in one order may fail where another one succeeds: the largest first finds room for all, the smallest
    // first for as many as there can be.
    std::vector<const pod_request*> sorted{pods.begin(), pods.end()};
    std::ranges::stable_sort(sorted, std::greater{}, device_sum_of);
    if (why_not_in_order(sorted, minimum) == rejection_code::none) return rejection_code::none;
    std::ranges::reverse(sorted);
    return why_not_in_order(sorted, minimum) == rejection_code::none ? rejection_code::none : as_given;
}

rejection_code empty_cluster::why_not_in_order(std::span<const pod_request* const> pods, std::uint32_t minimum) {
    const vgpualloc::trial packing{book_};
    std::uint32_t placed = 0;
    rejection_code first_refusal = rejection_code::none;
    for (const pod_request* const pod : pods) {
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
