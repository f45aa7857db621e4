// Computing the transitions of a configuration.
#include "alloc/outcome_table.hpp"

#include <algorithm>

#include "alloc/step_rules.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

static_assert(rejection_code_count < 64, "rejection codes and record numbers share one integer");

std::uint32_t outcome_table::add(const std::vector<std::uint32_t>& parts) {
    const auto [at, added] = numbers_.emplace(parts, 0);
    if (added) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(shapes_.size()));
            shapes_.emplace_back();
            memo_.emplace_back();
        }
        at->second = free_.back();
        free_.pop_back();
        shapes_[at->second].parts = &at->first;
    }
    ++shapes_[at->second].users;
    return at->second;
}

void outcome_table::remove(std::uint32_t shape) {
    shape_record& removed = shapes_[shape];
    if (--removed.users > 0) return;
    for (const std::uint32_t entry : memo_[shape]) {
        if (entry >= record_base) outcomes_lost_ += records_[entry - record_base].count + std::size_t{1};
    }
    numbers_.erase(numbers_.find(*removed.parts));
    removed = {};
    memo_[shape] = {};
    free_.push_back(shape);
}

std::uint32_t outcome_table::remember(std::uint32_t shape, const device_config& config) {
    const std::uint32_t entry = compute(shape, config);
    auto& known = memo_[shape];
    if (config.id >= known.size()) {
        known.resize(std::max<std::size_t>({std::size_t{64}, config.id + std::size_t{1}, known.size() * 2}), 0);
    }
    return known[config.id] = entry;
}

std::uint32_t outcome_table::keep(std::size_t first) {
    records_.push_back(
        {.first = static_cast<std::uint32_t>(first), .count = static_cast<std::uint32_t>(pool_.size() - first)});
    return record_base + static_cast<std::uint32_t>(records_.size() - 1);
}

std::uint32_t outcome_table::compute(std::uint32_t shape, const device_config& config) {
    const auto& parts = *shapes_[shape].parts;
    if (parts.empty()) {
        pool_.push_back({.before = nullptr, .after = nullptr, .next = &config});
        return keep(pool_.size() - 1);
    }
    for (const std::uint32_t part : parts) {
        if (parts_->wanted(part).count > static_cast<std::int64_t>(config.devices.size())) {
            return static_cast<std::uint32_t>(rejection_code::too_few_devices);
        }
    }
    if (parts.size() == 1 && parts_->wanted(parts.front()).count == 1) return single_device(parts.front(), config);
    return several_devices(parts, config);
}

std::uint32_t outcome_table::single_device(std::uint32_t part, const device_config& config) {
    const std::size_t first = pool_.size();
    rejection reasons;
    parts_->forget_passing();
    for (std::size_t i = 0; i < config.devices.size();) { // equal devices are neighbours
        const device_view& device = *config.devices[i];
        const std::size_t begin = i;
        while (i < config.devices.size() && config.devices[i] == &device) ++i;
        const part_table::answer answer = parts_->of(part, device);
        if (answer.count == 0) {
            const rejection_code code = parts_->refused_because(part, device, answer);
            reasons.nodes[static_cast<std::size_t>(code)] += static_cast<std::int64_t>(i - begin);
        }
        for (std::uint32_t way = 0; way < answer.count; ++way) {
            pool_.push_back(
                {.before = &device, .after = &states_->device(device, answer.after[way].state), .next = nullptr});
        }
    }
    if (pool_.size() == first) return static_cast<std::uint32_t>(device_code(reasons));
    return keep(first);
}

std::uint32_t outcome_table::several_devices(const std::vector<std::uint32_t>& parts, const device_config& config) {
    std::vector<const device_view*> current(config.devices.begin(), config.devices.end());
    for (const std::uint32_t part : parts) {
        std::vector<bool> taken(current.size(), false);
        for (std::int64_t n = 0; n < parts_->wanted(part).count; ++n) {
            rejection reasons;
            std::size_t chosen = current.size();
            part_table::answer ways;
            const device_view* last = nullptr; // equal devices are mostly neighbours
            part_table::answer answer;
            parts_->forget_passing();
            for (std::size_t i = 0; i < current.size(); ++i) {
                if (taken[i]) continue;
                if (current[i] != last) answer = parts_->of(part, *current[i]);
                last = current[i];
                if (answer.count == 0) {
                    const rejection_code code = parts_->refused_because(part, *current[i], answer);
                    ++reasons.nodes[static_cast<std::size_t>(code)];
                    continue;
                }
                if (chosen == current.size()) {
                    chosen = i;
                    ways = answer;
                } else if (current[chosen] != current[i]) {
                    return keep(pool_.size()); // a choice
                }
            }
            if (chosen == current.size()) {
                return static_cast<std::uint32_t>(step_refusal(reasons, n));
            }
            if (ways.count > 1) return keep(pool_.size()); // a choice of where on the device
            current[chosen] = &states_->device(*current[chosen], ways.after->state);
            taken[chosen] = true;
        }
    }
    const std::size_t first = pool_.size();
    pool_.push_back({.before = nullptr, .after = nullptr, .next = &states_->config(current)});
    return keep(first);
}

void outcome_table::clear() {
    for (auto& entries : memo_) entries.clear();
    records_.clear();
    pool_.clear();
    outcomes_lost_ = 0;
}

} // namespace vgpualloc
