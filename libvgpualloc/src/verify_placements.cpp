// The independent checker. Works from the log's live bookings and the cluster's capacities alone.
#include "vgpualloc/verify/placements.hpp"

#include <cstddef>
#include <set>
#include <utility>

namespace vgpualloc::verify {

namespace {

struct device_sum {
    std::int64_t memory_mib = 0;
    std::int64_t cores_percent = 0;
    std::int64_t users = 0;
    bool whole = false;
};

struct node_sum {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t pods = 0;
    std::vector<device_sum> devices;
};

/// Which bookings are live, read from the events alone; a non-empty text names the event that cannot be.
std::string live_bookings(const ledger& book, std::vector<std::size_t>& live) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> open; // pod, booking
    for (const ledger_event& event : book.events()) {
        const pod_id pod = book.bookings()[event.booking].pod;
        const std::pair key{pod.value(), event.booking};
        if (event.kind == ledger_event_kind::reserve) {
            const auto next = open.lower_bound({pod.value(), 0});
            if (next != open.end() && next->first == pod.value())
                return "pod " + std::to_string(pod.value()) + " is live twice";
            open.insert(key);
        } else if (event.kind != ledger_event_kind::commit && open.erase(key) == 0) {
            return "pod " + std::to_string(pod.value()) + " ends without having begun";
        }
    }
    for (const auto& [pod, booking] : open) live.push_back(booking);
    return "";
}

std::string add_share(const device_share& share, const cluster& owned, node_index where, device_sum& sum) {
    const device_spec& spec = owned.spec_of(where, share.device);
    ++sum.users;
    if (const auto* part = std::get_if<slice>(&share.part)) {
        sum.memory_mib += part->memory.count();
        sum.cores_percent += part->cores.count();
    } else {
        sum.memory_mib += spec.memory.count();
        sum.cores_percent += spec.cores.count();
        sum.whole = true;
    }
    if (!spec.healthy) return "an unhealthy device is in use";
    return "";
}

std::string judge_device(const device_sum& sum, const device_spec& spec) {
    if (sum.memory_mib > spec.memory.count()) return "device memory is overcommitted";
    if (sum.cores_percent > spec.cores.count()) return "device compute is overcommitted";
    if (sum.users > spec.slots && !sum.whole) return "a device has more users than slots";
    if (sum.whole && sum.users > 1) return "a whole device has several users";
    return "";
}

std::string judge_node(const node_sum& sum, const node& owned, const cluster& all, node_index where,
                       const ledger& book) {
    if (sum.cpu_milli > owned.cpu.count()) return "host CPU is overcommitted";
    if (sum.memory_mib > owned.memory.count()) return "host memory is overcommitted";
    if (sum.pods > owned.pods_max) return "the pod limit is exceeded";
    for (std::size_t d = 0; d < sum.devices.size(); ++d) {
        if (auto broken = judge_device(sum.devices[d], all.spec_of(where, device_index{d})); !broken.empty())
            return broken;
        const device_state& counted = book.devices(where)[d];
        if (counted.memory.count() != sum.devices[d].memory_mib ||
            counted.cores.count() != sum.devices[d].cores_percent || counted.slots != sum.devices[d].users) {
            return "the counted use of a device is not the sum of its pods";
        }
    }
    const host_use& host = book.host(where);
    if (host.cpu.count() != sum.cpu_milli || host.memory.count() != sum.memory_mib || host.pods != sum.pods) {
        return "the counted use of a host is not the sum of its pods";
    }
    return "";
}

} // namespace

std::string first_violation(const ledger& book) {
    const cluster& owned = book.nodes();
    std::vector<node_sum> sums(owned.nodes.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].devices.resize(owned.nodes[i].devices.size());
    std::vector<std::size_t> live;
    if (auto broken = live_bookings(book, live); !broken.empty()) return broken;
    for (const std::size_t position : live) {
        const booking& entry = book.bookings()[position];
        node_sum& sum = sums[entry.where.node.at()];
        sum.cpu_milli += entry.cpu.count();
        sum.memory_mib += entry.memory.count();
        ++sum.pods;
        std::set<std::pair<std::uint32_t, std::size_t>> used;
        for (const device_share& share : entry.where.shares) {
            const std::string pod = "pod " + std::to_string(entry.pod.value()) + ": ";
            if (share.device.at() >= sum.devices.size()) return pod + "a device that the node does not have";
            if (!used.emplace(share.container, share.device.at()).second) return pod + "a container has a device twice";
            auto broken = add_share(share, owned, entry.where.node, sum.devices[share.device.at()]);
            if (!broken.empty()) return pod + broken;
        }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        auto broken = judge_node(sums[i], owned.nodes[i], owned, node_index{i}, book);
        if (!broken.empty()) return "node " + owned.nodes[i].name + ": " + broken;
    }
    return "";
}

} // namespace vgpualloc::verify
