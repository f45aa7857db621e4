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

std::optional<std::int64_t> limit_of(const kubernetes::container& container, const std::string& name) {
    const auto amount = container.limits.find(name);
    if (amount == container.limits.end()) return std::nullopt;
    return amount->second;
}

/// The limit, or else the request.
std::optional<std::int64_t> amount_of(const kubernetes::container& container, const std::string& name) {
    if (const auto limit = limit_of(container, name)) return limit;
    const auto amount = container.requests.find(name);
    if (amount == container.requests.end()) return std::nullopt;
    return amount->second;
}

std::string percentage_name(const settings& setup) {
    // Q12: upstream's built-in configuration names no resource, so a percentage is not read.
    if (!setup.config->percent_name.empty() || setup.has(quirk::q12)) return setup.config->percent_name;
    return "volcano.sh/vgpu-memory-percentage";
}

std::optional<record> record_of(const kubernetes::container& container, const settings& setup) {
    auto count = limit_of(container, setup.config->count_name);
    if (!count && limit_of(container, setup.config->memory_name)) count = 1;
    if (!count) return std::nullopt;

    const std::int64_t memory = amount_of(container, setup.config->memory_name).value_or(0);
    const std::string name = percentage_name(setup);
    std::int64_t percentage = unset_percentage;
    if (!name.empty()) percentage = wrapped_to_int32(amount_of(container, name).value_or(unset_percentage));
    if (percentage == unset_percentage && memory == 0) percentage = 100;
    return record{.count = wrapped_to_int32(*count),
                  .memory = wrapped_to_int32(memory),
                  .percentage = percentage,
                  .cores = wrapped_to_int32(amount_of(container, setup.config->core_name).value_or(0))};
}

} // namespace

bool asks_for_vgpu(const pod& pending, const device_config& config) {
    return std::ranges::any_of(pending.containers, [&config](const kubernetes::container& container) {
        return container.limits.contains(config.memory_name) || container.limits.contains(config.count_name);
    });
}

std::vector<record> records_of(const pod& pending, const settings& setup) {
    std::vector<record> records;
    for (const kubernetes::container& container : pending.containers) {
        if (const auto wish = record_of(container, setup)) {
            records.push_back(*wish);
        } else if (!setup.has(quirk::q4)) {
            // Q4: upstream leaves this container out, and what follows it moves forward in the annotation.
            records.push_back({.requests = false});
        }
    }
    return records;
}

std::int64_t needed_memory(const record& wish, const card_spec& card) {
    if (wish.percentage == unset_percentage) return wish.memory;
    return static_cast<std::int64_t>(static_cast<double>(card.memory) * static_cast<double>(wish.percentage) / 100.0);
}

std::string pod_group_of(const pod& pending) {
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        const std::string& group = kubernetes::value_of(pending.annotations, key);
        if (!group.empty()) return pending.ns + "/" + group;
    }
    return {};
}

card_wishes::card_wishes(const pod& pending, const settings& setup)
    : pending_{&pending}, q24_{setup.has(quirk::q24)},
      use_uuids_{trimmed_items(kubernetes::value_of(pending.annotations, use_uuid_annotation))},
      avoid_uuids_{trimmed_items(kubernetes::value_of(pending.annotations, avoid_uuid_annotation))} {
    if (kubernetes::value_of(pending.annotations, pod_group_policy_annotation) == "spread") {
        spread_group_ = pod_group_of(pending);
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
    if (const auto use = pending_->annotations.find(use_type_annotation); use != pending_->annotations.end()) {
        const auto items = items_of(use->second);
        // Q24: this list hides the other one.
        if (q24_) return std::ranges::any_of(items, is_named);
        if (!items.empty() && std::ranges::none_of(items, is_named)) return false;
    }
    const auto avoid = pending_->annotations.find(avoid_type_annotation);
    return avoid == pending_->annotations.end() || std::ranges::none_of(items_of(avoid->second), is_named);
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
        return std::string{key} + "=" + go_quoted(kubernetes::value_of(pending_->annotations, key));
    };
    return "no GPU matches UUID constraints " + constraint(use_uuid_annotation) + ", " +
           constraint(avoid_uuid_annotation) + " on node " + node_name;
}

} // namespace vgpualloc::compat::volcano::vgpu
