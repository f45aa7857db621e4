// Dialects both ways: what a node registers is read, written and read again as the same; what a bound pod's annotations
// say is read as shares, written as annotations and read again as the same shares.
//
// An input is lines of a letter, a blank and what it says:
//   N key=value   annotation of the node       A key=value   annotation of the pod
//   T key=value   label of the node            L key=value   label of the pod
//   R key=value   allocatable of the node      M key=value   data of the node's ConfigMap
//   C key=number,key=number   a container with these limits; I: an init container
//   G   A100s are cut in the groups of a device configuration
#include "fuzz.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/limits.hpp"

namespace {

using fuzzing::require;
using vgpualloc::device_registration;
using vgpualloc::dialect;
namespace kubernetes = vgpualloc::kubernetes;

struct subjects {
    kubernetes::node node;
    kubernetes::pod pod;
    kubernetes::text_map config_map;
    bool in_groups = false;
};

std::pair<std::string, std::string> split_at_equals(std::string_view entry) {
    const std::size_t cut = std::min(entry.find('='), entry.size());
    return {std::string{entry.substr(0, cut)}, std::string{entry.substr(std::min(cut + 1, entry.size()))}};
}

kubernetes::container read_container(std::string_view limits, std::size_t number) {
    kubernetes::container result;
    result.name = "c" + std::to_string(number);
    while (!limits.empty()) {
        const std::size_t cut = std::min(limits.find(','), limits.size());
        const auto [key, text] = split_at_equals(limits.substr(0, cut));
        limits.remove_prefix(std::min(cut + 1, limits.size()));
        std::int64_t amount = 0;
        std::from_chars(text.data(), text.data() + text.size(), amount);
        result.limits[key] = amount;
    }
    return result;
}

subjects read_subjects(std::string_view input) {
    subjects result;
    result.node.name = "n";
    result.pod.name = "p";
    result.pod.ns = "default";
    while (!input.empty()) {
        const std::size_t end = std::min(input.find('\n'), input.size());
        const std::string_view line = input.substr(0, end);
        input.remove_prefix(std::min(end + 1, input.size()));
        if (line == "G") result.in_groups = true;
        if (line.size() < 2) continue;
        const std::string_view rest = line.substr(2);
        const auto [key, value] = split_at_equals(rest);
        switch (line.front()) {
        case 'N':
            result.node.annotations[key] = value;
            break;
        case 'T':
            result.node.labels[key] = value;
            break;
        case 'R':
            result.node.allocatable[key] = value;
            result.node.capacity[key] = value;
            break;
        case 'M':
            result.config_map[key] = value;
            break;
        case 'A':
            result.pod.annotations[key] = value;
            break;
        case 'L':
            result.pod.labels[key] = value;
            break;
        case 'C':
            result.pod.containers.push_back(read_container(rest, result.pod.containers.size()));
            break;
        case 'I':
            result.pod.init_containers.push_back(read_container(rest, result.pod.init_containers.size()));
            break;
        default:
            break;
        }
    }
    return result;
}

/// JSON is, so what it cannot hold unchanged is not.
bool is_utf8(std::string_view text) {
    const auto read = vgpuformats::parse_json(vgpuformats::print_json(text), "text");
    return read.has_value() && read->text == text;
}

void require_readable(const std::vector<vgpualloc::error>& failures) {
    for (const vgpualloc::error& failure : failures) fuzzing::require_readable(failure);
}

/// The devices of the node, or none where it says something that a device plugin would not write.
std::vector<device_registration> read_devices(const dialect& reader, const subjects& input) {
    const kubernetes::pod* const pods[] = {&input.pod};
    const auto reading = reader.read_node({.object = input.node, .config_map = &input.config_map, .pods = pods});
    require_readable(reading.problems);
    require_readable(reading.warnings);
    if (reading.devices.empty()) return {};
    require(reading.indices.empty() || reading.indices.size() == reading.devices.size(), "every device has an index");
    if (!reading.problems.empty() || !reading.warnings.empty()) return {};
    const auto has_slots = [](const device_registration& device) { return device.slots > 0; };
    if (std::ranges::none_of(reading.devices, has_slots)) return {}; // of their resource the node would offer 0
    kubernetes::node registering;
    registering.name = input.node.name;
    kubernetes::text_map config_map;
    reader.write_node(reading.devices, registering, config_map);
    const auto again = reader.read_node({.object = registering, .config_map = &config_map});
    require(again.problems.empty() && again.devices == reading.devices, "devices are registered as they were read");
    return reading.devices;
}

/// A ledger of the node, where its devices are within the library's limits.
std::optional<vgpualloc::ledger> book_of(const std::vector<device_registration>& devices) {
    vgpualloc::cluster nodes;
    vgpualloc::node offered{.name = "n", .cpu = {}, .memory = {}};
    for (const device_registration& device : devices) {
        const auto added = vgpualloc::add_device(nodes, offered, device, vgpualloc::built_in_mig_catalog());
        if (!added) {
            fuzzing::require_readable(added.error());
            return std::nullopt;
        }
    }
    nodes.nodes.push_back(std::move(offered));
    if (!vgpualloc::check_cluster(nodes)) return std::nullopt;
    return vgpualloc::ledger{std::move(nodes)};
}

void adopt(const std::vector<device_registration>& devices, const std::vector<vgpualloc::device_share>& shares) {
    auto book = book_of(devices);
    if (!book) return;
    vgpualloc::booking running{.owner = vgpualloc::pod_id{0}};
    running.where.node = vgpualloc::node_index{0};
    for (const vgpualloc::device_share& share : shares) running.where.shares.push_back(share);
    if (!book->adopt(std::move(running))) return;
    book->check();
    require(book->release(vgpualloc::pod_id{0}).has_value(), "what was adopted can be released");
    book->check();
}

/// The annotations that carry shares.
kubernetes::text_map written(const dialect& writer, const kubernetes::pod& pod,
                             const std::vector<device_registration>& devices,
                             const std::vector<vgpualloc::device_share>& shares) {
    return writer.write_assignment(pod, devices, {.node = "n", .time = "1700000000", .shares = shares});
}

/// Shares but for the compute of MIG instances that the catalog defines: an annotation may say any, what is charged is
/// the instance's own.
std::vector<vgpualloc::device_share> without_charges(std::vector<vgpualloc::device_share> shares,
                                                     const std::vector<device_registration>& devices) {
    for (vgpualloc::device_share& share : shares) {
        auto* const instance = std::get_if<vgpualloc::mig_instance>(&share.part);
        if (instance != nullptr && devices[share.device.at()].geometry.empty()) instance->cores = {};
    }
    return shares;
}

void read_assignment(const dialect& reader, const subjects& input, const std::vector<device_registration>& devices) {
    const auto reading = reader.read_assignment(input.pod, devices);
    require_readable(reading.problems);
    for (const vgpualloc::device_share& share : reading.shares) {
        require(share.device.at() < devices.size(), "a share is of a device that is there");
    }
    adopt(devices, reading.shares);
    const auto request = reader.read_pod(input.pod);
    if (!request) return fuzzing::require_readable(request.error());
    static_cast<void>(reader.tags_of(input.pod, *request, reading.shares));
    if (!reading.problems.empty() || reading.shares.empty()) return;
    const auto annotations = written(reader, input.pod, devices, reading.shares);
    kubernetes::pod bound = input.pod;
    for (const auto& [key, text] : annotations) bound.annotations[key] = text;
    const auto again = reader.read_assignment(bound, devices);
    require(again.problems.empty(), "an assignment that is written can be read");
    require(without_charges(again.shares, devices) == without_charges(reading.shares, devices),
            "an assignment is written as it was read");
    require(written(reader, bound, devices, again.shares) == annotations, "an assignment is written the same again");
}

vgpualloc::dialect_set dialects_with_groups() {
    using vgpualloc::mib;
    auto config = vgpualloc::make_dialect_config();
    config.devices.vgpu.geometries = {
        {.models = {"A100"},
         .groups = {{.name = "group1", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
                    {.name = "group-2",
                     .kinds = {{.name = "2g.10gb", .memory = mib{10240}, .count = 3},
                               {.name = "1g.5gb", .memory = mib{5120}, .count = 1}}}}}};
    config.devices.hami_vnpu_core = true;
    return vgpualloc::dialect_set{std::move(config)};
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    if (!is_utf8(input)) return; // texts of Kubernetes objects are
    const subjects read = read_subjects(input);
    static const vgpualloc::dialect_set plain;
    static const vgpualloc::dialect_set with_groups = dialects_with_groups();
    const vgpualloc::dialect_set& dialects = read.in_groups ? with_groups : plain;
    for (const auto& reader : dialects) {
        const auto devices = read_devices(*reader, read);
        if (reader->requests(read.pod)) {
            const auto request = reader->read_pod(read.pod);
            if (!request) ::require_readable({request.error()});
            read_assignment(*reader, read, devices);
        }
        static_cast<void>(reader->extended_of(read.node));
        static_cast<void>(reader->extended_of(read.pod));
        static_cast<void>(reader->deviceshare(read.pod));
        static_cast<void>(reader->binding_node(read.pod));
    }
    static_cast<void>(dialects.resources_not_read(read.pod));
}
