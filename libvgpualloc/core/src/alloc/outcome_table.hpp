// What a request can make of a configuration of devices: the memoised transitions (configuration, shape) ->
// configuration.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "alloc/part_table.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

/// One way to serve a request: `before` becomes `after`, which makes the configuration `next`. Both devices are null
/// where there is nothing to choose (no devices, or all that fit are alike); otherwise `next` is null until it is asked
/// for, because finding the configuration costs more than everything else.
struct outcome {
    const device_view* before = nullptr;
    const device_view* after = nullptr;
    const device_config* next = nullptr;
};

/// All ways, or why there is none.
struct outcome_list {
    rejection_code code = rejection_code::none; ///< none: it fits
    bool stepwise = false;                      ///< several steps with a choice: the device chooser must decide
    std::span<outcome> ways{};                  ///< valid until the next call; empty if stepwise or refused
};

class outcome_table {
public:
    outcome_table(state_table& states, part_table& parts) : states_{&states}, parts_{&parts} {}

    /// A number for the device part of a request, the same for equal ones until each was removed. `parts` are its
    /// containers in the part table, where they stay until then.
    [[nodiscard]] std::uint32_t add(const std::vector<std::uint32_t>& parts);
    void remove(std::uint32_t shape);

    /// `id` is the configuration's own, given apart so that a refusal does not touch the configuration.
    [[nodiscard]] outcome_list of(std::uint32_t shape, std::uint32_t id, const device_config& config) {
        const auto& known = memo_[shape];
        const std::uint32_t kept = id < known.size() ? known[id] : 0;
        const std::uint32_t entry = kept != 0 ? kept : remember(shape, config);
        if (entry < record_base) return {.code = static_cast<rejection_code>(entry)};
        const record& kept_ways = records_[entry - record_base];
        return {.code = rejection_code::none,
                .stepwise = kept_ways.count == 0,
                .ways = {pool_.data() + kept_ways.first, kept_ways.count}};
    }

    /// Why a configuration refuses a request; none if it does not or if nobody asked.
    [[nodiscard]] rejection_code known_refusal(std::uint32_t shape, std::uint32_t config) const noexcept {
        const auto& known = memo_[shape];
        const std::uint32_t kept = config < known.size() ? known[config] : 0;
        return kept < record_base ? static_cast<rejection_code>(kept) : rejection_code::none;
    }

    /// The configuration that a way of `config` leads to.
    [[nodiscard]] const device_config& next_of(outcome& way, const device_config& config) {
        if (way.next == nullptr) way.next = &states_->replace(config, *way.before, *way.after);
        return *way.next;
    }

    /// Drops the memo, because the state table was cleared. Shapes keep their numbers.
    void clear();
    /// Whether outcomes of shapes that were removed take more room than those that are there may.
    [[nodiscard]] bool is_crowded() const noexcept { return outcomes_lost_ > outcomes_lost_max; }

private:
    struct record {
        std::uint32_t first = 0;
        std::uint32_t count = 0; ///< 0 = stepwise
    };
    /// Entries of memo_: 0 = not computed, below record_base = a rejection code, else record_base + record number.
    static constexpr std::uint32_t record_base = 64;

    VGA_HOT [[nodiscard]] std::uint32_t remember(std::uint32_t shape, const device_config& config);
    VGA_HOT [[nodiscard]] std::uint32_t compute(std::uint32_t shape, const device_config& config);
    VGA_HOT [[nodiscard]] std::uint32_t single_device(std::uint32_t part, const device_config& config);
    [[nodiscard]] std::uint32_t several_devices(const std::vector<std::uint32_t>& parts, const device_config& config);
    VGA_HOT [[nodiscard]] std::uint32_t keep(std::size_t first);

    state_table* states_;
    part_table* parts_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
    struct shape_record {
        const std::vector<std::uint32_t>* parts = nullptr; ///< by container
        std::uint32_t users = 0;
    };
    static constexpr std::size_t outcomes_lost_max = std::size_t{1} << 21;

    std::vector<shape_record> shapes_;
    std::vector<std::uint32_t> free_;              ///< numbers of shapes that were removed
    std::size_t outcomes_lost_ = 0;                ///< in pool_, of shapes that were removed
    std::vector<std::vector<std::uint32_t>> memo_; ///< [shape][configuration id]
    std::vector<record> records_;
    std::vector<outcome> pool_;
};

} // namespace vgpualloc
