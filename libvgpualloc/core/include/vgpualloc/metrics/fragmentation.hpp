// Fragmentation of a node: the idle device capacity that a typical workload cannot use (Weng et al., "Beware of
// Fragmentation", USENIX ATC'23), in the seven buckets of the FGD reference simulator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

enum class fragmentation_bucket : std::uint8_t {
    lack_both,    ///< Q1: neither devices nor CPU suffice
    lack_gpu,     ///< Q2: the devices do not suffice, or are too small a rest
    satisfied,    ///< Q3: usable
    lack_cpu,     ///< Q4: the CPU does not suffice
    xl_satisfied, ///< XL: the typical pod uses no device and fits
    xr_lack_cpu,  ///< XR: the typical pod uses no device and does not fit
    no_access,    ///< NA: no device is of a family, type, model and mode that the typical pod accepts
};
inline constexpr std::size_t fragmentation_bucket_count = 7;

/// Expected idle milli-GPU of a node by what a typical pod could do with it. The buckets add up to the idle amount.
struct fragmentation_buckets {
    std::array<double, fragmentation_bucket_count> milli{};

    /// F, the unusable part: every bucket but `satisfied`, added in the order of the enumeration (bit-exact).
    [[nodiscard]] double unusable() const noexcept {
        double sum = 0.0;
        for (std::size_t i = 0; i < milli.size(); ++i) {
            if (i != static_cast<std::size_t>(fragmentation_bucket::satisfied)) sum += milli[i];
        }
        return sum;
    }
};

/// Computes F for one workload, and remembers it for interned configurations.
///
/// F depends on the devices through, per distinct device need of the workload, whether enough devices fit and how much
/// is idle on those that do, and on the CPU only through which typical pods' CPU it covers. Both are few, so F is
/// kept per (configuration, CPU rank).
class fragmentation_model {
public:
    explicit fragmentation_model(const workload& target);

    /// The buckets of a node, computed afresh.
    [[nodiscard]] fragmentation_buckets buckets(const device_config& config, milli_cpu cpu_left);

    /// F of a node in the reference's floating-point arithmetic: buckets(...).unusable(), from the memo if the
    /// configuration is interned.
    [[nodiscard]] double unusable(const device_config& config, milli_cpu cpu_left) {
        return kept(rounded_memo_, config, cpu_left,
                    [&](std::size_t rank) { return compute(config, rank).unusable(); });
    }

    /// F times total_weight(), computed in integers: states that are equally fragmented compare equal, which sums of
    /// rounded products do not promise. An integer below 2^53.
    [[nodiscard]] double unusable_weighted(const device_config& config, milli_cpu cpu_left) {
        return kept(exact_memo_, config, cpu_left, [&](std::size_t rank) { return compute_weighted(config, rank); });
    }
    [[nodiscard]] double total_weight() const noexcept { return total_weight_; }

    /// Drops what was kept by id.
    void forget_ids();

private:
    /// A typical pod: its CPU is covered from a rank above `step` on.
    struct typical {
        double frequency = 0.0;
        std::uint32_t need = 0; ///< position in needs_
        std::uint32_t step = 0; ///< position in cpu_steps_
    };
    /// A further container of a need that has several.
    struct extra_column {
        std::uint32_t need = 0;
        std::uint32_t column = 0;
    };
    /// Values by (configuration, CPU rank), open addressing. Only the few ranks that a configuration is met with are
    /// kept: a memo that fits the processor's cache saves more here than one that holds every value.
    struct rank_memo {
        struct entry {
            std::uint64_t key = no_key;
            double value = 0.0;
        };
        static constexpr std::uint64_t no_key = ~std::uint64_t{0};

        std::vector<entry> entries = std::vector<entry>(1024); ///< a power of two, at most three quarters full
        std::size_t used = 0;

        /// The entry of the key, or the free one where it belongs.
        [[nodiscard]] entry& at(std::uint64_t key) noexcept {
            const std::size_t mask = entries.size() - 1;
            std::size_t position = mix64(key) & mask;
            while (entries[position].key != key && entries[position].key != no_key) position = (position + 1) & mask;
            return entries[position];
        }
        VGA_HOT void insert(std::uint64_t key, double value);
    };

