// The greedy choice of devices from totals.
#include "alloc/totals_chooser.hpp"

#include <algorithm>
#include <limits>

#include "alloc/score_tree.hpp"
#include "alloc/step_rules.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

/// Instead of the score of an option that was taken: not a number, and so neither equal to nor above any.
constexpr double no_score = std::numeric_limits<double>::quiet_NaN();

void add_to(device_config& tried, const device_config& totals, milli_gpu used, std::int64_t whole) noexcept {
    tried.used = totals.used + used;
    tried.free = totals.free - used;
    tried.devices_free_whole = totals.devices_free_whole + whole;
}

} // namespace

totals_chooser::progress::progress(const request_view& wanted, const node_view& start)
    : request{&wanted}, before{&start}, totals{*start.config}, after{start} {
    totals.id = not_interned;
    totals.devices = {};
    tried = totals;
    after.cpu_left = start.cpu_left - wanted.request->cpu;
    after.config = &tried;
}

totals_chooser::option totals_chooser::option_of(const device_view& before, const part_table::answer& answer,
                                                 std::uint32_t way) noexcept {
    const device_view* after = answer.after + way;
    const auto whole = std::int64_t{after->is_idle()} - std::int64_t{before.is_idle()};
    return {
        .before = &before, .after = after, .adds = {.used = after->used - before.used, .devices_free_whole = whole}};
}

/// What is remembered is scattered over memory: all of it is asked for before any of it is looked at.
void totals_chooser::ask_devices(std::uint32_t part) {
    answers_.resize(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) answers_[i] = table_->kept(part, *devices_[i]);
    for (const part_table::answer& answer : answers_) prefetch(answer.after);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (!answers_[i].known) answers_[i] = table_->of(part, *devices_[i]);
    }
}

/// Equal neighbours are one option if `merged`: the first of them goes before the others.
void totals_chooser::list_options(std::uint32_t part, bool merged) {
    ask_devices(part);
    options_.clear();
    std::size_t run = 0; // the options of the device before
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const device_view* before = devices_[i];
        if (merged && i > 0 && before == devices_[i - 1]) {
            for (std::size_t o = run; o < options_.size(); ++o) ++options_[o].copies;
            continue;
        }
        run = options_.size();
        const part_table::answer& answer = answers_[i];
        for (std::uint32_t way = 0; way < answer.count; ++way) {
            option& added = options_.emplace_back(option_of(*before, answer, way));
            added.index = static_cast<std::uint32_t>(i);
        }
    }
}

/// Scores first, compares afterwards: a comparison between calls would be guessed wrong every other time. The scores
/// hold for all steps of the container, because they depend on the step alone.
void totals_chooser::score_options(progress& on) {
    scores_.resize(options_.size());
    for (std::size_t i = 0; i < options_.size(); ++i) scores_[i] = device_score(on, options_[i]);
}

/// Of the ways on one device that are scored alike and change the totals alike, the one with the smallest state goes
/// before the others at every step: these are dropped.
void totals_chooser::drop_ways_that_never_win() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < options_.size(); ++i) {
        option& last = options_[kept];
        const option& next = options_[i];
        if (next.index == last.index && scores_[i] == scores_[kept] && next.adds == last.adds) {
            if (next.after->state < last.after->state) last = next;
        } else if (++kept != i) {
            options_[kept] = next;
            scores_[kept] = scores_[i];
        }
    }
    if (options_.empty()) return;
    options_.resize(kept + 1);
    scores_.resize(kept + 1);
}

inline double totals_chooser::device_score(progress& on, const option& tried) {
    return policies_.device->device_score(*on.request, *on.before, on.after,
                                          {.before = tried.before, .after = tried.after});
}

double totals_chooser::node_score(progress& on, const option& taken) {
    add_to(on.tried, on.totals, taken.adds.used, taken.adds.devices_free_whole);
    return policies_.node->node_score(*on.request, *on.before, on.after);
}

