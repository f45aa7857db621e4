// Scores at slot-scarcity prices.
#include "vgpualloc/policy/ssp.hpp"

#include <algorithm>

#include "vgpualloc/core/hash.hpp"

namespace vgpualloc::policies {

void ssp::forget_ids() {
    ++forgotten_;
    fullness_.forget();
    config_rows_.clear();
    rows_.clear();
    changes_.clear();
    change_numbers_.clear();
    same_hash_.clear();
}

/// Rows and changes are by class.
void ssp::follow_classes() {
    if (class_generation_ == scarcity_.class_generation()) return;
    forget_ids();
    class_generation_ = scarcity_.class_generation();
}

void ssp::add_device(const device_view& device, std::int32_t* row) {
    const auto counts = scarcity_.counts_of(device);
    for (std::size_t c = 0; c < counts.size(); ++c) row[c] += counts[c];
    row[counts.size()] += static_cast<std::int32_t>(fullness_.of_device(device, [](const device_view& counted) {
        return free_amount_of(counted, slots_of(counted), free_slots_of(counted)).fullness();
    }));
}

/// The row of a configuration, remembered by its id.
void ssp::copy_row(const device_config& config, count_row& row) {
    if (config.id != not_interned) {
        if (config.id >= config_rows_.size()) config_rows_.resize(config.id + std::size_t{64}, 0);
        if (const std::uint32_t known = config_rows_[config.id]; known != 0) {
            const auto kept = std::span{rows_}.subspan((known - std::size_t{1}) * width(), width());
            row.assign(kept.begin(), kept.end());
            return;
        }
    }
    row.assign(width(), 0);
    for (const device_view* device : config.devices) add_device(*device, row.data());
    if (config.id == not_interned) return;
    config_rows_[config.id] = static_cast<std::uint32_t>(rows_.size() / width()) + 1;
    rows_.insert(rows_.end(), row.begin(), row.end());
}

/// `lost` is before minus after, so that its last entry is how much fuller the devices become, negated.
double ssp::score_of(const std::int32_t* lost, std::span<const double> prices) const noexcept {
    constexpr double per_start = 0x1p32;
    constexpr double fullness_range = 0x1p13; // above 64 x 64
    double cost = 0.0;
    for (std::size_t c = 0; c < prices.size(); ++c) cost += prices[c] * static_cast<double>(lost[c]);
    const double scaled = cost * per_start;
    const auto rounded = static_cast<std::int64_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
    const double fuller = static_cast<double>(-lost[prices.size()]);
    return (fuller - static_cast<double>(rounded) * fullness_range) / (per_start * fullness_range);
}

double ssp::node_score(const request_view&, const node_view& before, const node_view& after) {
    follow_classes();
    copy_row(*before.config, before_row_);
    copy_row(*after.config, after_row_);
    for (std::size_t i = 0; i < width(); ++i) before_row_[i] -= after_row_[i];
    return score_of(before_row_.data(), scarcity_.prices());
}

double ssp::device_score(const request_view& request, const node_view& before, const node_view& after,
                         const step_view&) {
    return node_score(request, before, after);
}

std::uint32_t ssp::change_of(const device_view& before, const device_view& after) {
    follow_classes();
    before_row_.assign(width(), 0);
    after_row_.assign(width(), 0);
    add_device(before, before_row_.data());
    add_device(after, after_row_.data());
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < width(); ++i) {
        before_row_[i] -= after_row_[i];
        hash = hash_combine(hash, static_cast<std::uint64_t>(static_cast<std::uint32_t>(before_row_[i])));
    }
    const auto count = static_cast<std::uint32_t>(same_hash_.size());
    const auto [at, is_new] = change_numbers_.try_emplace(hash, count);
    std::uint32_t number = at->second;
    while (!is_new) {
        if (std::ranges::equal(before_row_, std::span{changes_}.subspan(number * width(), width()))) return number;
        if (same_hash_[number] == number) break;
        number = same_hash_[number];
    }
    if (!is_new) same_hash_[number] = count;
    same_hash_.push_back(count);
    changes_.insert(changes_.end(), before_row_.begin(), before_row_.end());
    return count;
}

void ssp::score_changes(std::span<const std::uint32_t> changes, std::span<double> scores) {
    const auto prices = scarcity_.prices();
    for (std::size_t i = 0; i < changes.size(); ++i) {
        scores[i] = score_of(changes_.data() + changes[i] * width(), prices);
    }
}

} // namespace vgpualloc::policies
