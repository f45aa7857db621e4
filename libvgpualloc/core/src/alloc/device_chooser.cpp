// The greedy choice of devices.
#include "alloc/device_chooser.hpp"

#include <algorithm>

#include "alloc/step_rules.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

void device_chooser::list_options(const device_config& now, std::uint32_t part) {
    options_.clear();
    parts_->forget_passing();
    for (std::size_t i = 0; i < current_.size(); ++i) {
        const device_view* device = current_[i];
        if (taken_[i] != 0) continue;
        const bool seen = std::ranges::any_of(options_, [&](const option& o) { return o.way.before == device; });
        if (seen) continue;
        const part_table::answer answer = parts_->of(part, *device);
        for (std::uint32_t way = 0; way < answer.count; ++way) {
            const device_view& after = states_->device(*device, answer.after[way].state);
            options_.push_back(
                {.way = {.before = device, .after = &after, .next = &states_->replace(now, *device, after)}});
        }
    }
}

void device_chooser::score_options(const request_view& request, const node_view& before) {
    if (options_.size() <= 1) return; // nothing to compare
    node_view after = before;
    after.cpu_left = before.cpu_left - request.request->cpu;
    for (option& candidate : options_) {
        after.config = candidate.way.next;
        candidate.node_score = policies_.node->node_score(request, before, after);
        candidate.device_score =
            traits_.one_score
                ? candidate.node_score
                : policies_.device->device_score(request, before, after,
                                                 {.before = candidate.way.before, .after = candidate.way.after});
    }
}

bool device_chooser::better(const option& a, const option& b, bool by_state) noexcept {
    if (a.device_score != b.device_score) return a.device_score > b.device_score;
    if (a.node_score != b.node_score) return a.node_score > b.node_score;
    return by_state && goes_first(*a.way.before, a.way.after->state, *b.way.before, b.way.after->state);
}

const device_chooser::option& device_chooser::best_option(bool by_state) const {
    const option* best = &options_.front();
    for (const option& candidate : options_) {
        if (better(candidate, *best, by_state)) best = &candidate;
    }
    return *best;
}

const device_chooser::option* device_chooser::tied_option_on(std::size_t index, const option& best) const noexcept {
    if (taken_[index] != 0) return nullptr;
    for (const option& candidate : options_) {
        if (candidate.way.before == current_[index] && candidate.ties_with(best)) return &candidate;
    }
    return nullptr;
}

std::size_t device_chooser::pick_device(const option& best, const request_view& request, bool may_draw) {
    const bool by_state = request.devices > 1;
    const bool drawn = may_draw && traits_.draws_devices && policies_.device->draws_device_for(request);
    tied_.clear();
    for (std::size_t i = 0; i < current_.size(); ++i) {
        if (!drawn && by_state && current_[i] != best.way.before) continue;
        if (tied_option_on(i, best) == nullptr) continue;
        if (!drawn) return i;
        tied_.push_back(i);
    }
    VGA_ASSERT(!tied_.empty(), "the best option is on one of the devices");
    return tied_[static_cast<std::size_t>(policies_.device->draw(tied_.size()))];
}

/// Why the container gets no device after those that it has.
rejection_code device_chooser::why_not(std::uint32_t part, std::int64_t already) {
    rejection reasons;
    for (std::size_t i = 0; i < current_.size(); ++i) {
        if (taken_[i] != 0) continue;
        const rejection_code code = parts_->refused_because(part, *current_[i], parts_->of(part, *current_[i]));
        ++reasons.nodes[static_cast<std::size_t>(code)];
    }
    return step_refusal(reasons, already);
}

const device_config* device_chooser::choose(const parts_view& wanted, const node_view& before,
                                            std::span<const device_view* const> physical, std::span<outcome> ways,
                                            bool may_draw, small_vector<device_share, 1>& shares) {
    const request_view& request = wanted.request;
    shares.clear();
    current_.assign(physical.begin(), physical.end());
    const device_config* now = before.config;
    const bool by_state = request.devices > 1;
    const auto& containers = request.request->containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
        taken_.assign(current_.size(), 0);
        for (std::int64_t n = 0; n < containers[c].count; ++n) {
            if (by_state || ways.empty()) {
                list_options(*now, wanted.parts[c]);
            } else {
                options_.clear();
                for (outcome& way : ways) {
                    static_cast<void>(outcomes_->next_of(way, *before.config));
                    options_.push_back({.way = way});
                }
            }
            if (options_.empty()) {
                refused_ = why_not(wanted.parts[c], n);
                return nullptr;
            }
            score_options(request, before);
            const option& best = best_option(by_state);
            const std::size_t index = pick_device(best, request, may_draw);
            // A drawn device may be unlike `best`'s: take its own option.
            const outcome way =
                by_state && current_[index] == best.way.before ? best.way : tied_option_on(index, best)->way;
            shares.push_back({.container = static_cast<std::uint32_t>(c),
                              .device = device_index{index},
                              .part = parts_->partition_to(wanted.parts[c], *way.before, way.after->state)});
            now = way.next;
            current_[index] = way.after;
            taken_[index] = 1;
        }
    }
    return now;
}

} // namespace vgpualloc
