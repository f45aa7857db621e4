// Computing the transitions of a configuration.
#include "vgpualloc/alloc/outcome_table.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

static_assert(rejection_code_count < 64, "rejection codes and record numbers share one integer");

std::uint32_t outcome_table::shape_of(const std::vector<device_request>& containers) {
    const auto [at, added] = numbers_.emplace(containers, static_cast<std::uint32_t>(shapes_.size()));
    if (added) {
        shapes_.push_back(&at->first);
        memo_.emplace_back();
    }
    return at->second;
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
    const auto& containers = *shapes_[shape];
    if (containers.empty()) {
        pool_.push_back({.before = nullptr, .after = nullptr, .next = &config});
        return keep(pool_.size() - 1);
    }
    for (const device_request& each : containers) {
        if (each.count > static_cast<std::int64_t>(config.devices.size())) {
            return static_cast<std::uint32_t>(rejection_code::too_few_devices);
        }
    }
    if (containers.size() == 1 && containers.front().count == 1) return single_device(containers.front(), config);
    return several_devices(containers, config);
}

std::uint32_t outcome_table::single_device(const device_request& wanted, const device_config& config) {
    const std::size_t first = pool_.size();
    rejection reasons;
    const device_view* previous = nullptr;
    for (const device_view* each : config.devices) { // equal devices are neighbours
        const bool repeated = each == previous;
        previous = each;
        const rejection_code code = why_not(*each->spec, each->state, wanted).code;
        if (code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(code)];
            continue;
        }
        if (repeated) continue;
        partitions_.clear();
        each->spec->mode->candidates(*each->spec, each->state, wanted, partitions_);
        for (const partition& part : partitions_) {
            const device_view& after =
                states_->device(each->kind, each->spec->mode->with(*each->spec, each->state, part));
            pool_.push_back({.before = each, .after = &after, .next = &states_->replace(config, *each, after)});
        }
    }
    if (pool_.size() == first) return static_cast<std::uint32_t>(reasons.main_code());
    return keep(first);
}

std::uint32_t outcome_table::several_devices(const std::vector<device_request>& containers,
                                             const device_config& config) {
    std::vector<const device_view*> current(config.devices.begin(), config.devices.end());
    for (const device_request& wanted : containers) {
        std::vector<bool> taken(current.size(), false);
        for (std::int64_t n = 0; n < wanted.count; ++n) {
            rejection reasons;
            std::size_t chosen = current.size();
            for (std::size_t i = 0; i < current.size(); ++i) {
                if (taken[i]) continue;
                const rejection_code code = why_not(*current[i]->spec, current[i]->state, wanted).code;
                if (code != rejection_code::none) {
                    ++reasons.nodes[static_cast<std::size_t>(code)];
                    continue;
                }
                if (chosen != current.size() && current[chosen] != current[i]) return keep(pool_.size()); // a choice
                chosen = std::min(chosen, i);
            }
            if (chosen == current.size()) {
                return static_cast<std::uint32_t>(n > 0 ? rejection_code::too_few_devices : reasons.main_code());
            }
            const device_view& before = *current[chosen];
            partitions_.clear();
            before.spec->mode->candidates(*before.spec, before.state, wanted, partitions_);
            if (partitions_.size() > 1) return keep(pool_.size()); // a choice of where on the device
            current[chosen] =
                &states_->device(before.kind, before.spec->mode->with(*before.spec, before.state, partitions_.front()));
            taken[chosen] = true;
        }
    }
    const std::size_t first = pool_.size();
    pool_.push_back({.before = nullptr, .after = nullptr, .next = &states_->config(current)});
    return keep(first);
}

void outcome_table::clear() {
    for (auto& each : memo_) each.clear();
    records_.clear();
    pool_.clear();
}

} // namespace vgpualloc
