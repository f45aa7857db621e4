#include "vgpu_request.hpp"

#include <algorithm>
#include <optional>

#include "go_text.hpp"
#include "vgpu_text.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

constexpr const char* use_type_annotation = "nvidia.com/use-gputype";
constexpr const char* avoid_type_annotation = "nvidia.com/nouse-gputype";
constexpr const char* use_uuid_annotation = "volcano.sh/vgpu-use-gpuuuid";
constexpr const char* avoid_uuid_annotation = "volcano.sh/vgpu-nouse-gpuuuid";
constexpr const char* pod_group_policy_annotation = "volcano.sh/vgpu-podgroup-policy";
constexpr std::string_view vendor = "NVIDIA";

std::optional<std::int64_t> limit_of(const kubernetes::container& of, const std::string& name) {
    const auto found = of.limits.find(name);
    if (found == of.limits.end()) return std::nullopt;
    return found->second;
}

/// The limit, or else the request.
std::optional<std::int64_t> amount_of(const kubernetes::container& of, const std::string& name) {
    if (const auto limit = limit_of(of, name)) return limit;
    const auto found = of.requests.find(name);
    if (found == of.requests.end()) return std::nullopt;
    return found->second;
}

std::string percentage_name(const settings& with) {
    // Q12: upstream's built-in configuration names no resource, so a percentage is not read.
    if (!with.config->percent_name.empty() || with.has(quirk::q12)) return with.config->percent_name;
    return "volcano.sh/vgpu-memory-percentage";
}

std::optional<record> record_of(const kubernetes::container& of, const settings& with) {
    auto count = limit_of(of, with.config->count_name);
    if (!count && limit_of(of, with.config->memory_name)) count = 1;
    if (!count) return std::nullopt;

    const std::int64_t memory = amount_of(of, with.config->memory_name).value_or(0);
    const std::string name = percentage_name(with);
    std::int64_t percentage = unset_percentage;
    if (!name.empty()) percentage = wrapped_to_int32(amount_of(of, name).value_or(unset_percentage));
    if (percentage == unset_percentage && memory == 0) percentage = 100;
    return record{.count = wrapped_to_int32(*count),
                  .memory = wrapped_to_int32(memory),
                  .percentage = percentage,
                  .cores = wrapped_to_int32(amount_of(of, with.config->core_name).value_or(0))};
}

} // namespace

bool asks_for_vgpu(const pod& asked, const device_config& config) {
    return std::ranges::any_of(asked.containers, [&config](const kubernetes::container& each) {
        return each.limits.contains(config.memory_name) || each.limits.contains(config.count_name);
    });
}

std::vector<record> records_of(const pod& asked, const settings& with) {
    std::vector<record> records;
    for (const kubernetes::container& each : asked.containers) {
        if (const auto wanted = record_of(each, with)) {
            records.push_back(*wanted);
        } else if (!with.has(quirk::q4)) {
            // Q4: upstream leaves this container out, and what follows it moves forward in the annotation.
            records.push_back({.requests = false});
        }
    }
    return records;
}

std::int64_t needed_memory(const record& wanted, const card_spec& card) {
    if (wanted.percentage == unset_percentage) return wanted.memory;
    return static_cast<std::int64_t>(static_cast<double>(card.memory) * static_cast<double>(wanted.percentage) / 100.0);
}

std::string pod_group_of(const pod& asked) {
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        const std::string& group = kubernetes::value_of(asked.annotations, key);
        if (!group.empty()) return asked.ns + "/" + group;
    }
    return {};
}

card_wishes::card_wishes(const pod& asked, const settings& with)
    : asked_{&asked}, q24_{with.has(quirk::q24)},
      use_uuids_{trimmed_items(kubernetes::value_of(asked.annotations, use_uuid_annotation))},
      avoid_uuids_{trimmed_items(kubernetes::value_of(asked.annotations, avoid_uuid_annotation))} {
    if (kubernetes::value_of(asked.annotations, pod_group_policy_annotation) == "spread") {
        spread_group_ = pod_group_of(asked);
    }
}

bool card_wishes::permit_uuid(const std::string& uuid) const {
    if (!has_uuids()) return true;
    if (uuid.empty()) return false;
    if (!use_uuids_.empty() && std::ranges::find(use_uuids_, uuid) == use_uuids_.end()) return false;
    return std::ranges::find(avoid_uuids_, uuid) == avoid_uuids_.end();
}

bool card_wishes::permit_type(const std::string& type) const {
    if (type.find(vendor) == std::string::npos) return false;
    // Items are not trimmed: " T4" asks for a blank before the T4.
    const auto is_named = [&type](std::string_view item) { return contains_ignoring_case(type, item); };
    const auto items_of = [this](const std::string& list) {
        auto items = go_text::split(list, ',');
        // Q24: an empty item is part of every type.
        if (!q24_) std::erase(items, std::string_view{});
        return items;
    };
    if (const auto use = asked_->annotations.find(use_type_annotation); use != asked_->annotations.end()) {
        const auto items = items_of(use->second);
        // Q24: this list hides the other one.
        if (q24_) return std::ranges::any_of(items, is_named);
        if (!items.empty() && std::ranges::none_of(items, is_named)) return false;
    }
    const auto avoid = asked_->annotations.find(avoid_type_annotation);
    return avoid == asked_->annotations.end() || std::ranges::none_of(items_of(avoid->second), is_named);
}

bool card_wishes::conflict(const pod_map& on_card) const {
    if (spread_group_.empty()) return false;
    return std::ranges::any_of(on_card, [this](const auto& entry) {
        const pod_share& share = entry.second;
        return share.pod_group == spread_group_ && (share.memory != 0 || share.cores != 0);
    });
}

std::string card_wishes::no_uuid_error(const std::string& node_name) const {
    const auto constraint = [this](const char* key) {
        return std::string{key} + "=" + go_quoted(kubernetes::value_of(asked_->annotations, key));
    };
    return "no GPU matches UUID constraints " + constraint(use_uuid_annotation) + ", " +
           constraint(avoid_uuid_annotation) + " on node " + node_name;
}

} // namespace vgpualloc::compat::volcano::vgpu