    template <class Compute>
    [[nodiscard]] double kept(rank_memo& memo, const device_config& config, milli_cpu cpu_left, Compute&& compute) {
        if (config.devices.empty()) return 0.0;
        const std::size_t rank = cpu_rank(cpu_left);
        if (config.id == not_interned) return compute(rank);
        const std::uint64_t key = static_cast<std::uint64_t>(config.id) * ranks_ + rank;
        if (const auto& entry = memo.at(key); entry.key == key) return entry.value;
        const double value = compute(rank);
        memo.insert(key, value);
        return value;
    }

    void list_needs(const workload& target);
    void list_columns();
    void index_cpu_steps();
    void weigh_needs(const workload& target);
    /// Adds up what the devices of a configuration offer, in offered_.
    VGA_HOT void summarise(const device_config& config);
    VGA_HOT void list_losses(std::int32_t idle);
    VGA_HOT void add_rows(const device_config& config);
    void learn(const device_view& device);
    VGA_HOT void offer(const device_view& device, std::int32_t* row) const;
    [[nodiscard]] bool suffices(std::size_t need) const noexcept {
        return (offered_[need] & fits_mask) >= wanted_[need];
    }
    /// Idle milli-GPU on devices that fit a container of the need.
    [[nodiscard]] std::int32_t usable(std::size_t need) const noexcept { return offered_[wanted_.size() + need]; }
    /// The buckets but `satisfied`.
    VGA_HOT [[nodiscard]] fragmentation_buckets compute(const device_config& config, std::size_t rank);
    VGA_HOT [[nodiscard]] double compute_weighted(const device_config& config, std::size_t rank);

    /// How many of the typical CPU requests `cpu_left` covers: a table gives the answer to within the steps that share
    /// one of its cells.
    [[nodiscard]] std::size_t cpu_rank(milli_cpu cpu_left) const noexcept {
        const std::int64_t left = std::max<std::int64_t>(cpu_left.count(), 0);
        const auto cell = std::min(static_cast<std::size_t>(left >> rank_shift_), rank_table_.size() - 1);
        std::size_t rank = rank_table_[cell];
        while (rank < cpu_steps_.size() && cpu_steps_[rank] <= cpu_left) ++rank;
        return rank;
    }

    static constexpr std::int32_t accepted_one = 1 << 16;
    static constexpr std::int32_t fits_mask = accepted_one - 1;

    std::vector<typical> with_devices_;    ///< the workload's pods in its order, those that ask for devices
    std::vector<typical> without_devices_; ///< and those that do not
    std::vector<double> frequency_of_;     ///< of with_devices_, in arrays that vector loops run over
    std::vector<std::int32_t> need_of_;
    std::vector<std::int32_t> step_of_;
    /// Distinct container lists of the workload that ask for devices. A column is one container of one need; column n
    /// is the first container of need n, further containers follow after all needs.
    std::vector<std::vector<device_request>> needs_;
    std::vector<extra_column> extras_;
    std::vector<std::int32_t> wanted_;      ///< devices wanted, per column
    std::vector<milli_cpu> cpu_steps_;      ///< distinct CPU requests, ascending
    std::size_t ranks_ = 1;                 ///< number of CPU ranks
    std::vector<std::uint32_t> rank_table_; ///< per cell of 2^rank_shift_ milli-CPU, the rank of its start
    int rank_shift_ = 0;
    std::int64_t weight_sum_ = 0;
    std::vector<std::int64_t> covered_weight_; ///< [rank][need], of the typical pods whose CPU the rank covers
    double total_weight_ = 0.0;

    /// Per device id, a row of what the state offers, in numbers that configurations add up: per column 1 if the
    /// device fits plus, for the first of a need's columns, accepted_one if the pod has access to it; then per need the
    /// idle amount if the device fits any of its containers.
    std::vector<std::int32_t> offers_;
    std::vector<std::uint8_t> offers_known_; ///< by device id
    std::vector<std::int32_t> offered_;      ///< the sum of rows of the configuration at hand
    std::vector<std::int32_t> lost_;         ///< of the configuration at hand: [CPU suffices][need]
    std::vector<std::int32_t> lane_;         ///< [CPU suffices][need]
    std::vector<std::int32_t> case_of_;      ///< by position in with_devices_, where it looks in the two above
    rank_memo rounded_memo_;
    rank_memo exact_memo_;
};

} // namespace vgpualloc
