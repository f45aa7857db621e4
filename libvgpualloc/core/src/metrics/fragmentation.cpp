// F and its buckets. The order of every floating-point operation here is part of the result.
#include "vgpualloc/metrics/fragmentation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

/// The buckets in which pods that ask for devices lose: a lane of the sum each. Without enough CPU a pod's lane is
/// whether it has access to a device (0 or 1) plus whether enough fit; with it, the last one or the first.
constexpr std::array lossy_buckets{fragmentation_bucket::no_access, fragmentation_bucket::lack_both,
                                   fragmentation_bucket::lack_cpu, fragmentation_bucket::lack_gpu};
constexpr std::size_t lanes = lossy_buckets.size();

constexpr std::array<std::array<double, lanes>, lanes> one_hot = [] {
    std::array<std::array<double, lanes>, lanes> rows{};
    for (std::size_t i = 0; i < lanes; ++i) rows[i][i] = 1.0;
    return rows;
}();

constexpr std::size_t bucket(fragmentation_bucket which) noexcept { return static_cast<std::size_t>(which); }

/// The first of each: containers that ask for the same lack devices together. Units of one container, which have an
/// entry each, are devices here: where several may be of one device, that is more than is needed.
std::vector<device_request> without_repetitions(const std::vector<device_request>& containers) {
    std::set<device_request> known;
    std::vector<device_request> distinct;
    for (const device_request& container : containers) {
        device_request wanted = container;
        if (wanted.units > 1) wanted.count = wanted.units;
        if (known.insert(wanted).second) distinct.push_back(wanted);
    }
    return distinct;
}

} // namespace

fragmentation_model::fragmentation_model(const workload& target) {
    for (const typical_request& pod : target.typical) cpu_steps_.push_back(pod.cpu);
    std::sort(cpu_steps_.begin(), cpu_steps_.end());
    cpu_steps_.erase(std::unique(cpu_steps_.begin(), cpu_steps_.end()), cpu_steps_.end());
    index_cpu_steps();
    list_needs(target);
    list_columns();
    weigh_needs(target);
}

void fragmentation_model::list_needs(const workload& target) {
    for (const typical_request& pod : target.typical) {
        const auto step = std::ranges::lower_bound(cpu_steps_, pod.cpu) - cpu_steps_.begin();
        typical entry{.frequency = pod.frequency, .need = 0, .step = static_cast<std::uint32_t>(step)};
        if (pod.containers.empty()) {
            without_devices_.push_back(entry);
            continue;
        }
        auto containers = without_repetitions(pod.containers);
        const auto need = std::ranges::find(needs_, containers);
        entry.need = static_cast<std::uint32_t>(need - needs_.begin());
        if (need == needs_.end()) needs_.push_back(std::move(containers));
        with_devices_.push_back(entry);
        frequency_of_.push_back(entry.frequency);
        need_of_.push_back(static_cast<std::int32_t>(entry.need));
        step_of_.push_back(static_cast<std::int32_t>(entry.step));
    }
}

void fragmentation_model::list_columns() {
    const auto count_of = [](const device_request& container) { return static_cast<std::int32_t>(container.count); };
    for (const auto& containers : needs_) wanted_.push_back(count_of(containers.front()));
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        for (std::size_t c = 1; c < needs_[n].size(); ++c) {
            extras_.push_back(
                {.need = static_cast<std::uint32_t>(n), .column = static_cast<std::uint32_t>(wanted_.size())});
            wanted_.push_back(count_of(needs_[n][c]));
        }
    }
    offered_.resize(wanted_.size() + needs_.size());
    lost_.resize(2 * needs_.size());
    lane_.resize(2 * needs_.size());
    case_of_.resize(need_of_.size());
}

