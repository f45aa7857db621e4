// F and its buckets. The order of every floating-point operation here is part of the result.
#include "vgpualloc/metrics/fragmentation.hpp"

#include <algorithm>
#include <utility>

namespace vgpualloc {

namespace {

/// Accumulators are padded so that the compiler adds them two at a time.
constexpr std::size_t lanes = 8;
static_assert(lanes >= fragmentation_bucket_count);

constexpr std::array<std::array<double, lanes>, lanes> one_hot = [] {
    std::array<std::array<double, lanes>, lanes> rows{};
    for (std::size_t i = 0; i < lanes; ++i) rows[i][i] = 1.0;
    return rows;
}();

constexpr std::size_t bucket(fragmentation_bucket which) noexcept { return static_cast<std::size_t>(which); }

/// Where a typical pod's share of the idle amount goes: [need state - 1][CPU suffices].
constexpr std::array<std::array<std::uint8_t, 2>, 4> bucket_of = [] {
    using enum fragmentation_bucket;
    const auto pair = [](fragmentation_bucket lacking, fragmentation_bucket sufficing) {
        return std::array{static_cast<std::uint8_t>(lacking), static_cast<std::uint8_t>(sufficing)};
    };
    return std::array{pair(xr_lack_cpu, xl_satisfied), pair(no_access, no_access), pair(lack_both, lack_gpu),
                      pair(lack_cpu, lack_gpu)};
}();

} // namespace

fragmentation_model::fragmentation_model(const workload& target) {
    for (const typical_request& each : target.typical) {
        typicals_.push_back({.cpu = each.cpu, .frequency = each.frequency, .need = need_number(each.containers)});
        cpu_steps_.push_back(each.cpu);
    }
    std::sort(cpu_steps_.begin(), cpu_steps_.end());
    cpu_steps_.erase(std::unique(cpu_steps_.begin(), cpu_steps_.end()), cpu_steps_.end());
    index_cpu_steps();
    fitting_.resize(columns_);
    rest_.resize(needs_.size());
    accepted_.resize(needs_.size());
    summary_.resize(needs_.size());
    clear_memo();
}

std::uint32_t fragmentation_model::need_number(const std::vector<device_request>& containers) {
    const auto found = std::ranges::find(needs_, containers, &device_need::containers);
    if (found == needs_.end()) {
        needs_.push_back({.containers = containers, .first_column = columns_});
        for (const device_request& each : containers) wanted_.push_back(static_cast<std::int32_t>(each.count));
        columns_ += static_cast<std::uint32_t>(containers.size());
        return static_cast<std::uint32_t>(needs_.size() - 1);
    }
    return static_cast<std::uint32_t>(found - needs_.begin());
}

void fragmentation_model::index_cpu_steps() {
    constexpr std::int64_t cells_max = 4096;
    const std::int64_t highest = cpu_steps_.empty() ? 0 : cpu_steps_.back().count();
    while ((highest >> rank_shift_) >= cells_max) ++rank_shift_;
    const std::int64_t cells = (highest >> rank_shift_) + 1;
    std::size_t rank = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
        const milli_cpu start{cell << rank_shift_};
        while (rank < cpu_steps_.size() && cpu_steps_[rank] <= start) ++rank;
        rank_table_.push_back(static_cast<std::uint32_t>(rank));
    }
    ranks_ = cpu_steps_.size() + 1;
}

void fragmentation_model::answer(const device_view& device, device_answer& out) const {
    out.fits.assign(columns_, 0);
    out.misses.assign(needs_.size(), 0);
    out.accepted.assign(needs_.size(), 0);
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        bool fits_any = false;
        for (std::size_t c = 0; c < needs_[n].containers.size(); ++c) {
            const rejection_code code = why_not(*device.spec, device.state, needs_[n].containers[c]).code;
            if (code != rejection_code::model_not_accepted) out.accepted[n] = -1;
            if (code != rejection_code::none) continue;
            out.fits[needs_[n].first_column + c] = -1;
            fits_any = true;
        }
        out.misses[n] = fits_any ? 0 : -1;
    }
}

const fragmentation_model::device_answer& fragmentation_model::answers_of(const device_view& device) {
    if (device.id == not_interned) {
        answer(device, scratch_answer_);
        return scratch_answer_;
    }
    if (device.id >= answers_.size()) answers_.resize(std::max<std::size_t>(device.id + 1, answers_.size() * 2));
    device_answer& kept = answers_[device.id];
    if (!kept.known) {
        answer(device, kept);
        kept.known = true;
    }
    return kept;
}

