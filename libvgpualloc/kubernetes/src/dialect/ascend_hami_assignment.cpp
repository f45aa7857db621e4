// The ascend_hami dialect: the annotations that say which chips a pod has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "ascend_hami_parts.hpp"
#include "hami_annotation.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::ascend_hami {

namespace {

using vgpuformats::document;
constexpr const char* allocated_suffix = "-devices-allocated";

/// By ascending memory: the order that template numbers count in.
std::vector<npu_template> by_memory(std::vector<npu_template> templates) {
    std::ranges::stable_sort(templates, {}, &npu_template::memory);
    return templates;
}

/// A memory that is no template's is a problem, but what was charged is counted: the card is in use.
partition part_of(const hami_text::record& from, const kind& npus, bool soft, const std::string& where,
                  std::vector<error>& problems) {
    const mib memory{from.memory};
    const core_percent cores{from.cores};
    if (soft) return slice{.memory = memory, .cores = cores};
    const auto templates = by_memory(npus.npu.templates);
    const auto cut = std::ranges::find(templates, memory, &npu_template::memory);
    if (cut != templates.end() || memory == npus.npu.memory_allocatable) {
        return vir_template{
            .index = static_cast<std::uint32_t>(cut - templates.begin()), .memory = memory, .cores = cores};
    }
    problems.push_back(bad_value(error_code::mismatch, std::string{from.uuid} + " memory", std::to_string(from.memory),
                                 "the memory of a template of " + npus.npu.name + " or of a whole card (" +
                                     std::to_string(npus.npu.memory_allocatable.count()) + ")")
                           .at(where));
    return slice{.memory = memory, .cores = cores};
}

/// The shares of one kind; the first of its entries has number `first` in the request.
void read_kind(const kubernetes::pod& pod, const kind& npus, const hami_text::container_entries& containers,
               std::uint32_t first, std::span<const device_registration> devices, assignment_reading& reading) {
    const std::string key = "hami.io/" + npus.npu.name + allocated_suffix;
    const auto annotation = pod.annotations.find(key);
    if (annotation == pod.annotations.end()) return;
    const std::string where = hami_text::place(pod, "annotation", key);
    const auto parts = hami_text::read_parts(annotation->second, where, reading.problems);
    const auto owners = hami_text::containers_of_parts(parts.size(), containers, where, reading.problems);
    std::vector<device_share> shares_at_init;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool asks = owners[i] && containers.owners[*owners[i]];
        const std::uint32_t entry = asks ? *containers.owners[*owners[i]] : 0;
        const bool at_init = asks && containers.at_init[*owners[i]];
        if (at_init && pod.initialized) continue; // it is free again
        std::set<std::string_view> seen;
        for (const hami_text::record& record : parts[i]) {
            const auto problem = [&](error_code code, std::string expected_text) {
                reading.problems.push_back(
                    bad_value(code, "container part " + std::to_string(i), record.uuid, std::move(expected_text))
                        .at(where));
            };
            if (!seen.insert(record.uuid).second) {
                problem(error_code::duplicate, "different devices");
                continue;
            }
            // What the annotation says is in use is in use, whoever asked for it.
            if (!asks) problem(error_code::mismatch, "no device: it asks for none");
            const auto device = hami_text::find_device(devices, npus.npu.name, record.uuid, where, reading.problems);
            if (!device) continue;
            const partition part =
                part_of(record, npus, soft_pod(pod) || devices[device->at()].soft_only, where, reading.problems);
            auto& shares = at_init ? shares_at_init : reading.shares;
            const std::uint32_t container = asks ? entry : static_cast<std::uint32_t>(i);
            shares.push_back({.container = first + container, .device = *device, .part = part});
        }
    }
    for (const device_share& share : shares_at_init) hami_text::add_at_init(share, reading.shares);
}

const vir_template& template_in(const partition& part) {
    const auto* cut = std::get_if<vir_template>(&part);
    VGA_ASSERT(cut != nullptr, "a share of an NPU is a template or a slice");
    return *cut;
}

/// An entry of the list that the container runtime reads.
document runtime_entry(const device_registration& device, const partition& part) {
    document entry = document::map({{"UUID", device.uuid}});
    if (const auto* soft = std::get_if<slice>(&part)) {
        if (soft->memory != mib{0}) entry["memory"] = soft->memory.count();
        if (soft->cores != core_percent{0}) entry["core"] = soft->cores.count();
    } else {
        const auto templates = by_memory(device.npu.templates);
        const auto index = template_in(part).index;
        if (index < templates.size()) entry["temp"] = templates[index].name;
    }
    return entry;
}

hami_text::record record_of(const device_registration& device, const partition& part) {
    hami_text::record record{.uuid = device.uuid, .word = device.family};
    if (const auto* soft = std::get_if<slice>(&part)) {
        record.memory = soft->memory.count();
        record.cores = soft->cores.count();
    } else {
        const vir_template& cut = template_in(part);
        record.memory = cut.memory.count();
        record.cores = cut.cores.count();
    }
    return record;
}

} // namespace

assignment_reading ascend_dialect::read_assignment(const kubernetes::pod& pod,
                                                   std::span<const device_registration> devices) const {
    assignment_reading result;
    std::uint32_t first = 0;
    for (const kind& npus : options_.kinds) {
        const auto containers = hami_text::or_nothing(read_all_containers(pod, npus, options_), pod);
        read_kind(pod, npus, containers, first, devices, result);
        first += static_cast<std::uint32_t>(containers.entries.size());
    }
    // By kind, then in the order written; a part may stand before that of an earlier container only by kind.
    std::ranges::stable_sort(result.shares, {}, &device_share::container);
    return result;
}

kubernetes::text_map ascend_dialect::write_assignment(const kubernetes::pod& pod,
                                                      std::span<const device_registration> devices,
                                                      const decision& decided) const {
    kubernetes::text_map written;
    std::uint32_t first = 0;
    for (const kind& npus : options_.kinds) {
        const auto containers = hami_text::or_nothing(read_all_containers(pod, npus, options_), pod);
        if (containers.entries.empty()) continue;
        std::string list;
        document runtime = document::list();
        for (std::size_t part = 0; part < containers.own.size(); ++part) {
            if (!containers.own[part] && !options_.empty_parts) continue;
            std::int64_t record = 0;
            for (const device_share& share : decided.shares) {
                if (!containers.owners[part] || share.container != first + *containers.owners[part]) continue;
                if (hami_text::has_all_its_devices(containers, part, record)) continue;
                const device_registration& device = devices[share.device.at()];
                const partition own = hami_text::part_of_container(containers, part, share.part, device.memory);
                hami_text::append(list, record_of(device, own));
                runtime.push_back(runtime_entry(device, own));
                ++record;
            }
            list += ';';
        }
        first += static_cast<std::uint32_t>(containers.entries.size());
        written["hami.io/" + npus.npu.name + "-devices-to-allocate"] = list;
        written["hami.io/" + npus.npu.name + allocated_suffix] = list;
        written["huawei.com/" + npus.npu.name] = vgpuformats::print_json(runtime);
    }
    if (written.empty()) return written;
    written["predicate-time"] = decided.time;
    written["hami.io/vgpu-node"] = decided.node;
    written["hami.io/vgpu-time"] = decided.time;
    written["hami.io/bind-time"] = decided.time;
    written["hami.io/bind-phase"] = "allocating";
    return written;
}

} // namespace vgpualloc::dialects::ascend_hami
