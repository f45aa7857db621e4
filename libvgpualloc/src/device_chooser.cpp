// The greedy choice of devices.
#include "vgpualloc/alloc/device_chooser.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

bool device_chooser::list_options(const request_view& request, const node_view& before, const device_config& now,
                                  const device_request& wanted) {
    options_.clear();
    for (std::size_t i = 0; i < current_.size(); ++i) {
        const device_view* device = current_[i];
        if (taken_[i]) continue;
        const bool seen = std::ranges::any_of(options_, [&](const option& o) { return o.before == device; });
        if (seen || why_never(*device->spec, wanted) != rejection_code::none) continue;
        partitions_.clear();
        device->spec->mode->candidates(*device->spec, device->state, wanted, partitions_);
        for (const partition& part : partitions_) {
            const device_view& after =
                states_->device(device->kind, device->spec->mode->with(*device->spec, device->state, part));
            options_.push_back(
                {.before = device, .after = &after, .next = &states_->replace(now, *device, after), .part = part});
        }
    }
    if (options_.size() <= 1) return !options_.empty(); // nothing to compare
    for (option& each : options_) {
        const node_view after{.node = before.node,
                              .cpu_capacity = before.cpu_capacity,
                              .cpu_left = before.cpu_left - request.request->cpu,
                              .config = each.next};
        each.node_score = policies_.node->node_score(request, before, after);
        each.device_score =
            policies_.one_score()
                ? each.node_score
                : policies_.device->device_score(request, before, after, {.before = each.before, .after = each.after});
    }
    return true;
}

bool device_chooser::better(const option& a, const option& b, bool by_state) const noexcept {
    if (a.device_score != b.device_score) return a.device_score > b.device_score;
    if (a.node_score != b.node_score) return a.node_score > b.node_score;
    if (!by_state) return false;
    if (a.before->kind != b.before->kind) return a.before->kind < b.before->kind;
    if (a.before->state != b.before->state) return a.before->state < b.before->state;
    return a.after->state < b.after->state;
}

const device_chooser::option& device_chooser::best_option(bool by_state) const {
    const option* best = &options_.front();
    for (const option& each : options_) {
        if (better(each, *best, by_state)) best = &each;
    }
    return *best;
}

std::size_t device_chooser::pick_device(const option& best, const request_view& request, bool may_draw) {
    if (!may_draw || !policies_.device->draws_device_ties(request)) {
        for (std::size_t i = 0; i < current_.size(); ++i) {
            if (!taken_[i] && current_[i] == best.before) return i;
        }
    }
    std::vector<std::size_t> tied;
    for (std::size_t i = 0; i < current_.size(); ++i) {
        const bool equal = std::ranges::any_of(options_, [&](const option& o) {
            return o.before == current_[i] && o.device_score == best.device_score && o.node_score == best.node_score;
        });
        if (equal && !taken_[i]) tied.push_back(i);
    }
    VGA_ASSERT(!tied.empty(), "the best option is on one of the devices");
    return tied[static_cast<std::size_t>(policies_.device->draw(tied.size()))];
}

const device_config* device_chooser::choose(const request_view& request, const node_view& before,
                                            std::span<const device_view* const> physical, bool may_draw,
                                            small_vector<device_share, 1>& shares) {
    shares.clear();
    current_.assign(physical.begin(), physical.end());
    const device_config* now = before.config;
    const bool by_state = request.devices > 1;
    const auto& containers = request.request->containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
        taken_.assign(current_.size(), false);
        for (std::int64_t n = 0; n < containers[c].count; ++n) {
            if (!list_options(request, before, *now, containers[c])) return nullptr;
            const option& best = best_option(by_state);
            const std::size_t index = pick_device(best, request, may_draw);
            // A drawn device may be unlike `best.before`; take its own best option.
            const auto own = std::ranges::find_if(options_, [&](const option& o) {
                return o.before == current_[index] && o.device_score == best.device_score &&
                       o.node_score == best.node_score;
            });
            shares.push_back(
                {.container = static_cast<std::uint32_t>(c), .device = device_index{index}, .part = own->part});
            now = own->next;
            current_[index] = own->after;
            taken_[index] = true;
        }
    }
    return now;
}

} // namespace vgpualloc
