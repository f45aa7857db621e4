#include "vgpusim/engine/fault_domain.hpp"

#include <algorithm>
#include <set>

namespace vgpusim {

using vgpualloc::booking;
using vgpualloc::ledger;

namespace {

bool uses(const booking& running, device_index device) {
    return std::ranges::any_of(running.where.shares, [device](const auto& share) { return share.device == device; });
}

} // namespace

std::vector<std::uint32_t> running_on(const ledger& book, node_index node, std::optional<device_index> device) {
    std::vector<std::uint32_t> pods;
    for (const std::uint32_t slot : book.live_on(node)) {
        const booking& running = book.bookings()[slot];
        if (!device || uses(running, *device)) pods.push_back(running.owner.pod().value());
    }
    return pods;
}

std::vector<std::uint32_t> hit_by_fault_of(const ledger& book, pod_id pod) {
    const vgpualloc::placement& where = book.booking_of(pod).where;
    const auto mode_of = [&](device_index device) -> const vgpualloc::sharing_mode& {
        return *book.nodes().spec_of(where.node, device).mode;
    };
    std::set<std::uint32_t> pods{pod.value()};
    std::set<device_index> followed; // devices of all whom the fault ends, if it follows them
    const auto follow = [&](const booking& ended) {
        for (const auto& share : ended.where.shares) {
            if (mode_of(share.device).faults_follow_clients()) followed.insert(share.device);
        }
    };
    for (const std::uint32_t slot : book.live_on(where.node)) {
        const booking& running = book.bookings()[slot];
        for (const auto& share : where.shares) {
            const bool is_hit =
                mode_of(share.device).shares_faults() &&
                std::ranges::any_of(running.where.shares, [&](const auto& other) {
                    return other.device == share.device && mode_of(share.device).fault_reaches(share.part, other.part);
                });
            if (!is_hit) continue;
            pods.insert(running.owner.pod().value());
            if (mode_of(share.device).faults_follow_clients()) follow(running);
        }
    }
    for (const device_index device : followed) {
        for (const std::uint32_t user : running_on(book, where.node, device)) pods.insert(user);
    }
    return {pods.begin(), pods.end()};
}

} // namespace vgpusim
