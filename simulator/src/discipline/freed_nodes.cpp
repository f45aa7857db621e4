#include "vgpusim/discipline/freed_nodes.hpp"

#include <algorithm>

#include "vgpualloc/model/device.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::ledger;

freed_nodes::asker freed_nodes::enter(const pod_request& request) {
    asker asking{.request = &request, .containers = {}};
    for (const device_request& container : request.containers) {
        if (container.count == 0) continue;
        const auto known = containers_.try_emplace(container).first;
        known->second.container = &known->first;
        asking.containers.push_back(&known->second);
    }
    return asking;
}

freed_nodes::node_changes& freed_nodes::note_change(node_index where, const ledger& book) {
    nodes_.resize(book.nodes().nodes.size());
    nodes_[where.at()].last_change = ++changes_;
    return nodes_[where.at()];
}

void freed_nodes::on_start(node_index where, const ledger& book) { note_change(where, book); }

void freed_nodes::on_end(node_index where, const ledger& book) {
    note_change(where, book).last_end = ends_.size();
    ends_.push_back(where);
}

/// Whether enough devices of the node serve the container, each by itself. Of more devices than this the allocator
/// knows faster.
bool freed_nodes::is_served(known_container& known, node_index where, const ledger& book) const {
    constexpr std::size_t devices_max = 32;
    const auto states = book.devices(where);
    if (states.size() > devices_max) return true;
    const device_request& container = *known.container;
    const std::uint64_t change = nodes_[where.at()].last_change;
    auto& serving = known.counts[change % known.counts.size()];
    if (serving.change != change) {
        serving = {.change = change};
        const auto services = book.services(where);
        const auto& devices = book.nodes().nodes[where.at()].devices;
        for (std::size_t i = 0; i < states.size() && serving.count < container.count; ++i) {
            const auto& spec = book.nodes().kinds[devices[i].kind];
            const auto answer = vgpualloc::why_not(spec, states[i], services[i], container);
            if (answer.code == rejection_code::none) ++serving.count;
        }
    }
    return serving.count >= container.count;
}

bool freed_nodes::may_fit(const asker& asking, std::size_t& read, const ledger& book) {
    const pod_request& request = *asking.request;
    for (; read < ends_.size(); ++read) {
        const node_index where = ends_[read];
        if (nodes_[where.at()].last_end != read ||
            book.why_not_host(where, request.cpu, request.memory).code != rejection_code::none)
            continue;
        const auto has_devices = [&](known_container* known) { return is_served(*known, where, book); };
        if (std::ranges::all_of(asking.containers, has_devices)) return true;
    }
    return false;
}

} // namespace vgpusim
