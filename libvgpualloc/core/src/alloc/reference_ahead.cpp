// The walk over containers and devices that looks ahead, for pods that the greedy one has no room for.
#include <algorithm>
#include <utility>

#include "alloc/reference.hpp"
#include "reference_parts.hpp"

namespace vgpualloc {

/// The steps of one container that leave room for the rest of the pod, by device index. Of a device whose candidates
/// all leave none, the best of its further parts that does.
std::vector<reference_allocator::step> reference_allocator::steps_ahead(const question& attempt, const choice& chosen,
                                                                        fit_search& search,
                                                                        std::size_t container_number,
                                                                        const device_request& container,
                                                                        const std::vector<bool>& taken) const {
    const auto leaves_room = [&](std::size_t index, const partition& part) {
        search.take(container_number, index, part);
        const bool fits = search.rest_fits(container_number);
        search.undo();
        return fits;
    };
    rejection ignored;
    std::vector<step> possible = possible_steps(attempt, chosen.state, container, taken, ignored);
    std::vector<std::size_t> willing; // devices that have candidates, ascending
    for (const step& candidate : possible) {
        if (willing.empty() || willing.back() != candidate.index) willing.push_back(candidate.index);
    }
    std::erase_if(possible, [&](const step& candidate) { return !leaves_room(candidate.index, candidate.part); });
    const seen_state start{*this, attempt.start};
    seen_state current{*this, chosen.state};
    std::vector<partition> parts;
    for (const std::size_t index : willing) {
        if (std::ranges::find(possible, index, &step::index) != possible.end()) continue;
        const device_view& device = chosen.state.devices[index];
        parts.clear();
        device.spec->mode->further_candidates(*device.spec, device.state, container, parts);
        const auto part = std::ranges::find_if(parts, [&](const partition& way) { return leaves_room(index, way); });
        if (part == parts.end()) continue;
        step candidate{.index = index,
                       .part = *part,
                       .compromise = device.spec->mode->compromise(*device.spec, container, *part),
                       .unit_rank = unit_rank(*device.spec->mode, device.state, *part)};
        score(attempt, start, current, chosen.state, candidate);
        possible.push_back(candidate);
    }
    std::ranges::stable_sort(possible, {}, &step::index);
    return possible;
}

bool reference_allocator::choose_ahead(const question& attempt, choice& chosen) const {
    const pod_request& request = attempt.request();
    const auto wants_devices = [](const device_request& container) { return container.count > 0; };
    if (std::ranges::count_if(request.containers, wants_devices) < 2) return false; // the greedy choice is exact
    std::vector<device_request> containers;
    for (const device_request& container : request.containers) containers.push_back(settled(attempt, container));
    std::vector<fit_search::candidate> devices;
    for (std::size_t d = 0; d < attempt.start.devices.size(); ++d) {
        const device_view& view = attempt.start.devices[d];
        fit_search::candidate& device =
            devices.emplace_back(fit_search::candidate{.spec = view.spec, .state = view.state});
        for (const device_request& container : containers) {
            device.admitted.push_back(why_not_admitted(attempt, d, container) == rejection_code::none);
        }
    }
    fit_search search{containers, request.containers_apart, devices};
    if (!search.each_fits_alone() || !search.rest_fits(0)) return false;
    chosen = {.state = attempt.start};
    for (std::size_t c = 0; c < containers.size(); ++c) {
        std::vector<bool> taken(devices.size(), false);
        if (request.containers_apart) {
            for (const device_share& share : chosen.shares) taken[share.device.at()] = true;
        }
        for (std::int64_t n = 0; n < containers[c].count; ++n) {
            std::vector<step> possible = steps_ahead(attempt, chosen, search, c, containers[c], taken);
            if (possible.empty()) return false; // the search has come to its limit
            const step best = best_step(attempt, chosen.state, possible);
            search.take(c, best.index, best.part);
            chosen.take(c, best);
            taken[best.index] = true;
        }
    }
    return true;
}

} // namespace vgpualloc
