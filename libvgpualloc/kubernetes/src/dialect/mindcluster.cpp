// The mindcluster dialect: requests and assignments.
#include "vgpualloc/dialect/mindcluster.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "hami_annotation.hpp"
#include "mindcluster_parts.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::dialects::mindcluster {

namespace {

using hami_text::place;
using kubernetes::value_of;

constexpr const char* dvpp_label = "vnpu-dvpp";

expected<dvpp_use> read_dvpp(const kubernetes::pod& pod) {
    const auto label = pod.labels.find(dvpp_label);
    if (label == pod.labels.end() || label->second == "null") return dvpp_use::unstated;
    if (label->second == "yes") return dvpp_use::yes;
    if (label->second == "no") return dvpp_use::no;
    const bool empty = label->second.empty(); // what is left of a null without quotes
    return unexpected(
        bad_value(error_code::unknown_name, "", empty ? "\"\"" : label->second,
                  empty ? "yes, no or null, in quotes: without, null is no text in YAML and JSON" : "yes, no or null")
            .at(place(pod, "label", dvpp_label)));
}

/// "1, 2, 4 or a multiple of 8 or 10"
std::string amounts(const options& configured) {
    std::string list;
    for (const std::int64_t chip : configured.chip_cores) list += (list.empty() ? "" : " or ") + std::to_string(chip);
    return "1, 2, 4 or a multiple of " + list;
}

/// What a container asks of chips of `chip` AI cores.
expected<device_request> read_cores(const kubernetes::pod& pod, const kubernetes::container& container,
                                    std::int64_t cores, std::int64_t chip, const options& configured) {
    device_request entry;
    entry.count = 1;
    entry.family = family;
    entry.mode = mode_name;
    if (cores % chip == 0) { // whole chips: neither label matters
        entry.count = cores / chip;
        entry.cores = core_percent{chip};
        return entry;
    }
    if (cores != 1 && cores != 2 && cores != 4) {
        return unexpected(bad_value(error_code::out_of_range, core_resource, std::to_string(cores), amounts(configured))
                              .at(place(pod, "container", container.name)));
    }
    const auto dvpp = read_dvpp(pod);
    if (!dvpp) return unexpected(dvpp.error());
    if (cores != 4 && *dvpp != dvpp_use::unstated && configured.strict_dvpp) {
        return unexpected(
            bad_value(error_code::mismatch, "", value_of(pod.labels, dvpp_label),
                      "null: no template of " + std::to_string(cores) + " AI cores states its use of DVPP")
                .at(place(pod, "label", dvpp_label)));
    }
    entry.cores = core_percent{cores};
    entry.dvpp = cores == 4 ? *dvpp : dvpp_use::unstated;
    entry.high_level = value_of(pod.labels, "vnpu-level") == "high"; // any other text is low
    return entry;
}

bool names_cores(const kubernetes::pod& pod) {
    return value_of(pod.labels, "ring-controller.atlas") == "ascend-310P" &&
           std::ranges::any_of(pod.containers, [](const auto& in) { return in.limits.contains(core_resource); });
}

/// What the pod asks for on chips of `chip` AI cores.
expected<pod_request> read_for(const kubernetes::pod& pod, std::int64_t chip, const options& configured) {
    pod_request request;
    for (const kubernetes::container& container : pod.containers) {
        const auto cores = hami_text::amount(pod, container, core_resource);
        if (!cores) return unexpected(cores.error());
        if (cores->value_or(0) == 0) continue;
        auto entry = read_cores(pod, container, **cores, chip, configured);
        if (!entry) return unexpected(std::move(entry).error());
        request.containers.push_back(*std::move(entry));
        if (!configured.every_container) break;
    }
    if (request.containers.empty() && names_cores(pod)) {
        return unexpected(
            bad_value(error_code::out_of_range, "", "0", amounts(configured)).at(place(pod, "limit", core_resource)));
    }
    return request;
}

error malformed(const std::string& where, std::string_view value, std::string expected_text) {
    return bad_value(error_code::malformed, "", value, std::move(expected_text)).at(where);
}

/// Reads the entries of one container.
class entry_reader {
public:
    /// `real`: what the device plugin calls the virtual NPU that it made; empty before.
    entry_reader(std::uint32_t container, std::string where, std::string_view real,
                 std::span<const device_registration> devices, assignment_reading& reading)
        : container_{container}, where_{std::move(where)}, group_{group_of(real)}, devices_{devices},
          reading_{&reading} {}

    void read(std::string_view entry) {
        const auto pieces = text::split(entry, ',');
        const bool cut = std::ranges::none_of(pieces, [](auto piece) { return piece.find('-') == piece.npos; });
        if (cut && pieces.size() == 1) {
            read_template(entry);
        } else {
            for (const std::string_view piece : pieces) add(piece, whole_device{});
        }
    }

private:
    /// "Ascend310P-2c.1cpu-100-0_1" is in the second vGroup of chip 0.
    [[nodiscard]] static std::uint32_t group_of(std::string_view real) {
        const auto last = text::split(real, '_');
        const auto number = last.size() < 2 ? std::nullopt : text::whole_number(last.back(), vgroups_max - 1);
        return number ? static_cast<std::uint32_t>(*number) + 1 : 0;
    }

