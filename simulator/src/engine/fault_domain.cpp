#include "vgpusim/engine/fault_domain.hpp"

#include <algorithm>
#include <set>

namespace vgpusim {

using vgpualloc::booking;
using vgpualloc::device_index;
using vgpualloc::ledger;
using vgpualloc::node_index;
using vgpualloc::pod_id;

namespace {

bool uses(const booking& running, device_index device) {
    return std::ranges::any_of(running.where.shares, [device](const auto& share) { return share.device == device; });
}

/// The devices of these pods on which a fault is everybody's.
std::set<device_index> shared_devices_of(const ledger& book, const std::set<std::uint32_t>& pods) {
    std::set<device_index> devices;
    for (const std::uint32_t pod : pods) {
        const auto& where = book.booking_of(pod_id{pod}).where;
        for (const auto& share : where.shares) {
            if (book.nodes().spec_of(where.node, share.device).mode->shares_faults()) devices.insert(share.device);
        }
    }
    return devices;
}

} // namespace

std::vector<std::uint32_t> running_on(const ledger& book, node_index node, std::optional<device_index> device) {
    std::vector<std::uint32_t> pods;
    for (const std::uint32_t slot : book.live_on(node)) {
        const booking& running = book.bookings()[slot];
        if (!device || uses(running, *device)) pods.push_back(running.pod.value());
    }
    return pods;
}

std::vector<std::uint32_t> hit_by_fault_of(const ledger& book, pod_id pod) {
    const node_index node = book.booking_of(pod).where.node;
    std::set<std::uint32_t> pods{pod.value()};
    // First the users of the pod's devices, then those of all devices that these users have.
    for (int step = 0; step < 2; ++step) {
        for (const device_index device : shared_devices_of(book, pods)) {
            for (const std::uint32_t user : running_on(book, node, device)) pods.insert(user);
        }
    }
    return {pods.begin(), pods.end()};
}

} // namespace vgpusim