/// Whether `a` goes before `b`, which has the same device score and comes earlier in the order of indices and ways.
bool totals_chooser::settles_tie(progress& on, const option& a, const option& b) {
    if (a.adds != b.adds) { // otherwise the node scores alike
        const double node_a = node_score(on, a);
        const double node_b = node_score(on, b);
        if (node_a != node_b) return node_a > node_b;
    }
    if (on.request->devices <= 1) return false; // the lowest index
    return goes_first(*a.before, a.after->state, *b.before, b.after->state);
}

/// At least one option is left.
std::size_t totals_chooser::best_option(progress& on) {
    double highest = -std::numeric_limits<double>::infinity();
    for (const double score : scores_) highest = std::max(highest, score); // passes over no_score
    std::size_t best = 0;
    while (best + 1 < scores_.size() && scores_[best] != highest) ++best;
    VGA_ASSERT(scores_[best] == highest, "a policy's score is a number");
    for (std::size_t i = best + 1; i < scores_.size(); ++i) {
        if (scores_[i] == highest && settles_tie(on, options_[i], options_[best])) best = i;
    }
    return best;
}

/// One of the devices that are as good as the best, each equally likely, and its first way that is.
std::size_t totals_chooser::draw_option(progress& on, std::size_t best) {
    const double best_node = node_score(on, options_[best]);
    tied_.clear();
    for (std::size_t i = 0; i < options_.size(); ++i) {
        if (!tied_.empty() && options_[tied_.back()].index == options_[i].index) continue;
        if (scores_[i] != scores_[best] || node_score(on, options_[i]) != best_node) continue;
        tied_.push_back(i);
    }
    VGA_ASSERT(!tied_.empty(), "the best option is on one of the devices");
    return tied_[static_cast<std::size_t>(policies_.device->draw(tied_.size()))];
}

void totals_chooser::take(progress& on, std::size_t chosen) {
    const std::uint32_t index = options_[chosen].index;
    add_to(on.totals, on.totals, options_[chosen].adds.used, options_[chosen].adds.devices_free_whole);
    devices_[index] = options_[chosen].after;
    // All ways on that device now mean the next one that is like it, if there is one. They are neighbours.
    while (chosen > 0 && options_[chosen - 1].index == index) --chosen;
    for (; chosen < options_.size() && options_[chosen].index == index; ++chosen) {
        ++options_[chosen].index;
        if (--options_[chosen].copies > 0) continue;
        scores_[chosen] = no_score;
        --options_left_;
    }
}

rejection_code totals_chooser::why_not(std::uint32_t part, std::int64_t already) {
    rejection reasons;
    if (already > 0) return step_refusal(reasons, already);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const rejection_code code = table_->refused_because(part, *devices_[i], answers_[i]);
        ++reasons.nodes[static_cast<std::size_t>(code)];
    }
    return step_refusal(reasons, already);
}

/// Takes `count` devices whose options all add the same to the totals, whichever they are; the reason if there are
/// fewer.
rejection_code totals_chooser::take_any(const parts_view& wanted, progress& on, std::size_t container) {
    const std::int64_t count = wanted.request.request->containers[container].count;
    std::int64_t devices = 0;
    for (std::size_t i = 0; i < options_.size() && devices < count; ++i) {
        if (i == 0 || options_[i].index != options_[i - 1].index) devices += options_[i].copies;
    }
    if (devices < count) return why_not(wanted.parts[container], devices);
    const change& adds = options_.front().adds;
    add_to(on.totals, on.totals, adds.used * count, adds.devices_free_whole * count);
    return rejection_code::none;
}

bool totals_chooser::options_add_alike() const noexcept {
    return !options_.empty() &&
           std::ranges::all_of(options_, [&](const option& other) { return other.adds == options_.front().adds; });
}

