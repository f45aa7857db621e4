// Which devices of a given node a pod gets: step by step, the best device for each one that a container asks for.
#pragma once

#include <span>
#include <vector>

#include "alloc/outcome_table.hpp"
#include "alloc/part_table.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

/// A request with what its containers are called in the part table.
struct parts_view {
    request_view request;
    std::span<const std::uint32_t> parts; ///< by container
};

/// Chooses greedily: containers in order, devices one by one, a container's devices all different. Each step takes the
/// highest device score, then the highest node score, then (only where several steps follow each other, so that the
/// outcome does not depend on which of two unlike devices has the lower index) the smallest state, then the lowest
/// index.
class device_chooser {
public:
    device_chooser(state_table& states, part_table& parts, outcome_table& outcomes, policy_pair policies)
        : states_{&states}, parts_{&parts}, outcomes_{&outcomes}, policies_{policies}, traits_{traits_of(policies)} {}

    /// Fills `shares`; `physical` are the node's devices by index and `ways` the outcomes known for a request of one
    /// device (empty otherwise). Gives the configuration afterwards, or null if the request does not fit. Draws among
    /// equal devices only if `may_draw`.
    VGA_HOT [[nodiscard]] const device_config* choose(const parts_view& wanted, const node_view& before,
                                                      std::span<const device_view* const> physical,
                                                      std::span<outcome> ways, bool may_draw,
                                                      small_vector<device_share, 1>& shares);

    /// Why the last choose() gave null.
    [[nodiscard]] rejection_code refused() const noexcept { return refused_; }

private:
    struct option {
        outcome way;
        double device_score = 0.0;
        double node_score = 0.0;

        [[nodiscard]] bool ties_with(const option& other) const noexcept {
            return device_score == other.device_score && node_score == other.node_score;
        }
    };
    void list_options(const device_config& now, std::uint32_t part);
    [[nodiscard]] rejection_code why_not(std::uint32_t part, std::int64_t already);
    void score_options(const request_view& request, const node_view& before);
    [[nodiscard]] static bool better(const option& a, const option& b, bool by_state) noexcept;
    [[nodiscard]] const option& best_option(bool by_state) const;
    [[nodiscard]] const option* tied_option_on(std::size_t index, const option& best) const noexcept;
    VGA_HOT [[nodiscard]] std::size_t pick_device(const option& best, const request_view& request, bool may_draw);

    rejection_code refused_ = rejection_code::none;
    state_table* states_;
    part_table* parts_;
    outcome_table* outcomes_;
    policy_pair policies_;
    pair_traits traits_;
    std::vector<const device_view*> current_; ///< by index
    std::vector<std::uint8_t> taken_;         ///< by the container at hand
    std::vector<option> options_;             ///< of the step at hand, one per unlike device and way
    std::vector<std::size_t> tied_;
};

} // namespace vgpualloc
