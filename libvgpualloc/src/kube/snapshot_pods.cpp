// The pods of a snapshot: what they ask for, where they are and what they have.
#include <algorithm>
#include <array>
#include <utility>

#include "snapshot_parts.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::device_share;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;
using vgputraces::manifest;
namespace kubernetes = vgpualloc::kubernetes;

namespace {

std::string label_of(const manifest& pod) { return pod.place + ": pod " + namespace_of(pod) + "/" + pod.name; }

std::vector<const manifest_dialect*> dialects_of(const kubernetes::pod& pod,
                                                 const std::vector<manifest_dialect>& dialects) {
    std::vector<const manifest_dialect*> asked;
    for (const manifest_dialect& each : dialects) {
        if (each.requests(pod)) asked.push_back(&each);
    }
    return asked;
}

/// Which container each entry of a request is of. A dialect may order the entries as it likes, but what a container
/// asks for alone it asks for in the pod as well.
std::vector<std::string> names_of(const kubernetes::pod& pod, const manifest_dialect& dialect,
                                  const std::vector<device_request>& entries) {
    std::vector<std::string> names(entries.size());
    if (dialect.whole_pod) return names;
    std::vector<bool> named(entries.size(), false);
    for (const kubernetes::container& each : pod.containers) {
        kubernetes::pod part = pod;
        part.containers = {each};
        const auto alone = dialect.read_pod(part);
        if (!alone) continue;
        for (const device_request& wanted : alone->containers) {
            for (std::size_t i = 0; i < entries.size(); ++i) {
                if (named[i] || entries[i] != wanted) continue;
                named[i] = true;
                names[i] = each.name;
                break;
            }
        }
    }
    return names;
}

} // namespace

std::string namespace_of(const manifest& object) { return object.ns.empty() ? "default" : object.ns; }

std::string node_of(const manifest& pod) {
    if (!pod.node_name.empty() || !pod.pod) return pod.node_name;
    struct spelling {
        const char* node;
        const char* phase;
    };
    constexpr std::array spellings{spelling{"volcano.sh/vgpu-node", "volcano.sh/bind-phase"},
                                   spelling{"hami.io/vgpu-node", "hami.io/bind-phase"}};
    for (const spelling& each : spellings) {
        // A pod that could not be bound is to be scheduled anew; its annotations stay.
        if (kubernetes::value_of(pod.pod->annotations, each.phase) == "failed") continue;
        const std::string& node = kubernetes::value_of(pod.pod->annotations, each.node);
        if (!node.empty()) return node;
    }
    return {};
}

vgpualloc::expected<snapshot_pod> read_request(const manifest& of, const std::vector<manifest_dialect>& dialects) {
    snapshot_pod made{.ns = namespace_of(of),
                      .name = of.name,
                      .place = of.place,
                      .dialect = {},
                      .object = *of.pod,
                      .request = {},
                      .container_names = {}};
    const auto asked = dialects_of(*of.pod, dialects);
    if (asked.size() > 1) {
        std::string names;
        for (const manifest_dialect* each : asked) names += (names.empty() ? "" : ", ") + each->name;
        return unexpected(error{.code = error_code::unsupported,
                                .where = label_of(of),
                                .field = "resources",
                                .value = names,
                                .expected = "devices of one dialect in a pod"});
    }
    if (!asked.empty()) {
        auto request = asked.front()->read_pod(*of.pod);
        if (!request) {
            error failure = std::move(request).error();
            failure.where = of.place + (failure.where.empty() ? "" : ": " + failure.where);
            return unexpected(std::move(failure));
        }
        made.dialect = asked.front()->name;
        made.request = *std::move(request);
        made.container_names = names_of(*of.pod, *asked.front(), made.request.containers);
    }
    made.request.cpu = of.cpu;
    made.request.memory = to_bytes(of.memory);
    return made;
}

vgpualloc::placement read_placement(const manifest& of, vgpualloc::node_index where, const snapshot_nodes& nodes,
                                    const std::vector<manifest_dialect>& dialects, std::vector<error>& warnings) {
    vgpualloc::placement made{.node = where, .shares = {}};
    const auto refuse = [&](const manifest_dialect& dialect, const std::string& uuid, std::string expected) {
        warnings.push_back({.code = error_code::mismatch,
                            .where = label_of(of),
                            .field = "devices in dialect " + dialect.name,
                            .value = uuid,
                            .expected = std::move(expected)});
    };
    for (std::size_t i = 0; i < dialects.size(); ++i) {
        if (!dialects[i].requests(*of.pod)) continue;
        const dialect_devices& own = nodes.by_dialect[where.at()][i];
        auto read = dialects[i].read_assignment(*of.pod, own.registered);
        for (error& each : read.problems) {
            each.where = of.place + (each.where.empty() ? "" : ": " + each.where);
            warnings.push_back(std::move(each));
        }
        for (device_share& share : read.shares) {
            const std::string& uuid = own.registered[share.device.at()].uuid;
            const auto device = own.index[share.device.at()];
            if (!device) {
                refuse(dialects[i], uuid, "a device that could be read; not counted");
                continue;
            }
            share.device = *device;
            const auto& spec = nodes.nodes.spec_of(where, *device);
            if (spec.mode->why_not(spec, {}, share.part).code == vgpualloc::rejection_code::mode_not_offered) {
                refuse(dialects[i], uuid,
                       "a part that its mode " + std::string{spec.mode->name()} + " knows; not counted");
                continue;
            }
            made.shares.push_back(share);
        }
    }
    return made;
}

} // namespace vgpusim
