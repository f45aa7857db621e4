// Partitions in words.
#include "vgpualloc/explain/part_words.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vgpualloc::explaining {

namespace {

/// A slice is software's: its compute is in percent, also on an NPU.
explained_part slice_words(const slice& part) {
    const std::string compute =
        part.cores.count() == 0 ? "compute not limited" : fmt::format("{} % of compute", part.cores.count());
    const std::string amounts = part == slice{}         ? "neither memory nor compute limited"
                                : part.memory == mib{0} ? fmt::format("{}, of memory that is not known", compute)
                                                        : fmt::format("slice {} MiB, {}", part.memory.count(), compute);
    return {
        .kind = "slice", .name = {}, .group = {}, .memory = part.memory, .cores = part.cores.count(), .words = amounts};
}

explained_part whole_words(const device_spec& spec) {
    return {.kind = "whole_device",
            .name = {},
            .group = {},
            .memory = spec.memory,
            .cores = spec.cores.count(),
            .words = "the whole device"};
}

/// One of those that the node has, a slot of a group where an administrator configured these, or else a place on the
/// GPU.
explained_part instance_words(const part_description& named, const mig_instance& part, const unit_rules& rules) {
    const std::string place = rules.in_units()      ? fmt::format(", instance {}", part.start)
                              : named.group.empty() ? fmt::format(" at placement {}", part.start)
                                                    : fmt::format(" at slot {} of group {}", part.start, named.group);
    return {.kind = "mig_instance",
            .name = named.name,
            .group = named.group,
            .start = static_cast<std::int64_t>(part.start),
            .memory = named.memory,
            .cores = named.cores.count(),
            .words = fmt::format("mig {}{}", named.name, place)};
}

/// Templates without memory are asked for by AI cores; what has memory and no name is the whole card.
std::string words_of_template(const part_description& named) {
    if (named.memory == mib{0}) {
        const std::int64_t cores = named.cores.count();
        return fmt::format("template {}, {} AI {}", named.name, cores, cores == 1 ? "core" : "cores");
    }
    return named.name.empty() ? fmt::format("the whole card, {} MiB", named.memory.count())
                              : fmt::format("template {}, {} MiB", named.name, named.memory.count());
}

explained_part template_words(const part_description& named) {
    return {.kind = "vir_template",
            .name = named.name,
            .group = {},
            .memory = named.memory,
            .cores = named.cores.count(),
            .words = words_of_template(named)};
}

} // namespace

explained_part describe_part(const device_spec& spec, const partition& part) {
    const part_description named = spec.mode->describe(spec, part);
    if (const auto* cut = std::get_if<slice>(&part)) return slice_words(*cut);
    if (const auto* instance = std::get_if<mig_instance>(&part))
        return instance_words(named, *instance, spec.mode->units());
    if (std::holds_alternative<vir_template>(part)) return template_words(named);
    return whole_words(spec);
}

std::vector<counted_share> count_alike(const std::vector<explained_share>& shares,
                                       const std::vector<std::string>& names) {
    const auto name = [&names](const explained_share& share) {
        return share.container < names.size() ? std::string_view{names[share.container]} : std::string_view{};
    };
    std::vector<counted_share> alike;
    for (const explained_share& share : shares) {
        const auto same = std::ranges::find_if(alike, [&](const counted_share& known) {
            return known.share->device == share.device && known.share->uuid == share.uuid &&
                   known.share->part.words == share.part.words && name(*known.share) == name(share);
        });
        if (same == alike.end())
            alike.push_back({.share = &share});
        else
            ++same->times;
    }
    return alike;
}

std::string words_of(const counted_share& alike) {
    const std::string& words = alike.share->part.words;
    return alike.times == 1 ? words : fmt::format("{} x {}", alike.times, words);
}

} // namespace vgpualloc::explaining
