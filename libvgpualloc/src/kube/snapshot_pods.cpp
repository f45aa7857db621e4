// The pods of a snapshot: what they ask for, where they are and what they have.
#include <utility>

#include "snapshot_parts.hpp"

namespace vgpualloc::kube {

namespace {

std::string label_of(const manifest& pod) { return pod.place + ": pod " + namespace_of(pod) + "/" + pod.name; }

/// A problem of an object, with the object's place before what the problem says of its own.
error placed(const manifest& object, error problem) {
    problem.where = object.place + (problem.where.empty() ? "" : ": " + problem.where);
    return problem;
}

/// Which container each entry of a request is of. A dialect may order the entries as it likes, but what a container
/// asks for alone it asks for in the pod as well.
std::vector<std::string> names_of(const kubernetes::pod& pod, const dialect& spoken,
                                  const std::vector<device_request>& entries) {
    std::vector<std::string> names(entries.size());
    if (spoken.asks_as_one()) return names;
    std::vector<bool> named(entries.size(), false);
    for (const kubernetes::container& container : pod.containers) {
        kubernetes::pod part = pod;
        part.containers = {container};
        const auto alone = spoken.read_pod(part);
        if (!alone) continue;
        for (const device_request& own_entry : alone->containers) {
            for (std::size_t i = 0; i < entries.size(); ++i) {
                if (named[i] || entries[i] != own_entry) continue;
                named[i] = true;
                names[i] = container.name;
                break;
            }
        }
    }
    return names;
}

} // namespace

expected<snapshot_pod> read_request(const manifest& object, const dialect_set& dialects) {
    snapshot_pod pod{.ns = namespace_of(object),
                     .name = object.name,
                     .place = object.place,
                     .dialect = {},
                     .object = *object.pod,
                     .request = {},
                     .container_names = {}};
    const auto asked_in = dialects.asked_by(*object.pod);
    if (asked_in.size() > 1) {
        std::string names;
        for (const std::size_t i : asked_in) names += (names.empty() ? "" : ", ") + std::string{dialects[i].name()};
        return unexpected(error{.code = error_code::unsupported,
                                .where = label_of(object),
                                .field = "resources",
                                .value = names,
                                .expected = "devices of one dialect in a pod"});
    }
    if (!asked_in.empty()) {
        const dialect& spoken = dialects[asked_in.front()];
        auto request = spoken.read_pod(*object.pod);
        if (!request) return unexpected(placed(object, std::move(request).error()));
        pod.dialect = spoken.name();
        pod.request = *std::move(request);
        pod.container_names = names_of(*object.pod, spoken, pod.request.containers);
    }
    pod.request.cpu = object.cpu;
    pod.request.memory = to_bytes(object.memory);
    return pod;
}

placement read_placement(const manifest& object, node_index where, const snapshot_nodes& nodes,
                         const dialect_set& dialects, std::vector<error>& warnings) {
    placement held{.node = where, .shares = {}};
    for (const std::size_t i : dialects.asked_by(*object.pod)) {
        const dialect_devices& own = nodes.by_dialect[where.at()][i];
        const auto refuse = [&](const std::string& uuid, std::string expected_text) {
            warnings.push_back({.code = error_code::mismatch,
                                .where = label_of(object),
                                .field = "devices in dialect " + std::string{dialects[i].name()},
                                .value = uuid,
                                .expected = std::move(expected_text)});
        };
        auto assignment = dialects[i].read_assignment(*object.pod, own.registered);
        for (error& problem : assignment.problems) warnings.push_back(placed(object, std::move(problem)));
        for (device_share& share : assignment.shares) {
            const std::string& uuid = own.registered[share.device.at()].uuid;
            const auto device = own.index[share.device.at()];
            if (!device) {
                refuse(uuid, "a device that could be read; not counted");
                continue;
            }
            share.device = *device;
            const auto& spec = nodes.nodes.spec_of(where, *device);
            if (spec.mode->why_not(spec, {}, share.part).code == rejection_code::mode_not_offered) {
                refuse(uuid, "a part that its mode " + std::string{spec.mode->name()} + " knows; not counted");
                continue;
            }
            held.shares.push_back(share);
        }
    }
    return held;
}

} // namespace vgpualloc::kube
