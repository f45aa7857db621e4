// Figures as JSON.
#include "figures_json.hpp"

namespace vgpualloc {

using vgpuformats::document;

namespace {

document share_json(const live_share& share) {
    return document::map({{"uid", share.uid},
                          {"namespace", share.ns},
                          {"pod", share.pod},
                          {"container", share.container},
                          {"kind", share.part.kind},
                          {"name", share.part.name},
                          {"group", share.part.group},
                          {"start", share.part.start},
                          {"memory_mib", share.part.memory.count()},
                          {"cores", share.part.cores},
                          {"part", share.part.words},
                          {"reserved", share.reserved}});
}

document device_json(const live_device& device) {
    document object = document::map({{"index", device.index},
                                     {"uuid", device.uuid},
                                     {"model", device.model},
                                     {"family", device.family},
                                     {"mode", device.mode},
                                     {"dialect", device.dialect},
                                     {"healthy", device.healthy},
                                     {"overcommitted", device.overcommitted},
                                     {"memory_mib", device.memory.count()},
                                     {"memory_used_mib", device.memory_used.count()},
                                     {"cores", device.cores},
                                     {"cores_used", device.cores_used},
                                     {"slots", device.slots},
                                     {"slots_used", device.slots_used},
                                     {"used_milli", device.used.count()},
                                     {"shares", document::list()}});
    for (const live_share& share : device.shares) object["shares"].push_back(share_json(share));
    return object;
}

} // namespace

document figures_json(const live_figures& figures) {
    document nodes = document::list();
    for (const live_node& node : figures.nodes) {
        document object = document::map({{"name", node.name},
                                         {"cpu_milli", node.cpu.count()},
                                         {"cpu_used_milli", node.cpu_used.count()},
                                         {"pods", node.pods},
                                         {"unusable_milli", node.unusable_milli},
                                         {"devices", document::list()}});
        for (const live_device& device : node.devices) object["devices"].push_back(device_json(device));
        nodes.push_back(std::move(object));
    }
    document stranded = document::list();
    for (const auto& [profile, slices] : figures.stranded_slices) {
        stranded.push_back(document::map({{"profile", profile}, {"slices", slices}}));
    }
    return document::map({{"nodes", std::move(nodes)},
                          {"stranded_slices", std::move(stranded)},
                          {"pods_waiting", figures.pods_waiting},
                          {"pods_reserved", figures.pods_reserved},
                          {"pods_committed", figures.pods_committed}});
}

} // namespace vgpualloc
