// The cce dialect: the annotation that says which GPUs a pod has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "cce_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::dialects::cce {

namespace {

constexpr std::string_view whole_word = "whole";

hami_text::askers askers_of(const kubernetes::pod& pod, const options& configured) {
    hami_text::askers result;
    for (const kubernetes::container& container : pod.containers) result.regular.push_back(asks(container, configured));
    return result;
}

/// "uuid,<MiB>,<percent>" or "uuid,whole"; the amounts as the dialect has them.
std::optional<partition> part_of(std::string_view entry) {
    const auto fields = text::split(entry, ',');
    if (fields.size() == 2 && fields[1] == whole_word) return whole_device{};
    if (fields.size() != 3) return std::nullopt;
    const auto memory = text::whole_number(fields[1], hami_text::amount_max);
    const auto cores = text::whole_number(fields[2], whole_compute.count());
    if (!memory || !cores || *memory == 0 || *memory % memory_unit.count() != 0 || *cores % cores_step.count() != 0) {
        return std::nullopt;
    }
    return slice{.memory = mib{*memory}, .cores = core_percent{*cores}};
}

} // namespace

assignment_reading cce_dialect::read_assignment(const kubernetes::pod& pod,
                                                std::span<const device_registration> devices) const {
    assignment_reading result;
    const auto annotation = pod.annotations.find(assignment_annotation);
    if (annotation == pod.annotations.end()) return result;
    const std::string where = hami_text::place(pod, "annotation", assignment_annotation);
    const auto parts = text::split_closed(annotation->second, ';');
    const auto owners = hami_text::owners_of_parts(parts.size(), askers_of(pod, options_), where, result.problems);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto problem = [&](error_code code, std::string_view value, std::string expected_text) {
            result.problems.push_back(
                bad_value(code, "container part " + std::to_string(i), value, std::move(expected_text)).at(where));
        };
        const auto entries = text::split_closed(parts[i], ':');
        if (entries.empty()) continue;
        if (!owners[i] || entries.size() > 1) {
            problem(owners[i] ? error_code::out_of_range : error_code::mismatch, parts[i],
                    owners[i] ? "one virtual GPU per container" : "no GPU: the container asks for none");
            continue;
        }
        const auto part = part_of(entries.front());
        if (!part) {
            problem(error_code::malformed, entries.front(),
                    "uuid,MiB,percent in steps of 128 MiB and 5 percent, or uuid,whole");
            continue;
        }
        const auto uuid = text::split(entries.front(), ',').front();
        const auto device = hami_text::find_device(devices, family, uuid, where, result.problems);
        if (device) result.shares.push_back({.container = *owners[i], .device = *device, .part = *part});
    }
    return result;
}

kubernetes::text_map cce_dialect::write_assignment(const kubernetes::pod& pod,
                                                   std::span<const device_registration> devices,
                                                   const decision& decided) const {
    const auto askers = askers_of(pod, options_);
    if (std::ranges::count(askers.regular, true) == 0) return {};
    std::string list;
    std::uint32_t container = 0;
    for (const bool asking : askers.regular) {
        for (const device_share& share : decided.shares) {
            if (!asking || share.container != container) continue;
            VGA_ASSERT(share.device.at() < devices.size(), "a share is of a device of its node");
            list += devices[share.device.at()].uuid + ",";
            if (const auto* part_slice = std::get_if<slice>(&share.part)) {
                list +=
                    std::to_string(part_slice->memory.count()) + "," + std::to_string(part_slice->cores.count()) + ":";
            } else {
                VGA_ASSERT(std::holds_alternative<whole_device>(share.part),
                           "a share of a GPU is a slice or all of it");
                list += std::string{whole_word} + ":";
            }
        }
        list += ';';
        if (asking) ++container;
    }
    return {{assignment_annotation, list}};
}

} // namespace vgpualloc::dialects::cce