void fragmentation_model::weigh_needs(const workload& target) {
    constexpr double weight_of_all = 1e6; // for frequencies that come without weights
    covered_weight_.resize(ranks_ * needs_.size());
    std::size_t position = 0; // in with_devices_
    for (const typical_request& pod : target.typical) {
        const auto weight =
            pod.weight > 0 ? pod.weight : static_cast<std::int64_t>(pod.frequency * weight_of_all + 0.5);
        weight_sum_ += weight;
        if (pod.containers.empty()) continue;
        const typical& entry = with_devices_[position++];
        for (std::size_t rank = entry.step + 1; rank < ranks_; ++rank) {
            covered_weight_[rank * needs_.size() + entry.need] += weight;
        }
    }
    // An empty workload fragments nothing, and 0 / 1 says so.
    total_weight_ = std::max(static_cast<double>(weight_sum_), 1.0);
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

void fragmentation_model::offer(const device_view& device, std::int32_t* row) const {
    std::fill_n(row, offered_.size(), 0);
    const auto ask = [&](std::size_t need, std::size_t column, const device_request& request) {
        if (why_never(*device.spec, request) != rejection_code::none) return;
        row[need] |= accepted_one;
        if (why_not(device, request).code != rejection_code::none) return;
        row[column] |= 1;
        row[wanted_.size() + need] = static_cast<std::int32_t>(device.free().count());
    };
    for (std::size_t n = 0; n < needs_.size(); ++n) ask(n, n, needs_[n].front());
    std::size_t container = 1;
    for (std::size_t e = 0; e < extras_.size(); ++e) {
        container = e > 0 && extras_[e - 1].need == extras_[e].need ? container + 1 : 1;
        ask(extras_[e].need, extras_[e].column, needs_[extras_[e].need][container]);
    }
}

void fragmentation_model::learn(const device_view& device) {
    const std::size_t width = offered_.size();
    if (device.id >= offers_known_.size()) {
        offers_known_.resize(std::max<std::size_t>(device.id + std::size_t{16}, offers_known_.size() * 2));
        offers_.resize(offers_known_.size() * width);
    }
    offer(device, offers_.data() + device.id * width);
    offers_known_[device.id] = 1;
}

void fragmentation_model::add_rows(const device_config& config) {
    const std::size_t width = offered_.size();
    for (const device_view* device : config.devices) {
        if (device->id >= offers_known_.size() || offers_known_[device->id] == 0) learn(*device);
    }
    const auto row = [&](std::size_t device) { return offers_.data() + config.devices[device]->id * width; };
    std::int32_t* sums = offered_.data();
    std::size_t d = 0;
    for (; d + 4 <= config.devices.size(); d += 4) { // four rows at a time spare writing the sums in between
        const std::array rows{row(d), row(d + 1), row(d + 2), row(d + 3)};
        for (std::size_t i = 0; i < width; ++i) sums[i] += (rows[0][i] + rows[1][i]) + (rows[2][i] + rows[3][i]);
    }
    for (; d < config.devices.size(); ++d) {
        const std::int32_t* last = row(d);
        for (std::size_t i = 0; i < width; ++i) sums[i] += last[i];
    }
}

void fragmentation_model::summarise(const device_config& config) {
    VGA_ASSERT(config.devices.size() < accepted_one / 2, "the devices of one node are counted in half a signed number");
    std::ranges::fill(offered_, 0);
    if (config.id != not_interned) {
        add_rows(config);
    } else {
        std::vector<std::int32_t> row(offered_.size());
        for (const device_view* device : config.devices) {
            offer(*device, row.data());
            for (std::size_t i = 0; i < row.size(); ++i) offered_[i] += row[i];
        }
    }
    for (const extra_column& extra : extras_) { // any container that lacks devices makes the first one lack them
        if ((offered_[extra.column] & fits_mask) < wanted_[extra.column]) offered_[extra.need] &= ~fits_mask;
    }
}

/// For each need what of the idle amount a pod loses, and in which lane: first without, then with enough CPU.
/// Arithmetic instead of branches, and arrays that the compiler knows not to overlap, so that it does several needs at
/// a time: compute() takes 290 ns so and 385 ns without VGA_RESTRICT (150 typical pods, 8 devices, g++ 12 -O3).
void fragmentation_model::list_losses(std::int32_t idle) {
    const auto list = [idle](std::size_t needs, const std::int32_t* VGA_RESTRICT offered,
                             const std::int32_t* VGA_RESTRICT usable_on, const std::int32_t* VGA_RESTRICT demand,
                             std::int32_t* VGA_RESTRICT lane, std::int32_t* VGA_RESTRICT lane_with_cpu,
                             std::int32_t* VGA_RESTRICT lost_with_cpu) {
        for (std::size_t n = 0; n < needs; ++n) {
            const std::int32_t accepted = static_cast<int>(offered[n] >= accepted_one);
            const std::int32_t fits = accepted & static_cast<int>((offered[n] & fits_mask) >= demand[n]);
            lane[n] = accepted + fits;
            lane_with_cpu[n] = 3 * accepted;
            lost_with_cpu[n] = idle - (usable_on[n] & -fits);
        }
    };
    const std::size_t needs = needs_.size();
    std::fill_n(lost_.data(), needs, idle);
    list(needs, offered_.data(), offered_.data() + wanted_.size(), wanted_.data(), lane_.data(), lane_.data() + needs,
         lost_.data() + needs);
}

// Every bucket is its own chain of additions in the order of the workload. Adding 0.0 to the other buckets changes none
// of them: compute() takes 290 ns so and 375 ns with one addition to a chosen bucket (measured as above).
fragmentation_buckets fragmentation_model::compute(const device_config& config, std::size_t rank) {
    using enum fragmentation_bucket;
    summarise(config);
    list_losses(static_cast<std::int32_t>(config.free.count()));
    const auto covered = static_cast<std::int32_t>(rank);
    const auto needs = static_cast<std::int32_t>(needs_.size());
    for (std::size_t i = 0; i < case_of_.size(); ++i) case_of_[i] = need_of_[i] + (step_of_[i] < covered ? needs : 0);
    std::array<double, lanes> sums{};
    for (std::size_t i = 0; i < frequency_of_.size(); ++i) {
        const auto which = static_cast<std::size_t>(case_of_[i]);
        const double amount = frequency_of_[i] * static_cast<double>(lost_[which]);
        const auto& of_lane = one_hot[static_cast<std::size_t>(lane_[which])];
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += amount * of_lane[lane];
    }
    fragmentation_buckets result;
    for (std::size_t lane = 0; lane < lanes; ++lane) result.milli[bucket(lossy_buckets[lane])] = sums[lane];
    const auto idle = static_cast<double>(config.free.count());
    std::array<double, 2> without_devices{};
    for (const typical& pod : without_devices_) {
        const double amount = pod.frequency * idle;
        without_devices[0] += pod.step < rank ? amount : 0.0;
        without_devices[1] += pod.step < rank ? 0.0 : amount;
    }
    result.milli[bucket(xl_satisfied)] = without_devices[0];
    result.milli[bucket(xr_lack_cpu)] = without_devices[1];
    return result;
}

fragmentation_buckets fragmentation_model::buckets(const device_config& config, milli_cpu cpu_left) {
    if (config.devices.empty()) return {};
    const std::size_t rank = cpu_rank(cpu_left);
    fragmentation_buckets result = compute(config, rank);
    double& satisfied = result.milli[bucket(fragmentation_bucket::satisfied)];
    for (const typical& pod : with_devices_) {
        if (suffices(pod.need) && pod.step < rank) {
            satisfied += pod.frequency * static_cast<double>(usable(pod.need));
        }
    }
    return result;
}

double fragmentation_model::compute_weighted(const device_config& config, std::size_t rank) {
    summarise(config);
    std::int64_t sum = weight_sum_ * config.free.count();
    const std::int64_t* covered = covered_weight_.data() + rank * needs_.size();
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        sum -= covered[n] * (suffices(n) ? usable(n) : 0);
    }
    return static_cast<double>(sum);
}

void fragmentation_model::rank_memo::insert(std::uint64_t key, double value) {
    if (++used * 4 > entries.size() * 3) {
        std::vector<entry> old(entries.size() * 2);
        old.swap(entries);
        for (const entry& moved : old) {
            if (moved.key != no_key) at(moved.key) = moved;
        }
    }
    at(key) = {.key = key, .value = value};
}

void fragmentation_model::forget_ids() {
    offers_known_.clear();
    offers_.clear();
    rounded_memo_ = {};
    exact_memo_ = {};
}

} // namespace vgpualloc
