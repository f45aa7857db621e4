// Placements by name.
#include "vgpualloc/explain/named_place.hpp"

#include "vgpualloc/explain/part_words.hpp"

namespace vgpualloc::explaining {

using vgpuformats::document;

named_place name_place(const kube::snapshot& state, const placement& where) {
    named_place result{.node = state.nodes().nodes[where.node.at()].name};
    for (const device_share& share : where.shares) {
        const kube::snapshot_device& device = state.device(where.node, share.device);
        result.shares.push_back({.container = share.container,
                                 .device = device.index,
                                 .uuid = device.registered.uuid,
                                 .part = describe_part(state.nodes().spec_of(where.node, share.device), share.part)});
    }
    return result;
}

document place_json(const named_place& place) {
    document result = document::map({{"node", place.node}, {"shares", document::list()}});
    for (const explained_share& share : place.shares) {
        result["shares"].push_back(document::map({{"container", share.container},
                                                  {"device", share.device},
                                                  {"uuid", share.uuid},
                                                  {"kind", share.part.kind},
                                                  {"name", share.part.name},
                                                  {"memory_mib", share.part.memory.count()},
                                                  {"cores", share.part.cores},
                                                  {"words", share.part.words}}));
    }
    return result;
}

} // namespace vgpualloc::explaining