void fragmentation_model::summarise(const device_config& config) {
    std::ranges::fill(fitting_, 0);
    std::ranges::fill(rest_, 0);
    std::ranges::fill(accepted_, 0);
    for (std::size_t d = 0; d < config.devices.size();) {
        std::size_t end = d + 1; // equal devices are neighbours where they are interned
        while (end < config.devices.size() && config.devices[end] == config.devices[d]) ++end;
        const auto alike = static_cast<std::int32_t>(end - d);
        const device_answer& offered = answers_of(*config.devices[d]);
        const std::int32_t idle = alike * static_cast<std::int32_t>(config.devices[d]->free().count());
        for (std::size_t c = 0; c < fitting_.size(); ++c) fitting_[c] += alike & offered.fits[c];
        for (std::size_t n = 0; n < rest_.size(); ++n) rest_[n] += idle & offered.misses[n];
        for (std::size_t n = 0; n < accepted_.size(); ++n) accepted_[n] |= offered.accepted[n];
        d = end;
    }
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        const std::size_t begin = needs_[n].first_column;
        const std::size_t end = n + 1 < needs_.size() ? needs_[n + 1].first_column : columns_;
        bool enough = true;
        for (std::size_t c = begin; c < end; ++c) enough = enough && fitting_[c] >= wanted_[c];
        summary_[n].rest = static_cast<float>(rest_[n]);
        summary_[n].state = begin == end        ? need_state::no_devices_needed
                       : accepted_[n] == 0 ? need_state::not_accepted
                       : enough            ? need_state::enough
                                           : need_state::too_few;
    }
}

template <bool WithSatisfied>
fragmentation_buckets fragmentation_model::accumulate(milli_gpu free, milli_cpu cpu_left) const noexcept {
    // Every bucket is its own chain of additions in the order of the list. Adding 0.0 to the other buckets changes none of
    // them, and saves a branch that cannot be predicted.
    std::array<double, lanes> sums{};
    const auto idle = static_cast<double>(free.count());
    for (const typical& each : typicals_) {
        const need_result& found = summary_[each.need];
        const auto cpu_suffices = static_cast<std::size_t>(cpu_left >= each.cpu);
        const auto usable = cpu_suffices & static_cast<std::size_t>(found.state == need_state::enough);
        const std::array<double, 2> lost{idle, static_cast<double>(found.rest)}; // a table, because a branch would miss
        const double amount = each.frequency * lost[usable];
        const auto& lost_to = one_hot[bucket_of[static_cast<std::size_t>(found.state) - 1][cpu_suffices]];
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += amount * lost_to[lane];
        if constexpr (WithSatisfied) {
            sums[bucket(fragmentation_bucket::satisfied)] += each.frequency * (usable != 0 ? idle - lost[1] : 0.0);
        }
    }
    fragmentation_buckets result;
    std::copy_n(sums.begin(), result.milli.size(), result.milli.begin());
    return result;
}

fragmentation_buckets fragmentation_model::buckets(const device_config& config, milli_cpu cpu_left) {
    if (config.devices.empty()) return {};
    summarise(config);
    return accumulate<true>(config.free, cpu_left);
}

double fragmentation_model::compute_unusable(const device_config& config, milli_cpu cpu_left) {
    summarise(config);
    return accumulate<false>(config.free, cpu_left).unusable();
}

double fragmentation_model::remember(std::size_t at, std::uint64_t key, double value) {
    memo_[at] = {.key = key, .unusable = value};
    if (++memo_used_ * 2 <= memo_.size()) return value;
    std::vector<memo_entry> wider(memo_.size() * 2);
    memo_mask_ = wider.size() - 1;
    for (const memo_entry& each : memo_) {
        if (each.key == no_key) continue;
        std::size_t to = mix64(each.key) & memo_mask_;
        while (wider[to].key != no_key) to = (to + 1) & memo_mask_;
        wider[to] = each;
    }
    memo_ = std::move(wider);
    return value;
}

void fragmentation_model::clear_memo() {
    constexpr std::size_t entries_at_first = 1024;
    memo_.assign(entries_at_first, {});
    memo_mask_ = entries_at_first - 1;
    memo_used_ = 0;
}

void fragmentation_model::forget_ids() {
    answers_.clear();
    clear_memo();
}

} // namespace vgpualloc
