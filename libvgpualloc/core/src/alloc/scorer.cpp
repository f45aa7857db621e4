// Scoring a node by what is remembered of its devices' states.
#include "alloc/scorer.hpp"

namespace vgpualloc {

node_scorer::node_scorer(state_table& states, policy_pair policies, pair_traits traits)
    : policies_{policies}, traits_{traits}, states_{&states}, outcomes_{states, parts_},
      chooser_{states, parts_, outcomes_, policies}, totals_{parts_, policies} {}

void node_scorer::enter(scored_request& request) {
    request.devices = 0;
    std::int64_t wanting = 0;
    for (const device_request& container : request.request.containers) {
        request.devices += container.count;
        wanting += container.count > 0 ? 1 : 0;
        request.parts.push_back(parts_.add(container));
    }
    request.several = wanting > 1;
    request.by_changes = traits_.priced != nullptr && request.devices == 1 && request.parts.size() == 1;
    if (!traits_.by_totals) request.shape = outcomes_.add(request.parts);
}

bool node_scorer::may_fit_otherwise(const scored_request& request, const device_config& config) {
    if (!request.several) return false;
    parts_.forget_passing();
    for (std::size_t c = 0; c < request.parts.size(); ++c) {
        std::int64_t short_of = request.request.containers[c].count;
        for (const device_view* device : config.devices) {
            if (short_of == 0) break;
            if (parts_.of(request.parts[c], *device).count > 0) --short_of;
        }
        if (short_of > 0) return false;
    }
    return true;
}

void node_scorer::forget(const scored_request& request) {
    if (!traits_.by_totals) outcomes_.remove(request.shape);
    for (const std::uint32_t part : request.parts) parts_.remove(part);
}

void node_scorer::forget_ids() {
    outcomes_.clear();
    parts_.forget();
    policies_.node->forget_ids();
    if (policies_.device != policies_.node) policies_.device->forget_ids();
}

double node_scorer::stepwise_score(const scored_request& request, const node_view& before) {
    devices_.assign(before.config->devices.begin(), before.config->devices.end());
    const device_config* next = chooser_.choose(request.in_parts(), before, devices_, {}, false, shares_);
    if (next == nullptr) return infeasible_because(chooser_.refused());
    const node_view after{.node = before.node,
                          .cpu_capacity = before.cpu_capacity,
                          .cpu_left = before.cpu_left - request.request.cpu,
                          .config = next};
    return checked_score(policies_.node->node_score(request.view(), before, after));
}

/// The score of the best way on one node: by device score, then by node score.
double node_scorer::best_score(const scored_request& request, const node_view& before, std::span<outcome> ways) {
    const request_view view = request.view();
    node_view after = before;
    after.cpu_left = before.cpu_left - request.request.cpu;
    const bool compare_devices = ways.size() > 1 && !traits_.one_score;
    double best = infeasible_score;
    double best_device = infeasible_score;
    for (outcome& way : ways) {
        after.config = &outcomes_.next_of(way, *before.config);
        const double score = policies_.node->node_score(view, before, after);
        const double device =
            compare_devices ? policies_.device->device_score(view, before, after, {way.before, way.after}) : 0.0;
        if (device > best_device || (device == best_device && score > best)) {
            best_device = device;
            best = score;
        }
    }
    return best;
}

double node_scorer::score(const scored_request& request, const node_view& before) {
    if (traits_.by_totals) return totals_.score(request.in_parts(), before);
    const outcome_list outcomes = outcomes_.of(request.shape, before.config->id, *before.config);
    if (outcomes.code != rejection_code::none) return infeasible_because(outcomes.code);
    if (outcomes.stepwise) return stepwise_score(request, before);
    return checked_score(best_score(request, before, outcomes.ways));
}

bool node_scorer::choose(const scored_request& request, const node_view& before,
                         std::span<const device_view* const> devices, bool may_draw,
                         small_vector<device_share, 1>& shares) {
    if (traits_.by_totals) return totals_.choose(request.in_parts(), before, devices, may_draw, shares);
    const bool single = request.devices == 1 && request.request.containers.size() == 1;
    const auto ways =
        single ? outcomes_.of(request.shape, before.config->id, *before.config).ways : std::span<outcome>{};
    return chooser_.choose(request.in_parts(), before, devices, ways, may_draw, shares) != nullptr;
}

} // namespace vgpualloc
