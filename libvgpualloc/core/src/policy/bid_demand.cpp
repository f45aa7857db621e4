// Tallies of arrivals, and the list of classes made of them.
#include "vgpualloc/policy/bid_demand.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

namespace {

const device_request* first_with_devices(const pod_request& request) {
    const auto first = std::ranges::find_if(request.containers, [](const auto& c) { return c.count > 0; });
    return first == request.containers.end() ? nullptr : &*first;
}

/// Goes on with a descent that nobody else has, or with a copy.
void descend(std::shared_ptr<price_descent>& descent, bool any_model, std::span<const weighted_part> parts,
             const cluster& nodes, std::int64_t steps) {
    descent = descent ? std::make_shared<price_descent>(*descent) : std::make_shared<price_descent>(any_model);
    descent->set_demand(parts, nodes);
    descent->step(steps);
}

} // namespace

/// Counts the devices and, of a ledger that has not been followed, the pods that run.
void bid_demand::follow(const ledger& book) {
    if (counted_ == &book && devices_ > 0) return;
    if (counted_ != &book) { // of which other sizes may be known, and other pods
        known_.clear();
        now_.running = 0;
        for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
            for (const std::uint32_t slot : book.live_on(node_index{n})) {
                if (!book.bookings()[slot].where.shares.empty()) ++now_.running;
            }
        }
    }
    counted_ = &book;
    devices_ = 0;
    for (const node& of : book.nodes().nodes) devices_ += static_cast<std::int64_t>(of.devices.size());
}

std::vector<bid_demand::tally>& bid_demand::own_tallies() {
    if (now_.tallies.use_count() > 1) now_.tallies = std::make_shared<std::vector<tally>>(*now_.tallies);
    return *now_.tallies;
}

std::size_t bid_demand::enter_tally(const device_request& container, std::int64_t milli) {
    const bid_class wanted{.request = policies::one_device_of(container), .devices = container.count, .milli = milli};
    std::vector<tally>& tallies = own_tallies();
    const auto known = std::ranges::find_if(tallies, [&](const tally& entry) { return entry.of.is_alike(wanted); });
    if (known != tallies.end()) return static_cast<std::size_t>(known - tallies.begin());
    if (tallies.size() < options_.tallies_max) {
        tallies.push_back({.of = wanted});
        return tallies.size() - 1;
    }
    const auto least = std::ranges::min_element(tallies, {}, &tally::weight);
    *least = {.of = wanted};
    known_.clear(); // entries may name the place that another request has now
    return static_cast<std::size_t>(least - tallies.begin());
}

const bid_demand::known_pod& bid_demand::find_pod(const pod_request& request, const cluster& nodes) {
    if (kinds_known_ != nodes.kinds.size()) {
        kinds_known_ = nodes.kinds.size();
        known_.clear();
    }
    const void* const address = request.containers.data();
    if (const auto known = known_.find(address);
        known != known_.end() && known->second.containers == request.containers) {
        return known->second;
    }
    const device_request* const first = first_with_devices(request);
    const pod_size size = size_of(request.cpu, request.containers, nodes);
    const std::size_t number = enter_tally(*first, size_of(request.cpu, {first, 1}, nodes).milli);
    constexpr std::size_t known_max = 4096;
    if (known_.size() >= known_max) known_.clear();
    known_pod& entry = known_[address];
    entry = {.containers = request.containers, .tally = number, .size = size};
    return entry;
}

void bid_demand::expect(const learned_prices& earlier) {
    std::vector<tally>& tallies = own_tallies();
    for (const slot_price& slot : earlier.slots) {
        if (tallies.size() == options_.tallies_max) break;
        const double weight = slot.of.share * options_.window_arrivals;
        const auto cpu = static_cast<double>(slot.of.cpu);
        tallies.push_back({.of = slot.of, .weight = weight, .cpu = weight * cpu});
        now_.arrived += weight;
        now_.sizes.add({.cpu = slot.of.cpu, .milli = slot.of.milli, .has_devices = true}, weight);
    }
    now_.accepted = now_.arrived;
    now_.booked = now_.arrived;
    now_.released = earlier.turnover * options_.turnover_full * now_.booked;
}

/// Keeps the growing weights far from where a double ends.
void bid_demand::scale_down() {
    constexpr double increment_max = 1e100;
    if (now_.increment < increment_max) return;
    const double factor = 1.0 / now_.increment;
    for (tally& entry : own_tallies()) {
        entry.weight *= factor;
        entry.cpu *= factor;
    }
    now_.sizes.scale(factor);
    now_.arrived *= factor;
    now_.accepted *= factor;
    now_.booked *= factor;
    now_.released *= factor;
    now_.increment = 1.0;
}

/// Early lists come at powers of two; in a large cluster the first few pods say little, and new prices cost much.
bool bid_demand::is_due() const noexcept {
    const std::int64_t every = std::max(options_.relearn_every, devices_ / options_.devices_per_relearn);
    if (now_.arrivals % every == 0 || now_.arrivals == 1) return true;
    const bool is_early = now_.arrivals < every && now_.arrivals >= every / options_.early_lists_from;
    return is_early && std::has_single_bit(static_cast<std::uint64_t>(now_.arrivals));
}

