// F and its buckets. The order of every floating-point operation here is part of the result.
#include "vgpualloc/metrics/fragmentation.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

constexpr std::size_t containers_max = 7; // answers pack one bit per container beside the acceptance bit

constexpr std::size_t bucket(fragmentation_bucket which) noexcept { return static_cast<std::size_t>(which); }

} // namespace

fragmentation_model::fragmentation_model(const workload& target) {
    for (const typical_request& each : target.typical) {
        typical entry{
            .cpu = each.cpu, .frequency = each.frequency, .need = 0, .uses_devices = !each.containers.empty()};
        if (entry.uses_devices) {
            VGA_ASSERT(each.containers.size() <= containers_max, "a typical request has at most seven containers");
            const auto found = std::find(needs_.begin(), needs_.end(), each.containers);
            entry.need = static_cast<std::uint32_t>(found - needs_.begin());
            if (found == needs_.end()) needs_.push_back(each.containers);
        }
        typicals_.push_back(entry);
        cpu_steps_.push_back(each.cpu);
    }
    std::sort(cpu_steps_.begin(), cpu_steps_.end());
    cpu_steps_.erase(std::unique(cpu_steps_.begin(), cpu_steps_.end()), cpu_steps_.end());
    index_cpu_steps();
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

void fragmentation_model::answer(const device_view& device, std::vector<std::uint8_t>& out) const {
    out.assign(needs_.size(), 0);
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        for (std::size_t c = 0; c < needs_[n].size(); ++c) {
            const rejection_code code = why_not(*device.spec, device.state, needs_[n][c]).code;
            if (code != rejection_code::model_not_accepted) out[n] = static_cast<std::uint8_t>(out[n] | 1U);
            if (code == rejection_code::none) out[n] = static_cast<std::uint8_t>(out[n] | (2U << c));
        }
    }
}

const std::vector<std::uint8_t>& fragmentation_model::answers_of(const device_view& device) {
    if (device.id == not_interned) {
        answer(device, scratch_answers_);
        return scratch_answers_;
    }
    if (device.id >= answers_.size()) answers_.resize(device.id + 1);
    device_answer& kept = answers_[device.id];
    if (!kept.known) {
        answer(device, kept.per_need);
        kept.known = true;
    }
    return kept.per_need;
}

void fragmentation_model::summarise(const device_config& config, std::span<std::int32_t> out) {
    struct tally {
        std::array<std::int32_t, containers_max> fitting{};
        std::int64_t rest = 0;
        bool accepted = false;
    };
    std::vector<tally> tallies(needs_.size());
    for (const device_view* device : config.devices) {
        const auto& answers = answers_of(*device);
        for (std::size_t n = 0; n < needs_.size(); ++n) {
            const unsigned fits = answers[n] >> 1U;
            tallies[n].accepted = tallies[n].accepted || (answers[n] & 1U) != 0;
            if (fits == 0) tallies[n].rest += device->free().count();
            for (std::size_t c = 0; c < needs_[n].size(); ++c) {
                tallies[n].fitting[c] += static_cast<std::int32_t>((fits >> c) & 1U);
            }
        }
    }
    for (std::size_t n = 0; n < needs_.size(); ++n) {
        bool enough = true;
        for (std::size_t c = 0; c < needs_[n].size(); ++c) {
            enough = enough && tallies[n].fitting[c] >= needs_[n][c].count;
        }
        out[n] = !tallies[n].accepted ? not_accepted : enough ? static_cast<std::int32_t>(tallies[n].rest) : too_few;
    }
}

std::span<const std::int32_t> fragmentation_model::summary_of(const device_config& config) {
    const std::size_t width = needs_.size();
    if (config.id == not_interned) {
        scratch_summary_.resize(width);
        summarise(config, scratch_summary_);
        return scratch_summary_;
    }
    const std::size_t begin = config.id * width;
    if (begin + width > summaries_.size()) summaries_.resize(begin + width, unknown);
    const std::span<std::int32_t> kept{summaries_.data() + begin, width};
    if (!kept.empty() && kept.front() == unknown) summarise(config, kept);
    return kept;
}

fragmentation_buckets fragmentation_model::accumulate(std::span<const std::int32_t> summary, milli_gpu free,
                                                      milli_cpu cpu_left) const noexcept {
    fragmentation_buckets result;
    const auto idle = static_cast<double>(free.count());
    const auto add = [&result](fragmentation_bucket which, double amount) { result.milli[bucket(which)] += amount; };
    for (const typical& each : typicals_) {
        const bool cpu_suffices = cpu_left >= each.cpu;
        if (!each.uses_devices) {
            add(cpu_suffices ? fragmentation_bucket::xl_satisfied : fragmentation_bucket::xr_lack_cpu,
                each.frequency * idle);
            continue;
        }
        const std::int32_t rest = summary[each.need];
        if (rest == not_accepted) {
            add(fragmentation_bucket::no_access, each.frequency * idle);
        } else if (rest >= 0 && cpu_suffices) {
            add(fragmentation_bucket::lack_gpu, each.frequency * static_cast<double>(rest));
            add(fragmentation_bucket::satisfied, each.frequency * static_cast<double>(free.count() - rest));
        } else if (rest >= 0) {
            add(fragmentation_bucket::lack_cpu, each.frequency * idle);
        } else {
            add(cpu_suffices ? fragmentation_bucket::lack_gpu : fragmentation_bucket::lack_both, each.frequency * idle);
        }
    }
    return result;
}

fragmentation_buckets fragmentation_model::buckets(const device_config& config, milli_cpu cpu_left) {
    if (config.devices.empty()) return {};
    return accumulate(summary_of(config), config.free, cpu_left);
}

double fragmentation_model::compute_unusable(const device_config& config, milli_cpu cpu_left) {
    const double value = buckets(config, cpu_left).unusable();
    if (config.id == not_interned) return value;
    const std::size_t end = (static_cast<std::size_t>(config.id) + 1) * ranks_;
    if (end > unusable_.size()) unusable_.resize(end, std::numeric_limits<double>::quiet_NaN());
    unusable_[static_cast<std::size_t>(config.id) * ranks_ + cpu_rank(cpu_left)] = value;
    return value;
}

void fragmentation_model::forget_ids() {
    answers_.clear();
    summaries_.clear();
    unusable_.clear();
}

} // namespace vgpualloc