    void read_template(std::string_view entry) {
        const std::size_t dash = entry.find('-');
        const std::string_view name = entry.substr(dash + 1);
        const auto row = std::ranges::find(mindcluster_310p_templates, name, &mindcluster_310p_template::name);
        if (row == mindcluster_310p_templates.end()) {
            reading_->problems.push_back(
                bad_value(error_code::unknown_name, "template", name, "a template of the 310P, like vir02_1c")
                    .at(where_));
            return;
        }
        add(entry.substr(0, dash),
            vir_template{.index = static_cast<std::uint32_t>(row - mindcluster_310p_templates.begin()),
                         .memory = mib{0},
                         .cores = core_percent{row->ai_core},
                         .group = group_});
    }

    void add(std::string_view chip, const partition& part) {
        const auto number = text::whole_number(chip, chip_number_max);
        if (!number) {
            reading_->problems.push_back(malformed(where_, chip, "a chip's number, or <number>-<template>"));
            return;
        }
        if (!seen_.insert(*number).second) {
            reading_->problems.push_back(bad_value(error_code::duplicate, "chip", chip, "different chips").at(where_));
            return;
        }
        const std::string uuid = std::string{uuid_prefix} + std::to_string(*number);
        const auto device = hami_text::find_device(devices_, family, uuid, where_, reading_->problems);
        if (device) reading_->shares.push_back({.container = container_, .device = *device, .part = part});
    }

    std::uint32_t container_;
    std::string where_;
    std::uint32_t group_;
    std::span<const device_registration> devices_;
    assignment_reading* reading_;
    std::set<std::int64_t> seen_;
};

} // namespace

bool chip_dialect::requests(const kubernetes::pod& pod) const { return names_cores(pod); }

expected<std::vector<pod_request>> readings(const kubernetes::pod& pod, const options& configured) {
    VGA_ASSERT(!configured.chip_cores.empty(), "there are chips of some size");
    std::vector<pod_request> requests_by_chip;
    std::optional<error> failure;
    for (const std::int64_t chip : configured.chip_cores) {
        VGA_ASSERT(chip > 0, "a chip has AI cores");
        auto request = read_for(pod, chip, configured);
        if (!request) {
            if (!failure) failure = std::move(request).error();
        } else if (std::ranges::find(requests_by_chip, *request) == requests_by_chip.end()) {
            requests_by_chip.push_back(*std::move(request));
        }
    }
    if (requests_by_chip.empty()) return unexpected(*std::move(failure));
    return requests_by_chip;
}

expected<pod_request> chip_dialect::read_pod(const kubernetes::pod& pod) const {
    auto requests_by_chip = readings(pod, options_);
    if (!requests_by_chip) return unexpected(std::move(requests_by_chip).error());
    if (requests_by_chip->size() == 1 || options_.usual_chips) return std::move(requests_by_chip->front());
    std::string chips;
    for (const pod_request& request : *requests_by_chip) {
        for (const device_request& entry : request.containers) {
            chips += (chips.empty() ? "" : ", or ") + std::to_string(entry.count) + " of " +
                     std::to_string(entry.cores.count()) + " AI cores";
        }
    }
    return unexpected(bad_value(error_code::unsupported, "", chips, "whole chips of one size, as the cluster has more")
                          .at(place(pod, "limit", core_resource)));
}

assignment_reading chip_dialect::read_assignment(const kubernetes::pod& pod,
                                                 std::span<const device_registration> devices) const {
    assignment_reading result;
    const auto annotation = pod.annotations.find(core_resource);
    if (annotation == pod.annotations.end()) return result;
    const std::string where = place(pod, "annotation", core_resource);
    const auto entries = text::split_closed(annotation->second, ';');
    const auto real = text::split(value_of(pod.annotations, "huawei.com/AscendReal"), ';');
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].empty()) continue;
        const std::string_view real_name = i < real.size() ? real[i] : std::string_view{};
        entry_reader{static_cast<std::uint32_t>(i), where, real_name, devices, result}.read(entries[i]);
    }
    return result;
}

kubernetes::text_map chip_dialect::write_assignment(const kubernetes::pod& /*pod*/,
                                                    std::span<const device_registration> devices,
                                                    const decision& decided) const {
    std::string list;
    std::uint32_t container = 0;
    bool first = true;
    for (const device_share& share : decided.shares) {
        VGA_ASSERT(share.device.at() < devices.size(), "a share is of a device of its node");
        const std::string& uuid = devices[share.device.at()].uuid;
        VGA_ASSERT(uuid.starts_with(uuid_prefix), "a chip's uuid is Ascend310P-<number>");
        for (; container < share.container; ++container) {
            list += ';';
            first = true;
        }
        list += (first ? "" : ",") + uuid.substr(uuid_prefix.size());
        first = false;
        if (const auto* cut = std::get_if<vir_template>(&share.part)) {
            VGA_ASSERT(cut->index < mindcluster_310p_templates.size(), "a 310P is cut by one of its templates");
            list += '-';
            list += mindcluster_310p_templates[cut->index].name;
        }
    }
    if (list.empty()) return {};
    return {{core_resource, list}, {"predicate-time", decided.time}};
}

std::int64_t chip_dialect::extended_of(const kubernetes::pod& pod) const {
    std::int64_t cores = 0;
    for (const kubernetes::container& container : pod.containers) {
        const auto limit = container.limits.find(core_resource);
        if (limit != container.limits.end()) cores += limit->second;
    }
    return cores;
}

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const chip_dialect>(std::move(configured));
}

} // namespace vgpualloc::dialects::mindcluster
