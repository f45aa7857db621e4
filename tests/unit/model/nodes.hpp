// Nodes that come, change and go: descriptions with uuids, and everything that can be read of a ledger as one value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace vgpualloc::test {

/// Kinds of devices by position: A and B are shared in software, the third is given out whole, the last is a smaller A.
inline constexpr std::uint32_t kind_a = 0;
inline constexpr std::uint32_t kind_b = 1;
inline constexpr std::uint32_t kind_whole = 2;
inline constexpr std::uint32_t kind_small = 3;

[[nodiscard]] inline cluster cluster_of_kinds() {
    cluster owned;
    owned.kind_of(gpu("A"));
    owned.kind_of(gpu("B"));
    owned.kind_of(gpu("A", 1, "exclusive"));
    device_spec small = gpu("A");
    small.memory = mib{5000};
    owned.kind_of(small);
    return owned;
}

/// A node of 32 CPUs and 64,000 bytes with a device of `kind` per uuid.
[[nodiscard]] inline node node_with(std::string name, const std::vector<std::string>& uuids,
                                    std::uint32_t kind = kind_a) {
    node described{.name = std::move(name), .cpu = milli_cpu{32000}, .memory = bytes{64000}};
    for (const std::string& uuid : uuids) described.devices.push_back({.uuid = uuid, .kind = kind});
    return described;
}

/// Reserves and commits a pod with that much memory of one device.
[[nodiscard]] inline bool run_on(ledger& book, std::uint32_t pod, node_index where, std::size_t device,
                                 std::int64_t memory = 1000) {
    return book.reserve(book_on(pod, where, {share_of_device(device, part(memory))})) && book.commit(pod_id{pod});
}

/// What a ledger says of one node.
struct node_image {
    node described;
    bool present = false;
    std::uint64_t rank = 0;
    host_use host;
    std::vector<device_state> devices;
    std::vector<service_state> services;
    std::vector<booking> bookings; ///< by pod
    bool host_over = false;
    std::vector<bool> devices_over;
    bool is_found = false; ///< by its name

    bool operator==(const node_image&) const = default;
};

/// What a ledger says of everything but its log.
struct ledger_image {
    std::vector<node_image> nodes;
    std::vector<std::pair<pod_id, bool>> pods; ///< and whether it is committed

    bool operator==(const ledger_image&) const = default;
};

[[nodiscard]] inline ledger_image image_of(ledger& book) {
    ledger_image image;
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
        const node_index where{i};
        node_image owner{.described = book.nodes().nodes[i],
                         .present = book.is_present(where),
                         .rank = book.rank_of(where),
                         .host = book.host(where),
                         .devices = {book.devices(where).begin(), book.devices(where).end()},
                         .services = {book.services(where).begin(), book.services(where).end()},
                         .bookings = {},
                         .host_over = book.is_overcommitted(where),
                         .devices_over = {},
                         .is_found = book.find_node(book.nodes().nodes[i].name) == where};
        for (const std::uint32_t slot : book.live_on(where)) owner.bookings.push_back(book.bookings()[slot]);
        std::ranges::sort(owner.bookings, {}, &booking::owner);
        for (std::size_t device = 0; device < owner.devices.size(); ++device) {
            owner.devices_over.push_back(book.is_overcommitted(where, device_index{device}));
        }
        image.nodes.push_back(std::move(owner));
    }
    for (const pod_id pod : book.live_pods()) image.pods.emplace_back(pod, book.is_committed(pod));
    return image;
}

/// The same with ranks counted from 0, for ledgers that gave other numbers in the same order.
[[nodiscard]] inline ledger_image with_ranks_in_order(ledger_image image) {
    std::vector<std::uint64_t> ranks;
    for (const node_image& owner : image.nodes) ranks.push_back(owner.rank);
    std::ranges::sort(ranks);
    for (node_image& owner : image.nodes) {
        owner.rank = static_cast<std::uint64_t>(std::ranges::lower_bound(ranks, owner.rank) - ranks.begin());
    }
    return image;
}

} // namespace vgpualloc::test