bool bid_demand::note_arrival(const pod_request& request, const ledger& book) {
    const cluster& nodes = book.nodes();
    if (first_with_devices(request) == nullptr) {
        now_.sizes.add({.cpu = request.cpu.count()}, now_.increment);
        return false;
    }
    follow(book);
    const double window =
        std::max(options_.window_arrivals, options_.window_per_device * static_cast<double>(devices_));
    now_.increment *= 1.0 + 1.0 / window;
    scale_down();
    const known_pod& pod = find_pod(request, nodes);
    pod_size size = pod.size;
    size.cpu = request.cpu.count();
    now_.sizes.add(size, now_.increment);
    tally& entry = own_tallies()[pod.tally];
    entry.weight += now_.increment;
    entry.cpu += now_.increment * static_cast<double>(size.cpu);
    now_.arrived += now_.increment;
    now_.running_smoothed += options_.smoothing * (static_cast<double>(now_.running) - now_.running_smoothed);
    ++now_.arrivals;
    if (!is_due()) return false;
    list_classes(nodes);
    return true;
}

/// The heaviest tallies, in the order in which they are counted, so that a list of the same classes is the same list.
void bid_demand::list_classes(const cluster& nodes) {
    const std::vector<tally>& tallies = *now_.tallies;
    std::vector<std::size_t> order(tallies.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return tallies[a].weight > tallies[b].weight; });
    order.resize(std::min(order.size(), options_.classes_max));
    std::ranges::sort(order);
    auto list = std::make_shared<bid_classes>();
    for (const std::size_t number : order) {
        bid_class entry = tallies[number].of;
        entry.cpu = static_cast<std::int64_t>(tallies[number].cpu / tallies[number].weight + 0.5);
        entry.share = tallies[number].weight / now_.arrived;
        device_request of_pod = entry.request; // nodes that serve it may have come after the first pod
        of_pod.count = entry.devices;
        entry.milli = size_of({}, {&of_pod, 1}, nodes).milli;
        list->classes.push_back(std::move(entry));
    }
    list->cpu_per_gpu = now_.sizes.cpu_per_gpu();
    if (learns_prices_) list->prices = learn_prices(nodes);
    now_.classes = std::move(list);
}

/// Prices by size, with those that some more steps of the descent lead to: fewer the more the cluster turns over, where
/// slots decide more than rests.
price_table bid_demand::learn_prices(const cluster& nodes) {
    price_table prices = prices_of(now_.sizes, nodes);
    const auto spared = static_cast<double>(options_.descent_steps - options_.descent_steps_turning) * turnover();
    const std::int64_t steps = options_.descent_steps - static_cast<std::int64_t>(spared);
    std::vector<weighted_part> parts;
    for (const tally& entry : *now_.tallies) {
        const double devices = static_cast<double>(entry.of.devices) / now_.increment;
        parts.push_back({.request = entry.of.request, .weight = entry.weight * devices});
    }
    descend(now_.descent, true, parts, nodes, steps);
    now_.descent->put_prices(prices);
    if (!prices.models_named) return prices;
    descend(now_.named, false, parts, nodes, steps);
    now_.named->put_premiums(prices);
    return prices;
}

void bid_demand::observe(const policy_event& event) {
    if (event.entry == nullptr) devices_ = 0;
    if (event.entry == nullptr || event.entry->where.shares.empty()) return;
    switch (event.kind) {
    case ledger_event_kind::reserve:
        ++now_.running;
        break;
    case ledger_event_kind::rollback: // leaves no trace, not even in the last bit of a sum
        --now_.running;
        break;
    case ledger_event_kind::commit:
        now_.accepted += now_.increment;
        now_.booked += now_.increment;
        break;
    case ledger_event_kind::adopt:
        ++now_.running;
        if (now_.released > 0.0) { // suspended and resumed, or booked anew because its node has changed
            now_.released = std::max(0.0, now_.released - now_.increment);
            break;
        }
        now_.accepted += now_.increment;
        now_.booked += now_.increment;
        now_.running_smoothed = std::min(now_.running_smoothed + 1.0, static_cast<double>(now_.running));
        break;
    case ledger_event_kind::release:
        --now_.running;
        now_.released += now_.increment;
        break;
    default:
        break;
    }
}

bool bid_demand::leave_trial(bool keep) {
    if (before_trials_.empty()) return false;
    bool is_other = false;
    if (!keep) {
        is_other = before_trials_.back().classes != now_.classes;
        if (before_trials_.back().tallies != now_.tallies) known_.clear();
        now_ = std::move(before_trials_.back());
    }
    before_trials_.pop_back();
    return is_other;
}

double bid_demand::offered() const noexcept {
    constexpr double accepted_min = 0.01; // nothing can be said of what a cluster offers that takes hardly anything
    const double accepted = now_.arrived > 0.0 ? std::clamp(now_.accepted / now_.arrived, accepted_min, 1.0) : 1.0;
    return now_.running_smoothed / accepted;
}

double bid_demand::turnover() const noexcept {
    if (now_.booked <= 0.0) return 0.0;
    return std::clamp(now_.released / (options_.turnover_full * now_.booked), 0.0, 1.0);
}

} // namespace vgpualloc
