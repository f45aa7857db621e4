// Dialects both ways: what a node registers is read, written and read again as the same; what a bound pod's annotations
// say is read as shares, written as annotations and read again as the same shares.
//
// An input is lines of a letter, a blank and what it says:
//   N key=value   annotation of the node       A key=value   annotation of the pod
//   T key=value   label of the node            L key=value   label of the pod
//   R key=value   allocatable of the node      M key=value   data of the node's ConfigMap
//   C key=number,key=number   a container with these limits; I: an init container
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

void require_readable(const std::vector<vgpualloc::error>& failures) {
    for (const vgpualloc::error& failure : failures) fuzzing::require_readable(failure);
}

/// The devices of the node, or none where it says something that a device plugin would not write.
std::vector<device_registration> read_devices(const dialect& reader, const subjects& input) {
    const kubernetes::pod* const pods[] = {&input.pod};
    const auto reading = reader.read_node({.object = input.node, .config_map = &input.config_map, .pods = pods});
    require_readable(reading.problems);
    require_readable(reading.warnings);
    require(reading.indices.empty() || reading.indices.size() == reading.devices.size(), "every device has an index");
    if (!reading.problems.empty() || !reading.warnings.empty()) return {};
    kubernetes::node registering;
    registering.name = input.node.name;
    kubernetes::text_map config_map;
    reader.write_node(reading.devices, registering, config_map);
    const auto again = reader.read_node({.object = registering, .config_map = &config_map});
    require(again.devices.size() <= reading.devices.size(), "no device comes of writing");
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
    vgpualloc::booking running{.pod = vgpualloc::pod_id{0}};
    running.where.node = vgpualloc::node_index{0};
    for (const vgpualloc::device_share& share : shares) running.where.shares.push_back(share);
    if (!book->adopt(std::move(running))) return;
    book->check();
    require(book->release(vgpualloc::pod_id{0}).has_value(), "what was adopted can be released");
    book->check();
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
    kubernetes::pod written = input.pod;
    const vgpualloc::dialects::decision decided{.node = "n", .time = "1700000000", .shares = reading.shares};
    for (const auto& [key, text] : reader.write_assignment(input.pod, devices, decided)) {
        written.annotations[key] = text;
    }
    const auto again = reader.read_assignment(written, devices);
    require(again.problems.empty() && again.shares == reading.shares, "an assignment is written as it was read");
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    const subjects read = read_subjects(input);
    static const vgpualloc::dialect_set dialects;
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
    ::require_readable(dialects.resources_not_read(read.pod));
}
