// The choice of devices for policies that score by totals: no configuration needs to be known but the one that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/device_chooser.hpp"
#include "alloc/part_table.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// Chooses as device_chooser does (and says there how), from the states of the devices and the node's totals alone.
/// Both policies score by totals.
class totals_chooser {
public:
    totals_chooser(part_table& table, policy_pair policies)
        : table_{&table}, policies_{policies}, draws_devices_{traits_of(policies).draws_devices} {}

    /// The node score of the choice on `before`, or infeasible_because(code).
    VGA_HOT [[nodiscard]] double score(const parts_view& wanted, const node_view& before);

    /// Says that score() will soon be asked about a node in this configuration.
    void expect(const parts_view& wanted, const device_config& config) const noexcept {
        if (!wanted.parts.empty()) table_->expect(wanted.parts.front(), config.devices);
    }

    /// Fills `shares` from the node's devices by index; false if the request does not fit. Draws among equal devices
    /// only if `may_draw`.
    VGA_HOT [[nodiscard]] bool choose(const parts_view& wanted, const node_view& before,
                                      std::span<const device_view* const> physical, bool may_draw,
                                      small_vector<device_share, 1>& shares);

private:
    /// What a step adds to a node's totals.
    struct change {
        milli_gpu used;
        std::int64_t devices_free_whole = 0;

        bool operator==(const change&) const = default;
    };
    /// A way to take one of `copies` equal devices, the first of which is at `index`.
    struct option {
        const device_view* before = nullptr;
        const device_view* after = nullptr;
        change adds;
        std::uint32_t index = 0;
        std::uint32_t copies = 1;
    };
    /// The pod on the node so far, and with one more step that is being tried.
    struct progress {
        const request_view* request = nullptr;
        const node_view* before = nullptr;
        device_config totals; ///< with what was taken so far
        device_config tried;  ///< the totals after the step being tried
        node_view after;      ///< the node with these
        bool draws = false;

        progress(const request_view& wanted, const node_view& start);
        progress(const progress&) = delete; // `after` points to `tried`
        progress& operator=(const progress&) = delete;
        ~progress() = default;
    };

    [[nodiscard]] double score_of_one(const parts_view& wanted, const node_view& before);
    [[nodiscard]] static option option_of(const device_view& before, const part_table::answer& answer,
                                          std::uint32_t way) noexcept;
    [[nodiscard]] double device_score(progress& on, const option& tried);
    template <class Taken>
    [[nodiscard]] rejection_code run(const parts_view& wanted, progress& on, bool only_totals, Taken&& taken);
    [[nodiscard]] rejection_code take_any(const parts_view& wanted, progress& on, std::size_t container);
    [[nodiscard]] bool options_add_alike() const noexcept;
    void ask_devices(std::uint32_t part);
    void list_options(std::uint32_t part, bool merged);
    void score_options(progress& on);
    void drop_ways_that_never_win();
    [[nodiscard]] std::size_t best_option(progress& on);
    [[nodiscard]] std::size_t draw_option(progress& on, std::size_t best);
    [[nodiscard]] double node_score(progress& on, const option& taken);
    [[nodiscard]] bool settles_tie(progress& on, const option& a, const option& b);
    void take(progress& on, std::size_t chosen);
    [[nodiscard]] rejection_code why_not(std::uint32_t part, std::int64_t already);

    part_table* table_;
    policy_pair policies_;
    bool draws_devices_ = false;
    std::vector<const device_view*> devices_; ///< of the node, with what was taken so far
    std::vector<part_table::answer> answers_; ///< of the devices to the container at hand
    std::vector<option> options_;             ///< of the container at hand, by index and way
    std::vector<double> scores_;              ///< of the options' devices; not a number for those that were taken
    std::size_t options_left_ = 0;
    std::vector<std::size_t> tied_;
};

} // namespace vgpualloc
