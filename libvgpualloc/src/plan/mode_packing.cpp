#include "vgpualloc/plan/mode_packing.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

error too_many(const std::string& field, std::size_t most) {
    return {.code = error_code::unsupported,
            .where = "device packing",
            .field = field,
            .value = "",
            .expected = "at most " + std::to_string(most)};
}

/// All parts that any policy could choose for the request.
std::vector<partition> parts_for(const device_spec& device, const device_state& state, const device_request& request) {
    std::vector<partition> result;
    device.mode->candidates(device, state, request, result);
    if (!result.empty()) device.mode->further_candidates(device, state, request, result);
    return result;
}

/// The states that `state` leads to, each once, in order.
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

/// Steps of the first dimension, memory, so coarse that the table has at most that many cells.
constexpr std::size_t cells_wanted = std::size_t{1} << 18U;

expected<std::shared_ptr<const device_packing>> packing_of_slices(const device_spec& device,
                                                                  std::span<const device_request> requests) {
    std::vector<use_vector> uses;
    for (const device_request& request : requests) {
        const partition part = parts_for(device, {}, request).front();
        uses.push_back(device.mode->use(device, device.mode->with(device, {}, part)));
    }
    std::int64_t memory_step = 0;
    std::int64_t compute_step = 0;
    std::int64_t memory_min = std::numeric_limits<std::int64_t>::max();
    for (const use_vector& use : uses) {
        memory_step = std::gcd(memory_step, use.memory.count());
        compute_step = std::gcd(compute_step, use.compute.count());
        memory_min = std::min(memory_min, use.memory.count());
    }
    // Slots count only where more parts fit than there are slots.
    const bool memory_counts = memory_step > 0;
    const bool slots_count = memory_min <= 0 || device.memory.count() / memory_min > device.slots;
    const std::size_t other_cells =
        static_cast<std::size_t>(slots_count ? device.slots + 1 : 1) *
        static_cast<std::size_t>(compute_step > 0 ? device.cores.count() / compute_step + 1 : 1);
    while (memory_counts &&
           static_cast<std::size_t>(device.memory.count() / memory_step) > cells_wanted / other_cells) {
        memory_step *= 2;
    }
    knapsack_packing::amounts capacity;
    std::vector<knapsack_packing::amounts> needs(uses.size());
    const auto add = [&](bool counts, std::int64_t whole, auto&& amount_of) {
        if (!counts) return;
        capacity.push_back(whole);
        for (std::size_t i = 0; i < uses.size(); ++i) needs[i].push_back(amount_of(uses[i]));
    };
    const bool all_have_memory = memory_min >= memory_step;
    add(memory_counts, memory_counts ? device.memory.count() / memory_step : 0,
        [&](const use_vector& use) { return use.memory.count() / memory_step; });
    add(compute_step > 0, device.cores.count(), [](const use_vector& use) { return use.compute.count(); });
    add(slots_count || !memory_counts || !all_have_memory, device.slots,
        [](const use_vector& use) { return std::max<std::int64_t>(use.slots, 1); });
    auto packing = knapsack_packing::make(capacity, needs);
    if (!packing) return unexpected(std::move(packing.error()));
    return std::make_shared<const knapsack_packing>(*std::move(packing));
}

} // namespace

expected<state_packing> state_packing::make(const device_spec& device, std::span<const device_request> requests,
                                            std::size_t states_max) {
    // States are found in order of discovery and numbered afterwards by how many parts are on them, so that steps lead
    // to higher numbers.
    std::map<device_state, std::uint32_t> number_of{{device_state{}, 0}};
    std::vector<device_state> states{device_state{}};
    std::vector<std::vector<step>> steps;
    for (std::size_t from = 0; from < states.size(); ++from) {
        steps.emplace_back();
        const device_state state = states[from];
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

expected<std::shared_ptr<const device_packing>>
packing_of_device(const device_spec& device, std::span<const device_request> requests, std::size_t states_max) {
    const bool slices = std::ranges::all_of(requests, [&device](const device_request& request) {
        return std::ranges::all_of(parts_for(device, {}, request), [](const partition& part) {
            return std::holds_alternative<slice>(part) || std::holds_alternative<whole_device>(part);
        });
    });
    if (slices) return packing_of_slices(device, requests);
    auto packing = state_packing::make(device, requests, states_max);
    if (!packing) return unexpected(std::move(packing.error()));
    return std::make_shared<const state_packing>(*std::move(packing));
}

} // namespace vgpualloc::plan
