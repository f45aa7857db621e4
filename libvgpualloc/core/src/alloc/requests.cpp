// What the allocator makes of requests: one class per kind of request and group of nodes.
#include "alloc/requests.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

/// A request whose answer does not depend on which device it is.
pod_request without_names(pod_request request) {
    request.avoids.clear();
    request.containers_apart = false;
    request.one_link_group = false;
    for (device_request& container : request.containers) {
        container.uuids_allowed.clear();
        container.uuids_denied.clear();
    }
    return request;
}

/// Whether nodes cannot be told on which the names make no difference.
bool names_always_matter(const pod_request& request) {
    if (request.containers_apart && request.containers.size() > 1) return true;
    return std::ranges::any_of(request.containers, [](const device_request& container) {
        return !container.uuids_allowed.empty() || container.memory_of_first;
    });
}

/// Whether the first container that wants devices accepts only those of a list.
bool lists_first_uuids(const pod_request& request) {
    const auto first =
        std::ranges::find_if(request.containers, [](const auto& container) { return container.count > 0; });
    return first != request.containers.end() && !first->uuids_allowed.empty() && !first->memory_of_first;
}

/// Drops what every device of the group passes. The first kind that refuses says why the whole group does.
rejection_code filter_by_kinds(device_request& container, const std::vector<std::uint32_t>& kinds,
                               const cluster& owned) {
    if (kinds.empty()) return rejection_code::too_few_devices;
    std::size_t accepted = 0;
    rejection_code refusal = rejection_code::none;
    for (const std::uint32_t kind : kinds) {
        const rejection_code code = why_never(owned.kinds[kind], container);
        if (code == rejection_code::none) ++accepted;
        if (refusal == rejection_code::none) refusal = code;
    }
    if (accepted == 0) return refusal;
    if (accepted == kinds.size()) {
        container.family.clear();
        container.models.clear();
        container.types_allowed.clear();
        container.types_denied.clear();
        container.mode.clear();
    }
    return rejection_code::none;
}

} // namespace

bool request_table::modes_choose_first(const pod_request& request, const node_group& group) const {
    const cluster& owned = mirror_->book().nodes();
    return std::ranges::any_of(group.kinds, [&](std::uint32_t kind) {
        const sharing_mode& mode = *owned.kinds[kind].mode;
        return std::ranges::any_of(request.containers, [&](const device_request& container) {
            return mode.may_compromise(container) || (container.count > 0 && mode.units().in_units());
        });
    });
}

request_part request_table::part_for(const pod_request& request, std::uint32_t group_number) {
    const node_group& group = mirror_->groups()[group_number];
    request_part part;
    pod_request seen = request;
    seen.peers = {}; // what other pods keep it from is asked node by node
    for (device_request& container : seen.containers) {
        part.refused = filter_by_kinds(container, group.kinds, mirror_->book().nodes());
        if (part.refused != rejection_code::none) return part;
    }
    const bool always_named =
        traits_.positional != nullptr || names_always_matter(request) || modes_choose_first(request, group);
    if (always_named || request.names_devices()) {
        pod_request named = request;
        named.peers = {};
        set_class(part, group_number, std::move(named), true, always_named);
    } else {
        seen.memory = {};
        seen.tags.clear();
        set_class(part, group_number, std::move(seen), false, false);
    }
    return part;
}

std::uint32_t request_table::new_class(pod_request seen, bool named, bool always_named) {
    if (free_classes_.empty()) {
        free_classes_.push_back(static_cast<std::uint32_t>(classes_.size()));
        classes_.emplace_back();
        class_keys_.emplace_back();
    }
    const std::uint32_t number = free_classes_.back();
    free_classes_.pop_back();
    request_class& entered = classes_[number];
    entered.always_named = always_named;
    entered.restricts = seen.rules.restricts();
    entered.lists_uuids = named && lists_first_uuids(seen);
    if (named) {
        entered.scored.request = without_names(seen);
        entered.named = std::make_unique<pod_request>(std::move(seen));
    } else {
        entered.scored.request = std::move(seen);
    }
    scorer_->enter(entered.scored);
    if (named) entered.scored.by_changes = false;
    mirror_->add_rules(entered.scored.request.rules);
    const class_key key{.request = named ? entered.named.get() : &entered.scored.request, .always_named = always_named};
    class_keys_[number] = class_numbers_.emplace(key, number).first;
    return number;
}

void request_table::set_class(request_part& part, std::uint32_t group, pod_request seen, bool named,
                              bool always_named) {
    const auto known = class_numbers_.find({.request = &seen, .always_named = always_named});
    part.class_number = known != class_numbers_.end() ? known->second : new_class(std::move(seen), named, always_named);
    request_class& joined = classes_[part.class_number];
    ++joined.users;
    while (joined.heads.size() <= group) joined.heads.emplace_back();
    part.head = &joined.heads[group];
}

void request_table::leave_class(const request_part& part) {
    if (part.refused != rejection_code::none) return;
    request_class& left = classes_[part.class_number];
    if (--left.users > 0) return;
    for (index_head& head : left.heads) indexes_->drop(head);
    scorer_->forget(left.scored);
    mirror_->remove_rules(left.scored.request.rules);
    class_numbers_.erase(class_keys_[part.class_number]);
    left = {};
    free_classes_.push_back(part.class_number);
}

expected<request_id> request_table::intern(const pod_request& request) {
    if (const auto known = numbers_.find(request); known != numbers_.end()) {
        return request_id{known->second, records_[known->second].generation};
    }
    if (auto checked = check_request(request); !checked) return unexpected(std::move(checked).error());
    if (numbers_.size() >= requests_max_) {
        if (request_record* const unused = uses_.victim(now_)) forget(*unused);
    }
    if (free_records_.empty()) {
        free_records_.push_back(static_cast<std::uint32_t>(records_.size()));
        records_.emplace_back().number = free_records_.back();
    }
    request_record& record = records_[free_records_.back()];
    free_records_.pop_back();
    record.original = &numbers_.emplace(request, record.number).first->first;
    uses_.link(record, now_);
    return request_id{record.number, record.generation};
}

void request_table::forget(request_record& request) {
    for (const request_part& part : request.parts) leave_class(part);
    request.parts.clear();
    uses_.unlink(request);
    numbers_.erase(numbers_.find(*request.original));
    request.original = nullptr;
    request.epoch = request_record::no_epoch;
    ++request.generation;
    free_records_.push_back(request.number);
}

/// Makes the parts that are missing and voids scores of another epoch.
void request_table::enter(request_record& request, std::uint64_t epoch) {
    while (request.parts.size() < mirror_->groups().size()) {
        request.parts.push_back(part_for(*request.original, static_cast<std::uint32_t>(request.parts.size())));
    }
    request.epoch = epoch;
    for (const request_part& part : request.parts) {
        if (part.refused != rejection_code::none) continue;
        request_class& entered = class_of(part);
        if (entered.epoch == epoch || entered.scored.by_changes) continue; // no node's score is kept
        entered.epoch = epoch;
        for (index_head& head : entered.heads) head.invalidate();
    }
}

void request_table::split_class_by_memory(request_record& request, std::uint32_t group) {
    request_part& part = request.parts[group];
    pod_request with_memory = class_of(part).scored.request;
    with_memory.memory = request.original->memory;
    request_part split;
    set_class(split, group, std::move(with_memory), false, false);
    leave_class(part);
    part = split;
    request.epoch = request_record::no_epoch;
}

} // namespace vgpualloc
