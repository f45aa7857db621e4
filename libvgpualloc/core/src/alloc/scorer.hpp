// What a placement on one node is worth to the policies, and which devices it takes: from interned states, remembered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "alloc/change_scores.hpp"
#include "alloc/device_chooser.hpp"
#include "alloc/outcome_table.hpp"
#include "alloc/part_table.hpp"
#include "alloc/score_tree.hpp"
#include "alloc/totals_chooser.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

/// A request as the scorer knows it.
struct scored_request {
    pod_request request;
    std::int64_t devices = 0;           ///< over all containers
    std::vector<std::uint32_t> parts{}; ///< by container
    std::uint32_t shape = 0;            ///< of these parts, where a policy looks at whole configurations
    bool several = false;               ///< containers that want devices: the greedy choice may fail where one fits
    /// Of a policy of moving prices, a request for one device: nodes are not scored, but changes of devices.
    bool by_changes = false;
    change_scores changes{};

    [[nodiscard]] request_view view() const noexcept { return {.request = &request, .devices = devices}; }
    [[nodiscard]] parts_view in_parts() const noexcept { return {.request = view(), .parts = parts}; }
};

/// Scores nodes for policies that look at states, not at positions. Where both look at totals alone no configuration
/// afterwards is ever looked up.
class node_scorer {
public:
    node_scorer(state_table& states, policy_pair policies, pair_traits traits);

    /// Fills in what is remembered by. Undone by forget(request).
    void enter(scored_request& request);
    void forget(const scored_request& request);

    /// The node score of the best devices, or infeasible_because(code). `before` has an interned configuration.
    VGA_HOT [[nodiscard]] double score(const scored_request& request, const node_view& before);
    /// Whether the devices of a configuration can serve a request that is scored by changes: 0, or
    /// infeasible_because(code).
    [[nodiscard]] double fit(const scored_request& request, const device_config& config) {
        const outcome_list outcomes = outcomes_.of(request.shape, config.id, config);
        return outcomes.code == rejection_code::none ? 0.0 : infeasible_because(outcomes.code);
    }
    /// The score of the best step that a device offers a request that is scored by changes; change_scores::nothing if
    /// it offers none. After refresh_changes().
    [[nodiscard]] double best_change(scored_request& request, const device_view& device) {
        return request.changes.best(device, request.parts.front(), parts_, *states_, *traits_.priced);
    }
    void refresh_changes(scored_request& request, std::uint64_t id_generation) const {
        request.changes.refresh(*traits_.priced, id_generation);
    }
    /// Whether a configuration that score() refuses might serve the request all the same, as each container alone fits.
    [[nodiscard]] bool may_fit_otherwise(const scored_request& request, const device_config& config);
    /// Why a configuration refuses the request; none if it does not or if that is not remembered.
    [[nodiscard]] rejection_code known_refusal(const scored_request& request, std::uint32_t config) const noexcept {
        if (request.several) return rejection_code::none;
        if (!traits_.by_totals) return outcomes_.known_refusal(request.shape, config);
        return request.parts.size() == 1 ? parts_.known_refusal(request.parts.front(), config) : rejection_code::none;
    }
    /// Says that score() will soon be asked about this configuration. Only for policies that look at totals alone.
    void expect(const scored_request& request, const device_config& config) const noexcept {
        totals_.expect(request.in_parts(), config);
    }
    /// Fills `shares` from the node's devices by index; false if the request does not fit. Draws among equal devices
    /// only if `may_draw`.
    VGA_HOT [[nodiscard]] bool choose(const scored_request& request, const node_view& before,
                                      std::span<const device_view* const> devices, bool may_draw,
                                      small_vector<device_share, 1>& shares);

    /// Ids of states are about to be given anew.
    void forget_ids();
    /// Whether what is remembered takes so much room that ids had better be given anew.
    [[nodiscard]] bool is_crowded() const noexcept { return outcomes_.is_crowded() || parts_.is_crowded(); }

private:
    [[nodiscard]] double stepwise_score(const scored_request& request, const node_view& before);
    VGA_HOT [[nodiscard]] double best_score(const scored_request& request, const node_view& before,
                                            std::span<outcome> ways);

    policy_pair policies_;
    pair_traits traits_;
    state_table* states_;
    part_table parts_;
    outcome_table outcomes_;
    device_chooser chooser_;
    totals_chooser totals_;
    std::vector<const device_view*> devices_; ///< of the node being scored
    small_vector<device_share, 1> shares_;
};

} // namespace vgpualloc
