// Figures of living clusters.
#include "vgpualloc/live/live_figures.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/metrics/stranded_slices.hpp"

namespace vgpualloc {

namespace {

live_device describe_device(const live_cluster& cluster, node_index where, device_index which,
                            const kube::snapshot_device& known) {
    const ledger& book = cluster.book();
    const device_spec& spec = book.nodes().spec_of(where, which);
    const device_state& state = book.devices(where)[which.at()];
    return {.index = known.index,
            .uuid = known.registered.uuid,
            .model = spec.model,
            .family = spec.family,
            .mode = known.registered.mode,
            .dialect = known.dialect,
            .healthy = book.services(where)[which.at()] == service_state::in_service,
            .overcommitted = book.is_overcommitted(where, which),
            .memory = spec.memory,
            .memory_used = state.memory,
            .cores = spec.cores.count(),
            .cores_used = state.cores.count(),
            .slots = spec.slots,
            .slots_used = state.slots,
            .used = spec.mode->used(spec, state)};
}

/// The pod's parts, on the devices that they are of.
void add_shares(live_cluster& cluster, const std::string& uid, const booking& held, live_node& node) {
    const kube::snapshot_pod* const pod = cluster.pod_of(uid);
    for (const device_share& share : held.where.shares) {
        if (share.device.at() >= node.devices.size()) continue; // of a device that the node no longer names
        auto part =
            explaining::describe_part(cluster.book().nodes().spec_of(held.where.node, share.device), share.part);
        const bool named = share.container < pod->container_names.size();
        node.devices[share.device.at()].shares.push_back(
            {.uid = uid,
             .ns = pod->ns,
             .pod = pod->name,
             .container = named ? pod->container_names[share.container] : std::string{},
             .part = std::move(part),
             .reserved = !cluster.book().is_committed(held.owner)});
    }
}

} // namespace

live_figures figures_of(live_cluster& cluster) {
    const ledger& book = cluster.book();
    live_figures figures;
    std::map<std::uint32_t, live_node> nodes;
    stranded_slices slices{book.nodes()};
    std::vector<std::int64_t> stranded(slices.profiles().size());
    fragmentation_model fragmentation{cluster.learned()};
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        const node_index where{n};
        if (!book.is_present(where)) continue;
        const node& described = book.nodes().nodes[n];
        live_node& node = nodes[where.value()];
        node = {.name = described.name,
                .cpu = described.cpu,
                .cpu_used = book.host(where).cpu,
                .pods = book.host(where).pods};
        const auto known = cluster.view().devices_of(described.name);
        const std::size_t devices = std::min(known.size(), described.devices.size());
        for (std::size_t d = 0; d < devices; ++d) {
            node.devices.push_back(describe_device(cluster, where, device_index{d}, known[d]));
        }
        const node_view view = cluster.view_of(where);
        for (const device_view* const device : view.config->devices) slices.add(*device, stranded);
        if (!cluster.learned().typical.empty()) {
            node.unusable_milli = fragmentation.buckets(*view.config, view.cpu_left).unusable();
        }
    }
    for (const std::string& uid : cluster.pods()) {
        const live_pod_state state = cluster.state_of(uid);
        figures.pods_waiting += static_cast<std::int64_t>(state == live_pod_state::waiting);
        figures.pods_reserved += static_cast<std::int64_t>(state == live_pod_state::reserved);
        figures.pods_committed += static_cast<std::int64_t>(state == live_pod_state::committed);
        const booking* const held = cluster.booking_of(uid);
        if (held == nullptr) continue;
        if (const auto node = nodes.find(held->where.node.value()); node != nodes.end()) {
            add_shares(cluster, uid, *held, node->second);
        }
    }
    for (auto& [index, node] : nodes) figures.nodes.push_back(std::move(node));
    std::ranges::sort(figures.nodes, {}, &live_node::name);
    for (std::size_t i = 0; i < stranded.size(); ++i) {
        figures.stranded_slices.emplace_back(slices.profiles()[i], stranded[i]);
    }
    return figures;
}

} // namespace vgpualloc
