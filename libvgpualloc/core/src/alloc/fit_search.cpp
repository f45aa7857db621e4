// Depth first over containers, their devices and the parts of these.
#include "alloc/fit_search.hpp"

#include <algorithm>

namespace vgpualloc {

fit_search::fit_search(std::span<const device_request> containers, bool containers_apart,
                       std::span<const candidate> devices)
    : containers_{containers}, apart_{containers_apart}, devices_{devices.begin(), devices.end()} {}

bool fit_search::takes(std::size_t container, const candidate& considered) {
    --steps_left_;
    return considered.admitted[container] &&
           considered.spec->mode->why_not(*considered.spec, considered.state, containers_[container]).code ==
               rejection_code::none;
}

bool fit_search::each_fits_alone() { return containers_.size() <= containers_max && later_fit_alone(0); }

/// What no search can mend: one of these containers would not fit if it were the next.
bool fit_search::later_fit_alone(std::size_t container) {
    for (; container < containers_.size(); ++container) {
        std::int64_t willing = 0;
        for (std::size_t d = 0; d < devices_.size() && willing < containers_[container].count; ++d) {
            if (!is_taken(container, d) && takes(container, devices_[d])) ++willing;
        }
        if (willing < containers_[container].count) return false;
    }
    return true;
}

void fit_search::take(std::size_t container, std::size_t device, const partition& part) {
    auto& [spec, state, admitted] = devices_[device];
    taken_.push_back({.container = container, .device = device, .before = state});
    state = spec->mode->with(*spec, state, part);
}

void fit_search::undo() {
    devices_[taken_.back().device].state = taken_.back().before;
    taken_.pop_back();
}

bool fit_search::is_taken(std::size_t container, std::size_t device) const {
    return std::ranges::any_of(taken_, [&](const step& earlier) {
        return earlier.device == device && (apart_ || earlier.container == container);
    });
}

/// The distinct states in which the container can leave the device.
std::vector<device_state> fit_search::states_after(std::size_t container, std::size_t device) {
    const auto& [spec, state, admitted] = devices_[device];
    parts_.clear();
    spec->mode->candidates(*spec, state, containers_[container], parts_);
    spec->mode->further_candidates(*spec, state, containers_[container], parts_);
    std::vector<device_state> states;
    for (const partition& part : parts_) {
        const device_state after = spec->mode->with(*spec, state, part);
        if (std::ranges::find(states, after) == states.end()) states.push_back(after);
    }
    return states;
}

/// Whether a device just like this one was tried in its place.
bool fit_search::looks_like_one_before(std::size_t container, std::size_t device, std::size_t from) const {
    for (std::size_t other = from; other < device; ++other) {
        if (!is_taken(container, other) && devices_[other] == devices_[device]) return true;
    }
    return false;
}

/// Whether `left` more devices for the container, none before `from`, and all of the later ones fit.
bool fit_search::fits_from(std::size_t container, std::int64_t left, std::size_t from) {
    if (left == 0) return next_container_fits(container + 1, from);
    for (std::size_t d = from; d < devices_.size(); ++d) {
        if (is_taken(container, d) || !devices_[d].admitted[container]) continue;
        if (looks_like_one_before(container, d, from)) continue;
        for (const device_state& after : states_after(container, d)) {
            if (--steps_left_ < 0) return false;
            taken_.push_back({.container = container, .device = d, .before = devices_[d].state});
            devices_[d].state = after;
            const bool fits = fits_from(container, left - 1, left == 1 ? d : d + 1);
            undo();
            if (fits) return true;
        }
    }
    return false;
}

/// Whether this container and all later ones fit; `device` is where the last one before it has its last device.
bool fit_search::next_container_fits(std::size_t container, std::size_t device) {
    if (container == containers_.size()) return true;
    if (!later_fit_alone(container)) return false;
    // Of two equal containers with one device each, the second has none that comes before the first one's.
    const bool equals_last =
        container > 0 && containers_[container].count == 1 && containers_[container] == containers_[container - 1];
    return fits_from(container, containers_[container].count, equals_last ? device : 0);
}

bool fit_search::rest_fits(std::size_t container) {
    const auto here = std::ranges::count(taken_, container, &step::container);
    const std::int64_t left = containers_[container].count - here;
    if (left == 0) {
        // The greedy walk goes on in its own order, so nothing is known of where equal containers are.
        return container + 1 == containers_.size() || next_container_fits(container + 1, 0);
    }
    return fits_from(container, left, 0);
}

} // namespace vgpualloc