/// Places the request, container by container, and calls taken(container, option) for every device; the reason if it
/// does not fit. Of the last container only the totals are settled if `only_totals`.
template <class Taken>
rejection_code totals_chooser::run(const parts_view& wanted, progress& on, bool only_totals, Taken&& taken) {
    table_->forget_passing();
    const auto& containers = wanted.request.request->containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
        if (containers[c].count == 0) continue;
        list_options(wanted.parts[c], !on.draws);
        if (only_totals && c + 1 == containers.size() && options_add_alike()) return take_any(wanted, on, c);
        score_options(on);
        if (!on.draws && on.request->devices > 1) drop_ways_that_never_win();
        options_left_ = options_.size();
        for (std::int64_t n = 0; n < containers[c].count; ++n) {
            if (options_left_ == 0) return why_not(wanted.parts[c], n);
            std::size_t best = best_option(on);
            if (on.draws) best = draw_option(on, best);
            taken(c, options_[best]);
            take(on, best);
        }
    }
    return rejection_code::none;
}

/// One device of one container: nothing needs to be listed, as there is no second step.
double totals_chooser::score_of_one(const parts_view& wanted, const node_view& before) {
    const std::uint32_t part = wanted.parts.front();
    table_->forget_passing();
    progress on{wanted.request, before};
    option best;
    double highest = 0.0;
    const device_view* last = nullptr; // equal devices are neighbours
    for (const device_view* device : before.config->devices) {
        if (device == last) continue;
        last = device;
        const part_table::answer answer = table_->of(part, *device);
        for (std::uint32_t way = 0; way < answer.count; ++way) {
            const option tried = option_of(*device, answer, way);
            const double score = device_score(on, tried);
            const bool first = best.before == nullptr;
            if (!first && (score < highest || (score == highest && !settles_tie(on, tried, best)))) continue;
            best = tried;
            highest = score;
        }
    }
    if (best.before != nullptr) return checked_score(node_score(on, best));
    devices_.assign(before.config->devices.begin(), before.config->devices.end());
    ask_devices(part);
    const rejection_code code = why_not(part, 0);
    table_->note_refusal(part, *before.config, code);
    return infeasible_because(code);
}

double totals_chooser::score(const parts_view& wanted, const node_view& before) {
    const auto devices = before.config->devices;
    const bool one_container = wanted.parts.size() == 1;
    if (one_container && wanted.request.devices == 1) return score_of_one(wanted, before);
    const auto needs_more = [&](const device_request& container) {
        return container.count > static_cast<std::int64_t>(devices.size());
    };
    if (std::ranges::any_of(wanted.request.request->containers, needs_more)) {
        constexpr rejection_code code = rejection_code::too_few_devices;
        if (one_container) table_->note_refusal(wanted.parts.front(), *before.config, code);
        return infeasible_because(code);
    }
    devices_.assign(devices.begin(), devices.end());
    progress on{wanted.request, before};
    const rejection_code code = run(wanted, on, true, [](std::size_t, const option&) {});
    if (code != rejection_code::none) {
        if (one_container) table_->note_refusal(wanted.parts.front(), *before.config, code);
        return infeasible_because(code);
    }
    on.tried = on.totals;
    return checked_score(policies_.node->node_score(wanted.request, before, on.after));
}

bool totals_chooser::choose(const parts_view& wanted, const node_view& before,
                            std::span<const device_view* const> physical, bool may_draw,
                            small_vector<device_share, 1>& shares) {
    shares.clear();
    devices_.assign(physical.begin(), physical.end());
    progress on{wanted.request, before};
    on.draws = may_draw && draws_devices_ && policies_.device->draws_device_for(wanted.request);
    const auto share_out = [&](std::size_t container, const option& chosen) {
        shares.push_back({.container = static_cast<std::uint32_t>(container),
                          .device = device_index{std::size_t{chosen.index}},
                          .part = table_->partition_to(wanted.parts[container], *chosen.before, chosen.after->state)});
    };
    return run(wanted, on, false, share_out) == rejection_code::none;
}

} // namespace vgpualloc
