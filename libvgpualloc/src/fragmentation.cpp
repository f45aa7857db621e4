// F and its buckets. The order of every floating-point operation here is part of the result.
#include "vgpualloc/metrics/fragmentation.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/core/config.hpp"

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

/// Where a typical pod's share of the idle amount goes: [need state][CPU suffices].
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
    list_needs(target);
    list_columns();
    for (const typical_request& each : target.typical) cpu_steps_.push_back(each.cpu);
    std::sort(cpu_steps_.begin(), cpu_steps_.end());
    cpu_steps_.erase(std::unique(cpu_steps_.begin(), cpu_steps_.end()), cpu_steps_.end());
    index_cpu_steps();
}

void fragmentation_model::list_needs(const workload& target) {
    constexpr double weight_of_all = 1e6; // for frequencies that come without weights
    for (const typical_request& each : target.typical) {
        const auto weight =
            each.weight > 0 ? each.weight : static_cast<std::int64_t>(each.frequency * weight_of_all + 0.5);
        total_weight_ += static_cast<double>(weight);
        const auto found = std::ranges::find(needs_, each.containers);
        typicals_.push_back({.cpu = each.cpu,
                             .frequency = each.frequency,
                             .weight = weight,
                             .need = static_cast<std::uint32_t>(found - needs_.begin())});
        if (found == needs_.end()) needs_.push_back(each.containers);
    }
    total_weight_ = std::max(total_weight_, 1.0); // an empty workload fragments nothing, and 0 / 1 says so
}

void fragmentation_model::list_columns() {
    const auto count_of = [](const device_request& each) { return static_cast<std::int32_t>(each.count); };
    for (const auto& containers : needs_) {
        has_devices_.push_back(containers.empty() ? 0 : -1);
        wanted_.push_back(containers.empty() ? 0 : count_of(containers.front()));
    }
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        for (std::size_t c = 1; c < needs_[n].size(); ++c) {
            extras_.push_back(
                {.need = static_cast<std::uint32_t>(n), .column = static_cast<std::uint32_t>(wanted_.size())});
            wanted_.push_back(count_of(needs_[n][c]));
        }
    }
    fitting_.resize(wanted_.size());
    rest_.resize(needs_.size());
    accepted_.resize(needs_.size());
    states_.resize(needs_.size());
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
    out.fits.assign(wanted_.size(), 0);
    out.misses.assign(needs_.size(), -1);
    out.accepted.assign(needs_.size(), 0);
    const auto ask = [&](std::size_t need, std::size_t column, const device_request& wanted) {
        const rejection_code code = why_not(*device.spec, device.state, wanted).code;
        if (code != rejection_code::model_not_accepted) out.accepted[need] = -1;
        if (code != rejection_code::none) return;
        out.fits[column] = -1;
        out.misses[need] = 0;
    };
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        if (!needs_[n].empty()) ask(n, n, needs_[n].front());
    }
    std::size_t container = 1;
    for (std::size_t e = 0; e < extras_.size(); ++e) {
        container = e > 0 && extras_[e - 1].need == extras_[e].need ? container + 1 : 1;
        ask(extras_[e].need, extras_[e].column, needs_[extras_[e].need][container]);
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
    for (const extra_column& each : extras_) { // any container that lacks devices makes the first one lack them
        if (fitting_[each.column] < wanted_[each.column]) fitting_[each.need] = -1;
    }
    for (std::size_t n = 0; n < states_.size(); ++n) {
        const std::int32_t suffices = fitting_[n] >= wanted_[n] ? 1 : 0;
        states_[n] = has_devices_[n] & (not_accepted - accepted_[n] * (1 + suffices));
    }
}

// Every bucket is its own chain of additions in the order of the list. Adding 0.0 to the other buckets changes none of
// them, and saves a branch that cannot be predicted.
VGA_WIDE void fragmentation_model::add_lost(std::span<const typical> list, const std::int32_t* states,
                                            const std::int32_t* rest, double idle, milli_cpu cpu_left, double* sums) {
    std::array<double, lanes> lane_sums{};
    for (const typical& each : list) {
        const auto state = static_cast<std::size_t>(states[each.need]);
        const auto cpu_suffices = static_cast<std::size_t>(cpu_left >= each.cpu);
        const std::size_t usable = cpu_suffices & static_cast<std::size_t>(state == enough);
        const std::array<double, 2> lost{idle, static_cast<double>(rest[each.need])}; // a branch would often miss
        const double amount = each.frequency * lost[usable];
        const auto& lost_to = one_hot[bucket_of[state][cpu_suffices]];
        for (std::size_t lane = 0; lane < lanes; ++lane) lane_sums[lane] += amount * lost_to[lane];
    }
    std::copy_n(lane_sums.begin(), lanes, sums);
}

fragmentation_buckets fragmentation_model::accumulate(milli_gpu free, milli_cpu cpu_left) const noexcept {
    std::array<double, lanes> sums{};
    add_lost(typicals_, states_.data(), rest_.data(), static_cast<double>(free.count()), cpu_left, sums.data());
    fragmentation_buckets result;
    std::copy_n(sums.begin(), result.milli.size(), result.milli.begin());
    return result;
}

fragmentation_buckets fragmentation_model::buckets(const device_config& config, milli_cpu cpu_left) {
    if (config.devices.empty()) return {};
    summarise(config);
    fragmentation_buckets result = accumulate(config.free, cpu_left);
    double& satisfied = result.milli[bucket(fragmentation_bucket::satisfied)];
    satisfied = 0.0;
    for (const typical& each : typicals_) {
        if (states_[each.need] != enough || cpu_left < each.cpu) continue;
        satisfied += each.frequency * static_cast<double>(config.free.count() - rest_[each.need]);
    }
    return result;
}

double fragmentation_model::compute_unusable(const device_config& config, milli_cpu cpu_left) {
    summarise(config);
    return accumulate(config.free, cpu_left).unusable();
}

double fragmentation_model::compute_weighted(const device_config& config, milli_cpu cpu_left) {
    summarise(config);
    const std::int64_t idle = config.free.count();
    std::int64_t sum = 0;
    for (const typical& each : typicals_) {
        const auto state = static_cast<need_state>(states_[each.need]);
        const bool cpu_suffices = cpu_left >= each.cpu;
        const std::array<std::int64_t, 2> lost{idle, rest_[each.need]};
        sum += each.weight * lost[static_cast<std::size_t>(cpu_suffices) & static_cast<std::size_t>(state == enough)];
    }
    return static_cast<double>(sum);
}

void fragmentation_model::rank_memo::insert(std::uint64_t key, double value) {
    if (++used * 4 > entries.size() * 3) {
        std::vector<entry> old(entries.size() * 2);
        old.swap(entries);
        for (const entry& each : old) {
            if (each.key != no_key) at(each.key) = each;
        }
    }
    at(key) = {.key = key, .value = value};
}

void fragmentation_model::forget_ids() {
    answers_.clear();
    rounded_memo_ = {};
    exact_memo_ = {};
}

} // namespace vgpualloc
