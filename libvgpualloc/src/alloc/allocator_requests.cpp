// What the allocator makes of requests: one class per kind of request and group of nodes.
#include "vgpualloc/alloc/allocator.hpp"

#include <algorithm>
#include <utility>

#include "class_index.hpp"

namespace vgpualloc {

namespace {

std::int64_t devices_wanted(const pod_request& request) {
    std::int64_t sum = 0;
    for (const device_request& each : request.containers) sum += each.count;
    return sum;
}

} // namespace

std::uint32_t allocator::class_of(const pod_request& request) {
    const auto [at, added] = class_numbers_.emplace(request, static_cast<std::uint32_t>(classes_.size()));
    if (added) {
        request_class made;
        made.request = request;
        if (traits_.by_totals) {
            for (const device_request& each : request.containers) made.parts.push_back(parts_.part_of(each));
        } else {
            made.shape = outcomes_.shape_of(request.containers);
        }
        made.view = {.request = &at->first, .devices = devices_wanted(request)};
        made.heads.resize(groups_.size());
        classes_.push_back(std::move(made));
    }
    return at->second;
}

allocator::request_part allocator::part_for(const pod_request& request, std::uint32_t group) {
    request_part part{.group = group};
    pod_request seen = request;
    for (device_request& wanted : seen.containers) {
        const auto& kinds = groups_[group].kinds;
        if (kinds.empty()) {
            part.refused = rejection_code::too_few_devices;
            return part;
        }
        std::size_t accepted = 0;
        rejection_code refused = rejection_code::none;
        for (const std::uint32_t kind : kinds) {
            const rejection_code code = why_never(ledger_->nodes().kinds[kind], wanted);
            if (code == rejection_code::none) ++accepted;
            if (refused == rejection_code::none) refused = code;
        }
        if (accepted == 0) {
            part.refused = refused;
            return part;
        }
        if (accepted == kinds.size()) {
            wanted.family.clear();
            wanted.models.clear();
            wanted.types_allowed.clear();
            wanted.types_denied.clear();
            wanted.mode.clear();
        }
    }
    seen.memory = {};
    seen.tags.clear();
    set_class(part, seen);
    return part;
}

void allocator::set_class(request_part& part, const pod_request& seen) {
    part.class_number = class_of(seen);
    part.head = &classes_[part.class_number].heads[part.group]; // heads stay where they are when the list grows
}

request_id allocator::intern(const pod_request& request) {
    const auto [at, added] = request_numbers_.emplace(request, static_cast<std::uint32_t>(requests_.size()));
    if (added) {
        request_record made{.original = request,
                            .plain = traits_.positional != nullptr || request.names_devices(),
                            .parts = {},
                            .epoch = no_epoch};
        for (std::size_t g = 0; g < groups_.size() && !made.plain; ++g) {
            made.parts.push_back(part_for(request, static_cast<std::uint32_t>(g)));
        }
        requests_.push_back(std::move(made));
    }
    return request_id{at->second};
}

/// Gives a request a class of its own memory in one group. Most requests never need it: where the best node has the
/// memory anyway, classes that differ in nothing else share one index.
void allocator::mind_memory(request_record& asked, request_part& part) {
    pod_request request = classes_[part.class_number].request;
    request.memory = asked.original.memory;
    set_class(part, request);
    asked.epoch = no_epoch;
}

} // namespace vgpualloc
