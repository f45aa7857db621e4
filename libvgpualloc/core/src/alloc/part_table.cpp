// Computing what devices make of a part.
#include "alloc/part_table.hpp"

#include <algorithm>

namespace vgpualloc {

std::uint32_t part_table::add(const device_request& container) {
    const auto [at, added] = numbers_.emplace(container, 0);
    if (added) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(parts_.size()));
            parts_.emplace_back();
        }
        at->second = free_.back();
        free_.pop_back();
        parts_[at->second].wanted = &at->first;
    }
    ++parts_[at->second].users;
    return at->second;
}

void part_table::remove(std::uint32_t part) {
    part_record& record = parts_[part];
    if (--record.users > 0) return;
    for (const answer& kept : record.answers) views_lost_ += kept.count;
    numbers_.erase(numbers_.find(*record.wanted));
    record = {};
    free_.push_back(part);
}

/// The checks that do not depend on what is used compare texts; once per kind is enough.
rejection_code part_table::why_never_in(part_record& part, const device_view& device) {
    if (device.kind >= part.why_never.size()) part.why_never.resize(device.kind + std::size_t{1}, 0);
    std::uint8_t& kept = part.why_never[device.kind];
    if (kept == 0) kept = static_cast<std::uint8_t>(static_cast<int>(why_never(*device.spec, *part.wanted)) + 1);
    return static_cast<rejection_code>(kept - 1);
}

part_table::answer part_table::compute(std::uint32_t part, const device_view& device, view_arena& keep) {
    part_record& record = parts_[part];
    if (const auto code = why_never_in(record, device); code != rejection_code::none) {
        return {.after = nullptr, .count = 0, .code = code, .known = true};
    }
    if (const auto code = why_closed(device.service); code != rejection_code::none) {
        return {.after = nullptr, .count = 0, .code = code, .known = true};
    }
    const device_spec& spec = *device.spec;
    partitions_.clear();
    spec.mode->candidates(spec, device.state, *record.wanted, partitions_);
    if (partitions_.empty()) return {.after = nullptr, .count = 0, .code = rejection_code::none, .known = true};
    outcome_view* const ways = keep.room_for(partitions_.size());
    for (std::size_t i = 0; i < partitions_.size(); ++i) {
        outcome_view& after = ways[i];
        after.spec = device.spec;
        after.state = spec.mode->with(spec, device.state, partitions_[i]);
        after.kind = device.kind;
        after.used = spec.mode->used(spec, after.state);
        after.service = device.service;
    }
    return {.after = ways,
            .count = static_cast<std::uint32_t>(partitions_.size()),
            .code = rejection_code::none,
            .known = true};
}

part_table::answer part_table::remember(std::uint32_t part, const device_view& device) {
    auto& known = parts_[part].answers;
    if (device.id >= known.size()) {
        known.resize(std::max<std::size_t>(device.id + std::size_t{64}, known.size() * 2)); // a few times at most
    }
    return known[device.id] = compute(part, device, kept_);
}

partition part_table::partition_to(std::uint32_t part, const device_view& device, const device_state& after) {
    const device_spec& spec = *device.spec;
    partitions_.clear();
    spec.mode->candidates(spec, device.state, wanted(part), partitions_);
    if (partitions_.size() == 1) return partitions_.front();
    const auto match = std::ranges::find_if(
        partitions_, [&](const partition& way) { return spec.mode->with(spec, device.state, way) == after; });
    VGA_ASSERT(match != partitions_.end(), "a state comes from one of the mode's candidates");
    return *match;
}

rejection_code part_table::refused_because(std::uint32_t part, const device_view& device, const answer& refusal) {
    if (refusal.code != rejection_code::none) return refusal.code;
    part_record& record = parts_[part];
    const auto code = device.spec->mode->why_not(*device.spec, device.state, *record.wanted).code;
    if (device.id < record.answers.size()) record.answers[device.id].code = code;
    return code;
}

void part_table::note_refusal(std::uint32_t part, const device_config& config, rejection_code code) {
    if (config.id >= refusals_kept) return;
    auto& known = parts_[part].refusals;
    if (config.id >= known.size()) {
        known.resize(std::max<std::size_t>(config.id + std::size_t{256}, known.size() * 2), 0);
    }
    known[config.id] = static_cast<std::uint8_t>(code);
}

void part_table::forget() {
    for (part_record& record : parts_) {
        record.answers.clear();
        record.refusals.clear();
    }
    kept_.rewind();
    views_lost_ = 0;
}

} // namespace vgpualloc
