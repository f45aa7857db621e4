#include "vgpualloc/packing/mode_packing.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/packing/next_states.hpp"

namespace vgpualloc {

namespace {

error too_many(const std::string& field, std::size_t most) {
    return bad_value(error_code::unsupported, field, "", "at most " + std::to_string(most)).at("device packing");
}

/// All parts that any policy could choose for the request.
std::vector<partition> parts_for(const device_spec& device, const device_state& state, const device_request& request) {
    std::vector<partition> result;
    device.mode->candidates(device, state, request, result);
    if (!result.empty()) device.mode->further_candidates(device, state, request, result);
    return result;
}

bool is_cut_in_slices(const device_spec& device, std::span<const device_request> requests) {
    return std::ranges::all_of(requests, [&device](const device_request& request) {
        return std::ranges::all_of(parts_for(device, {}, request), [](const partition& part) {
            return std::holds_alternative<slice>(part) || std::holds_alternative<whole_device>(part);
        });
    });
}

} // namespace

std::vector<device_state> next_states(const device_spec& device, const device_state& state,
                                      const device_request& request) {
    std::vector<device_state> result;
    for (const partition& part : parts_for(device, state, request)) {
        result.push_back(device.mode->with(device, state, part));
    }
    std::ranges::sort(result);
    const auto repeated = std::ranges::unique(result);
    result.erase(repeated.begin(), repeated.end());
    return result;
}

expected<state_packing> state_packing::make(const device_spec& device, std::span<const device_request> requests,
                                            std::size_t states_max) {
    // States are found in order of discovery and numbered afterwards by how many parts are on them, so that steps lead
    // to higher numbers.
    std::map<device_state, std::uint32_t> number_of{{device_state{}, 0}};
    std::vector<device_state> states{device_state{}};
    std::vector<std::vector<step>> steps;
    for (std::size_t i = 0; i < states.size(); ++i) {
        steps.emplace_back();
        const device_state state = states[i];
        for (std::uint32_t part = 0; part < requests.size(); ++part) {
            for (const device_state& next : next_states(device, state, requests[part])) {
                const auto [at, added] = number_of.emplace(next, static_cast<std::uint32_t>(states.size()));
                if (added && states.size() == states_max) return unexpected(too_many("states", states_max));
                if (added) states.push_back(next);
                steps.back().push_back({.part = part, .next = at->second});
            }
        }
    }
    std::vector<std::uint32_t> order(states.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&states](std::uint32_t state) { return states[state].slots; });
    std::vector<std::uint32_t> rank(states.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    state_packing result;
    result.parts_ = requests.size();
    for (const std::uint32_t state : order) {
        result.first_step_.push_back(static_cast<std::uint32_t>(result.steps_.size()));
        for (const step& to : steps[state]) {
            VGA_ASSERT(rank[to.next] > rank[state], "a part more on a device is a slot more in use");
            result.steps_.push_back({.part = to.part, .next = rank[to.next]});
        }
    }
    result.first_step_.push_back(static_cast<std::uint32_t>(result.steps_.size()));
    return result;
}

worthy_pattern state_packing::best(std::span<const double> worth) const {
    VGA_ASSERT(worth.size() == parts_, "every part has a worth");
    constexpr auto stop = std::numeric_limits<std::uint32_t>::max();
    std::vector<double> worth_from(states(), 0.0);
    std::vector<std::uint32_t> chosen(states(), stop);
    for (std::size_t state = states(); state-- > 0;) {
        for (std::uint32_t i = first_step_[state]; i < first_step_[state + 1]; ++i) {
            const double with = worth[steps_[i].part] + worth_from[steps_[i].next];
            if (worth[steps_[i].part] > 0.0 && with > worth_from[state]) {
                worth_from[state] = with;
                chosen[state] = i;
            }
        }
    }
    std::map<std::uint32_t, std::int64_t> counts;
    for (std::uint32_t state = 0; chosen[state] != stop; state = steps_[chosen[state]].next) {
        ++counts[steps_[chosen[state]].part];
    }
    worthy_pattern result{.worth = worth_from.front()};
    for (const auto& [part, count] : counts) result.parts.push_back({.part = part, .count = count});
    return result;
}

expected<std::vector<device_pattern>> state_packing::enumerate(std::span<const std::int64_t> most,
                                                               std::size_t patterns_max) const {
    VGA_ASSERT(most.size() == parts_, "every part has a limit");
    using counts = std::vector<std::int64_t>;
    std::set<std::pair<std::uint32_t, counts>> seen;
    std::vector<std::pair<std::uint32_t, counts>> open{{0, counts(parts_, 0)}};
    std::set<counts> patterns;
    while (!open.empty()) {
        const auto [state, on_device] = std::move(open.back());
        open.pop_back();
        for (std::uint32_t i = first_step_[state]; i < first_step_[state + 1]; ++i) {
            if (on_device[steps_[i].part] >= most[steps_[i].part]) continue;
            counts with = on_device;
            ++with[steps_[i].part];
            if (!seen.emplace(steps_[i].next, with).second) continue;
            patterns.insert(with);
            if (patterns.size() > patterns_max) return unexpected(too_many("patterns", patterns_max));
            open.emplace_back(steps_[i].next, std::move(with));
        }
    }
    std::vector<device_pattern> result;
    for (const counts& on_device : patterns) {
        result.emplace_back();
        for (std::uint32_t part = 0; part < parts_; ++part) {
            if (on_device[part] > 0) result.back().push_back({.part = part, .count = on_device[part]});
        }
    }
    return result;
}

namespace {

/// The amounts that a state leaves.
use_vector rest_of(const device_spec& device, const device_state& state) {
    const use_vector use = device.mode->use(device, state);
    return {.memory = std::max(device.memory - use.memory, mib{0}),
            .compute = std::max(device.cores - use.compute, core_percent{0}),
            .slots = std::max<std::int64_t>(device.slots - use.slots, 0)};
}

} // namespace

expected<slice_packing> slice_packing::make(const device_spec& device, std::span<const device_request> requests,
                                            std::size_t cells_wanted) {
    std::vector<use_vector> uses;
    for (const device_request& request : requests) {
        const partition part = parts_for(device, {}, request).front();
        uses.push_back(device.mode->use(device, device.mode->with(device, {}, part)));
    }
    slice_packing result;
    std::int64_t memory_step = 0;
    std::int64_t compute_step = 0;
    std::int64_t memory_min = std::numeric_limits<std::int64_t>::max();
    for (const use_vector& use : uses) {
        memory_step = std::gcd(memory_step, use.memory.count());
        compute_step = std::gcd(compute_step, use.compute.count());
        memory_min = std::min(memory_min, use.memory.count());
    }
    // Slots count only where more parts fit than there are slots.
    const bool slots_count = memory_min <= 0 || device.memory.count() / memory_min > device.slots;
    const std::size_t other_cells =
        static_cast<std::size_t>(slots_count ? device.slots + 1 : 1) *
        static_cast<std::size_t>(compute_step > 0 ? device.cores.count() / compute_step + 1 : 1);
    while (memory_step > 0 &&
           static_cast<std::size_t>(device.memory.count() / memory_step) > cells_wanted / other_cells) {
        memory_step *= 2;
    }
    result.memory_step_ = memory_step;
    result.compute_counts_ = compute_step > 0;
    result.slots_count_ = slots_count || memory_step == 0 || memory_min < memory_step;
    std::vector<knapsack_packing::amounts> needs;
    for (use_vector use : uses) {
        use.slots = std::max<std::int64_t>(use.slots, 1);
        needs.push_back(result.amounts_of(use));
    }
    auto sums = knapsack_packing::make(result.amounts_of(rest_of(device, {})), needs);
    if (!sums) return unexpected(std::move(sums.error()));
    result.sums_ = *std::move(sums);
    return result;
}

knapsack_packing::amounts slice_packing::amounts_of(const use_vector& use) const {
    knapsack_packing::amounts result;
    if (memory_step_ > 0) result.push_back(use.memory.count() / memory_step_);
    if (compute_counts_) result.push_back(use.compute.count());
    if (slots_count_) result.push_back(use.slots);
    return result;
}

std::size_t slice_packing::position_of_rest(const device_spec& device, const device_state& state) const {
    return sums_.position_of(amounts_of(rest_of(device, state)));
}

expected<std::shared_ptr<const device_packing>> packing_of_device(const device_spec& device,
                                                                  std::span<const device_request> requests,
                                                                  std::size_t states_max, std::size_t cells_wanted) {
    if (is_cut_in_slices(device, requests)) {
        auto packing = slice_packing::make(device, requests, cells_wanted);
        if (!packing) return unexpected(std::move(packing.error()));
        return std::make_shared<const slice_packing>(*std::move(packing));
    }
    auto packing = state_packing::make(device, requests, states_max);
    if (!packing) return unexpected(std::move(packing.error()));
    return std::make_shared<const state_packing>(*std::move(packing));
}

expected<rest_worths> rest_worths::make(const device_spec& device, std::vector<worthy_part> parts) {
    rest_worths result;
    result.device_ = device;
    result.parts_ = std::move(parts);
    std::erase_if(result.parts_, [&device](const worthy_part& part) {
        return why_never(device, part.request) != rejection_code::none || parts_for(device, {}, part.request).empty();
    });
    std::vector<device_request> requests;
    std::vector<double> worths;
    for (const worthy_part& part : result.parts_) {
        requests.push_back(part.request);
        worths.push_back(static_cast<double>(part.worth));
    }
    if (!is_cut_in_slices(device, requests)) return result;
    auto packing = slice_packing::make(device, requests);
    if (!packing) return unexpected(std::move(packing.error()));
    for (const double worth : packing->worth_of_rests(worths)) {
        result.worth_of_rest_.push_back(static_cast<std::int64_t>(worth));
    }
    result.slices_ = *std::move(packing);
    return result;
}

std::int64_t rest_worths::of(const device_state& state) {
    if (const auto known = worth_of_state_.find(state); known != worth_of_state_.end()) return known->second;
    std::int64_t worth = 0;
    if (slices_) {
        // What is left of memory, say, is of no use on a device that nobody may join any more.
        const bool takes_more = std::ranges::any_of(
            parts_, [&](const worthy_part& part) { return !parts_for(device_, state, part.request).empty(); });
        if (takes_more) worth = worth_of_rest_[slices_->position_of_rest(device_, state)];
        worth_of_state_.emplace(state, worth);
        return worth;
    }
    for (const worthy_part& part : parts_) {
        if (part.worth <= 0) continue;
        for (const device_state& next : next_states(device_, state, part.request)) {
            worth = std::max(worth, part.worth + of(next));
        }
    }
    worth_of_state_.emplace(state, worth);
    return worth;
}

} // namespace vgpualloc
