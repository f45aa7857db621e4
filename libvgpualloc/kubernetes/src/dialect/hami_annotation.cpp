// What the dialects of HAMi's family share.
#include "hami_annotation.hpp"

#include <algorithm>
#include <utility>

#include "text.hpp"

namespace vgpualloc::dialects::hami_text {

namespace {

std::string joined(std::string object, std::string_view kind, std::string_view name) {
    if (!kind.empty()) object += ", " + std::string{kind} + " " + std::string{name};
    return object;
}

/// Owners where there is a part for each container from the `first`-th on, counting init containers.
std::vector<std::optional<std::uint32_t>> owners_by_position(std::size_t before, const askers& containers) {
    std::vector<std::optional<std::uint32_t>> owners(before);
    std::uint32_t next = 0;
    for (const bool asks : containers.regular) {
        owners.push_back(asks ? std::optional{next} : std::nullopt);
        if (asks) ++next;
    }
    return owners;
}

} // namespace

std::string place(const kubernetes::pod& pod, std::string_view kind, std::string_view name) {
    return joined("pod " + (pod.ns.empty() ? "" : pod.ns + "/") + pod.name, kind, name);
}

std::string place(const kubernetes::node& node, std::string_view kind, std::string_view name) {
    return joined("node " + node.name, kind, name);
}

expected<std::optional<std::int64_t>> amount(const kubernetes::pod& pod, const kubernetes::container& container,
                                             const std::string& resource, mib unit) {
    if (resource.empty()) return std::nullopt;
    for (const kubernetes::amount_map* amounts : {&container.limits, &container.requests}) {
        const auto entry = amounts->find(resource);
        if (entry == amounts->end()) continue;
        if (entry->second >= 0 && entry->second <= amount_max) return entry->second;
        const std::string written = kubernetes::written_of(container, resource, entry->second);
        return unexpected(bad_value(error_code::out_of_range, resource, written,
                                    unit > mib{0} ? text::memory_expected(written, unit, amount_max)
                                                  : "a whole number from 0 to " + std::to_string(amount_max))
                              .at(place(pod, "container", container.name)));
    }
    return std::nullopt;
}

void check_privileged(const kubernetes::pod& pod, request_findings& findings) {
    if (kubernetes::value_of(pod.labels, "hami.io/webhook") == "ignore") return;
    for (const kubernetes::container* container : text::all_containers(pod)) {
        if (!container->privileged) continue;
        findings.errors.push_back(bad_value(error_code::unsupported, "securityContext.privileged", "true",
                                            "no privileged container in a pod that asks for devices: HAMi's webhook "
                                            "refuses it (label hami.io/webhook: ignore passes it by)")
                                      .at("container " + container->name));
    }
}

std::vector<std::vector<record>> read_parts(std::string_view annotation, const std::string& where,
                                            std::vector<error>& problems) {
    std::vector<std::vector<record>> parts;
    if (annotation.empty()) return parts;
    for (const std::string_view part : text::split_closed(annotation, ';')) {
        std::vector<record> records;
        for (const std::string_view entry : text::split_closed(part, ':')) {
            const auto fields = text::split(entry, ',');
            const auto memory = fields.size() >= 4 ? text::whole_number(fields[2], amount_max) : std::nullopt;
            const auto cores = fields.size() >= 4 ? text::whole_number(fields[3], amount_max) : std::nullopt;
            if (!memory || !cores || fields[0].empty()) {
                problems.push_back(bad_value(error_code::malformed, "container part " + std::to_string(parts.size()),
                                             entry, "uuid,word,memory,cores with whole numbers")
                                       .at(where));
                continue;
            }
            records.push_back({.uuid = fields[0], .word = fields[1], .memory = *memory, .cores = *cores});
        }
        parts.push_back(std::move(records));
    }
    return parts;
}

void append(std::string& text, const record& added) {
    text += added.uuid;
    text += ',';
    text += added.word;
    text += ',' + std::to_string(added.memory) + ',' + std::to_string(added.cores) + ':';
}

std::vector<std::optional<std::uint32_t>> owners_of_parts(std::size_t parts, const askers& containers,
                                                          const std::string& where, std::vector<error>& problems) {
    const auto asking = static_cast<std::size_t>(std::ranges::count(containers.regular, true));
    if (parts != asking) {
        if (parts == containers.regular.size()) return owners_by_position(0, containers);
        const std::size_t all = containers.init_containers + containers.regular.size();
        if (parts == all) return owners_by_position(containers.init_containers, containers);
        problems.push_back(
            bad_value(error_code::mismatch, "", std::to_string(parts) + " container parts",
                      std::to_string(asking) + " (containers that ask) or " + std::to_string(all) + " (all containers)")
                .at(where));
    }
    std::vector<std::optional<std::uint32_t>> owners;
    for (std::uint32_t i = 0; i < parts; ++i) owners.emplace_back(i);
    return owners;
}

std::optional<device_index> find_device(std::span<const device_registration> devices, std::string_view family,
                                        std::string_view uuid, const std::string& where, std::vector<error>& problems) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (devices[i].family == family && devices[i].uuid == uuid) return device_index{i};
    }
    problems.push_back(bad_value(error_code::unknown_name, "device", uuid,
                                 "a device of family " + std::string{family} + " that the node registers")
                           .at(where));
    return std::nullopt;
}

std::optional<vgpuformats::document> read_list(const std::string& annotation, const std::string& where,
                                               const char* expected_text, std::vector<error>& problems) {
    auto list = vgpuformats::parse_json(annotation, where);
    if (list && list->is_list()) return *std::move(list);
    problems.push_back(list ? bad_input(error_code::malformed, "", "no list", expected_text).at(where) : list.error());
    return std::nullopt;
}

vgpuformats::document registered_entry(const device_registration& device, std::size_t position) {
    vgpuformats::document entry = vgpuformats::document::map({{"id", device.uuid}});
    if (position > 0) entry["index"] = position;
    entry["count"] = device.slots;
    entry["devmem"] = device.memory.count();
    entry["devcore"] = device.cores.count();
    entry["type"] = device.model;
    return entry;
}

std::string binding_node(const kubernetes::pod& pod) {
    return text::binding_node(pod, "hami.io/vgpu-node", "hami.io/bind-phase");
}

} // namespace vgpualloc::dialects::hami_text
