// What tests of a changing cluster compare: the ledger of a view with that of a snapshot of the same objects.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "vgpualloc/kube/cluster_view.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/ledger.hpp"

namespace kube_test {

/// Whether both ledgers have the same nodes with the same use; nodes and pods may be numbered otherwise. Empty text if
/// so, or else the first difference.
inline std::string difference(vgpualloc::kube::cluster_view& view, const vgpualloc::kube::snapshot& state) {
    using namespace vgpualloc;
    const ledger& expected_book = *state.book;
    ledger& book = view.book();
    if (book.live_count() != expected_book.live_count()) {
        return std::to_string(book.live_count()) + " pods instead of " + std::to_string(expected_book.live_count());
    }
    for (std::size_t i = 0; i < expected_book.nodes().nodes.size(); ++i) {
        const node& described = expected_book.nodes().nodes[i];
        const node_index where = book.find_node(described.name);
        if (!where.valid() || !book.is_present(where)) return "no node " + described.name;
        const node& have = book.nodes().nodes[where.at()];
        if (have.cpu != described.cpu || have.memory != described.memory || have.pods_max != described.pods_max ||
            have.host != described.host || have.devices.size() != described.devices.size()) {
            return "node " + described.name;
        }
        for (std::size_t d = 0; d < described.devices.size(); ++d) {
            const auto& spec = book.nodes().kinds[have.devices[d].kind];
            const auto& expected_spec = expected_book.nodes().kinds[described.devices[d].kind];
            if (have.devices[d].uuid != described.devices[d].uuid || spec.memory != expected_spec.memory ||
                spec.mode->name() != expected_spec.mode->name()) {
                return "device " + described.devices[d].uuid + " of " + described.name;
            }
        }
        if (!std::ranges::equal(book.devices(where), expected_book.devices(node_index{i})) ||
            !std::ranges::equal(book.services(where), expected_book.services(node_index{i})) ||
            book.host(where) != expected_book.host(node_index{i})) {
            return "the use of " + described.name;
        }
    }
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const std::string name = state.bound[i].pod.full_name();
        const booking* const live = book.find_booking(view.id_of(name));
        if (live == nullptr) return "no pod " + name;
        booking held = *live;
        const booking& expected_booking = expected_book.booking_of(pod_id{i});
        if (book.nodes().nodes[held.where.node.at()].name !=
            expected_book.nodes().nodes[expected_booking.where.node.at()].name) {
            return "the node of " + name;
        }
        held.owner = expected_booking.owner;
        held.where.node = expected_booking.where.node;
        if (held != expected_booking) return "the booking of " + name;
    }
    return {};
}

} // namespace kube_test
