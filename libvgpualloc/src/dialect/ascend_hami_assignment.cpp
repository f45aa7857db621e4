// The ascend_hami dialect: the annotations that say which chips a pod has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "ascend_hami_parts.hpp"
#include "hami_annotation.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::dialect::ascend_hami {

namespace {

constexpr const char* allocated_suffix = "-devices-allocated";

/// By ascending memory: the order that template numbers count in.
std::vector<npu_template> by_memory(std::vector<npu_template> templates) {
    std::ranges::stable_sort(templates, {}, &npu_template::memory);
    return templates;
}

/// Which regular containers ask for this kind; a container that cannot be read asks for nothing.
hami_text::askers askers_of(const kubernetes::pod& of, const kind& which, const options& with) {
    hami_text::askers result{.init_containers = of.init_containers.size(), .regular = {}};
    for (const kubernetes::container& in : of.containers) {
        const auto asked = read_container(of, in, which, with);
        result.regular.push_back(asked && asked->has_value());
    }
    return result;
}

/// A memory that is no template's is a problem, but what was charged is counted: the card is in use.
partition part_of(const hami_text::record& from, const kind& which, bool soft, const std::string& where,
                  std::vector<error>& problems) {
    const mib memory{from.memory};
    const core_percent cores{from.cores};
    if (soft) return slice{.memory = memory, .cores = cores};
    const auto templates = by_memory(which.npu.templates);
    const auto found = std::ranges::find(templates, memory, &npu_template::memory);
    if (found != templates.end() || memory == which.npu.memory_allocatable) {
        return vir_template{
            .index = static_cast<std::uint32_t>(found - templates.begin()), .memory = memory, .cores = cores};
    }
    problems.push_back({.code = error_code::mismatch,
                        .where = where,
                        .field = std::string{from.uuid} + " memory",
                        .value = std::to_string(from.memory),
                        .expected = "the memory of a template of " + which.npu.name + " or of a whole card (" +
                                    std::to_string(which.npu.memory_allocatable.count()) + ")"});
    return slice{.memory = memory, .cores = cores};
}

/// The shares of one kind; the first of its containers has number `first` in the request.
void read_kind(const kubernetes::pod& of, const kind& which, const hami_text::askers& askers, std::uint32_t first,
               std::span<const device_registration> devices, assignment_reading& into) {
    const std::string key = "hami.io/" + which.npu.name + allocated_suffix;
    const auto found = of.annotations.find(key);
    if (found == of.annotations.end()) return;
    const std::string where = hami_text::place(of, "annotation", key);
    const auto parts = hami_text::read_parts(found->second, where, into.problems);
    const auto owners = hami_text::owners_of_parts(parts.size(), askers, where, into.problems);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::set<std::string_view> seen;
        for (const hami_text::record& each : parts[i]) {
            if (!owners[i] || !seen.insert(each.uuid).second) {
                into.problems.push_back({.code = owners[i] ? error_code::duplicate : error_code::mismatch,
                                         .where = where,
                                         .field = "container part " + std::to_string(i),
                                         .value = std::string{each.uuid},
                                         .expected = owners[i] ? "different devices" : "no device: it asks for none"});
                continue;
            }
            const auto device = hami_text::find_device(devices, which.npu.name, each.uuid, where, into.problems);
            if (!device) continue;
            const partition part = part_of(each, which, soft_pod(of), where, into.problems);
            into.shares.push_back({.container = first + *owners[i], .device = *device, .part = part});
        }
    }
}

const vir_template& template_in(const partition& part) {
    const auto* cut = std::get_if<vir_template>(&part);
    VGA_ASSERT(cut != nullptr, "a share of an NPU is a template or a slice");
    return *cut;
}

/// An entry of the list that the container runtime reads.
nlohmann::ordered_json runtime_entry(const device_registration& device, const partition& part) {
    nlohmann::ordered_json entry{{"UUID", device.uuid}};
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
    hami_text::record made{.uuid = device.uuid, .word = device.family};
    if (const auto* soft = std::get_if<slice>(&part)) {
        made.memory = soft->memory.count();
        made.cores = soft->cores.count();
    } else {
        const vir_template& cut = template_in(part);
        made.memory = cut.memory.count();
        made.cores = cut.cores.count();
    }
    return made;
}

} // namespace

assignment_reading read_assignment(const kubernetes::pod& of, std::span<const device_registration> devices,
                                   const options& with) {
    assignment_reading result;
    std::uint32_t first = 0;
    for (const kind& each : with.kinds) {
        const auto askers = askers_of(of, each, with);
        read_kind(of, each, askers, first, devices, result);
        first += static_cast<std::uint32_t>(std::ranges::count(askers.regular, true));
    }
    // By kind, then in the order written; a part may stand before that of an earlier container only by kind.
    std::ranges::stable_sort(result.shares, {}, &device_share::container);
    return result;
}

kubernetes::text_map write_assignment(const kubernetes::pod& of, std::span<const device_registration> devices,
                                      const decision& made, const options& with) {
    kubernetes::text_map written;
    std::uint32_t container = 0;
    for (const kind& each : with.kinds) {
        const auto askers = askers_of(of, each, with);
        if (std::ranges::count(askers.regular, true) == 0) continue;
        std::string list(with.empty_parts ? askers.init_containers : 0, ';');
        auto runtime = nlohmann::ordered_json::array();
        for (const bool asks : askers.regular) {
            if (!asks && !with.empty_parts) continue;
            for (const device_share& share : made.shares) {
                if (!asks || share.container != container) continue;
                VGA_ASSERT(share.device.at() < devices.size(), "a share is of a device of its node");
                hami_text::append(list, record_of(devices[share.device.at()], share.part));
                runtime.push_back(runtime_entry(devices[share.device.at()], share.part));
            }
            list += ';';
            if (asks) ++container;
        }
        written["hami.io/" + each.npu.name + "-devices-to-allocate"] = list;
        written["hami.io/" + each.npu.name + allocated_suffix] = list;
        written["huawei.com/" + each.npu.name] =
            runtime.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    }
    if (written.empty()) return written;
    written["predicate-time"] = made.time;
    written["hami.io/vgpu-node"] = made.node;
    written["hami.io/vgpu-time"] = made.time;
    written["hami.io/bind-time"] = made.time;
    written["hami.io/bind-phase"] = "allocating";
    return written;
}

} // namespace vgpualloc::dialect::ascend_hami
