// Idle capacity by cause: pods of one request are packed into every node as it is.
#include "vgpualloc/metrics/idle_split.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace vgpualloc {

namespace {

constexpr std::int64_t endless = std::int64_t{1} << 40U;

std::int64_t& at(idle_parts& parts, idle_cause cause) { return parts[static_cast<std::size_t>(cause)]; }

std::int64_t idle_of(const device_spec& spec, const device_state& state) {
    return (whole_gpu - spec.mode->used(spec, state)).count();
}

bool asks_for_devices(const pod_request& request) {
    return std::ranges::any_of(request.containers, [](const auto& container) { return container.count > 0; });
}

/// Rounds to `total`, which is at most `values.size()` steps above the sum of the values rounded down.
template <class Value>
idle_parts largest_remainders(const std::array<Value, idle_cause_count>& values, std::int64_t step,
                              std::int64_t total) {
    idle_parts result{};
    std::array<Value, idle_cause_count> rest{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        result[i] = static_cast<std::int64_t>(values[i] / static_cast<Value>(step)) * step;
        rest[i] = values[i] - static_cast<Value>(result[i]);
    }
    std::array<std::size_t, idle_cause_count> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return rest[i]; });
    std::int64_t left = total - std::accumulate(result.begin(), result.end(), std::int64_t{0});
    for (const std::size_t i : order) {
        if (left <= 0) break;
        result[i] += step;
        left -= step;
    }
    return result;
}

} // namespace

idle_splitter::idle_splitter(const ledger& book) : book_{&book} {
    std::map<std::vector<device_now>, std::uint32_t> known;
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        const node_index where{n};
        if (!book.is_present(where)) continue;
        const host_facts& host = book.nodes().nodes[n].host;
        const bool takes_pods = host.ready && !host.unschedulable;
        node_now entry{.where = where};
        std::vector<device_now> devices;
        const auto states = book.devices(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const bool open = takes_pods && book.services(where)[d] == service_state::in_service;
            devices.push_back({.kind = book.nodes().nodes[n].devices[d].kind, .state = states[d], .open = open});
            entry.idle += idle_of(spec_of(devices.back()), states[d]);
        }
        std::ranges::sort(devices);
        const auto [config, is_new] = known.try_emplace(devices, static_cast<std::uint32_t>(configs_.size()));
        if (is_new) configs_.push_back(std::move(devices));
        entry.devices = config->second;
        idle_ += entry.idle;
        nodes_.push_back(entry);
    }
}

std::int64_t idle_splitter::pods_that_the_host_holds(const pod_request& request, node_index where) const {
    const node& described = book_->nodes().nodes[where.at()];
    const host_use& used = book_->host(where);
    std::int64_t pods = described.pods_max - used.pods;
    if (request.cpu.count() > 0) pods = std::min(pods, (described.cpu - used.cpu).count() / request.cpu.count());
    if (request.memory.count() > 0) {
        pods = std::min(pods, (described.memory - used.memory).count() / request.memory.count());
    }
    return std::max<std::int64_t>(pods, 0);
}

namespace {

/// Pods of one request on the devices of a node, placed by best fit.
class node_filler {
public:
    node_filler(const pod_request& request, std::size_t devices) : request_{&request}, devices_(devices) {}

    struct place {
        const device_spec* spec = nullptr;
        device_state state;
        bool admits = false; ///< of the right kind, and open
    };
    place& operator[](std::size_t device) { return devices_[device]; }

    /// Pods are placed while there is room for one, at most `most`.
    void fill(std::int64_t most) {
        for (std::int64_t placed = 0; placed < most; ++placed) {
            const std::vector<place> before = devices_;
            if (!place_one()) {
                devices_ = before;
                return;
            }
        }
    }

    [[nodiscard]] std::int64_t idle() const {
        std::int64_t sum = 0;
        for (const place& device : devices_) sum += device.admits ? idle_of(*device.spec, device.state) : 0;
        return sum;
    }

private:
    bool place_one() {
        std::vector<bool> taken(devices_.size(), false);
        for (const device_request& container : request_->containers) {
            if (!request_->containers_apart) taken.assign(devices_.size(), false);
            for (std::int64_t n = 0; n < container.count; ++n) {
                if (!place_on_best(container, taken)) return false;
            }
        }
        return true;
    }

    bool place_on_best(const device_request& container, std::vector<bool>& taken) {
        std::optional<std::size_t> best;
        std::int64_t least_idle = 0;
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            const place& device = devices_[d];
            if (!device.admits || taken[d] || why_never(*device.spec, container) != rejection_code::none) continue;
            const std::int64_t idle = idle_of(*device.spec, device.state);
            if (best && idle >= least_idle) continue;
            if (device.spec->mode->why_not(*device.spec, device.state, container).code != rejection_code::none) {
                continue;
            }
            best = d;
            least_idle = idle;
        }
        if (!best) return false;
        std::vector<partition> parts;
        place& device = devices_[*best];
        device.spec->mode->candidates(*device.spec, device.state, container, parts);
        device.state = device.spec->mode->with(*device.spec, device.state, parts.front());
        taken[*best] = true;
        return true;
    }

    const pod_request* request_;
    std::vector<place> devices_;
};

/// Whether some container could have a device of this kind, empty.
bool is_of_kind(const pod_request& request, const device_spec& spec) {
    return std::ranges::any_of(request.containers, [&](const device_request& container) {
        return container.count > 0 && why_never(spec, container) == rejection_code::none &&
               spec.mode->why_not(spec, {}, container).code == rejection_code::none;
    });
}

/// What of a device that is offered in units is free in units that some container asks for.
std::int64_t idle_in_units(const pod_request& request, const device_spec& spec, device_state state) {
    const std::int64_t before = idle_of(spec, state);
    std::vector<partition> parts;
    for (const device_request& container : request.containers) {
        if (container.count == 0 || why_never(spec, container) != rejection_code::none) continue;
        for (parts.clear(); spec.mode->candidates(spec, state, container, parts), !parts.empty(); parts.clear()) {
            state = spec.mode->with(spec, state, parts.front());
        }
    }
    return before - idle_of(spec, state);
}

} // namespace

idle_parts idle_splitter::of_node(const pod_request& request, const std::vector<device_now>& devices,
                                  std::optional<std::int64_t> pods_max) const {
    idle_parts parts{};
    node_filler as_it_is{request, devices.size()};
    std::int64_t of_kind = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const device_now& device = devices[d];
        const device_spec& spec = spec_of(device);
        const std::int64_t idle = idle_of(spec, device.state);
        as_it_is[d] = {.spec = &spec, .state = device.state, .admits = false};
        if (!device.open) {
            at(parts, idle_cause::out_of_service) += idle;
        } else if (!pods_max || !is_of_kind(request, spec)) {
            at(parts, idle_cause::wrong_kind) += idle;
        } else {
            const bool in_units = spec.mode->units().in_units();
            const std::int64_t right = in_units ? idle_in_units(request, spec, device.state) : idle;
            at(parts, idle_cause::wrong_kind) += idle - right;
            of_kind += right;
            as_it_is[d].admits = true;
        }
    }
    if (of_kind == 0) return parts;
    node_filler with_endless_host = as_it_is;
    with_endless_host.fill(endless);
    const std::int64_t fits = as_it_is.idle() - with_endless_host.idle();
    node_filler with_this_host = as_it_is;
    with_this_host.fill(*pods_max);
    at(parts, idle_cause::of_use) = as_it_is.idle() - with_this_host.idle();
    at(parts, idle_cause::host_full) = fits - at(parts, idle_cause::of_use);
    at(parts, idle_cause::scattered) = of_kind - fits;
    return parts;
}

idle_parts idle_splitter::of(const pod_request& request) {
    // By devices and pods that the host holds.
    std::map<std::pair<std::uint32_t, std::optional<std::int64_t>>, idle_parts> known;
    idle_parts sum{};
    for (const node_now& node : nodes_) {
        if (node.idle == 0) continue;
        const vgpualloc::node& described = book_->nodes().nodes[node.where.at()];
        const bool is_allowed = why_not_host(request.rules, described.host, described.name) == rejection_code::none;
        std::optional<std::int64_t> pods;
        if (is_allowed) pods = pods_that_the_host_holds(request, node.where);
        const auto [entry, is_new] = known.try_emplace({node.devices, pods});
        if (is_new) entry->second = of_node(request, configs_[node.devices], pods);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += entry->second[i];
    }
    return sum;
}

idle_parts idle_splitter::mean_over(const std::vector<counted_request>& requests) {
    std::array<double, idle_cause_count> sums{};
    std::int64_t pods = 0;
    for (const counted_request& entry : requests) {
        if (entry.pods <= 0 || !asks_for_devices(entry.request)) continue;
        const idle_parts parts = of(entry.request);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            sums[i] += static_cast<double>(parts[i]) * static_cast<double>(entry.pods);
        }
        pods += entry.pods;
    }
    if (pods == 0) {
        idle_parts parts = of({});
        at(parts, idle_cause::of_use) += std::exchange(at(parts, idle_cause::wrong_kind), 0);
        return parts;
    }
    for (double& sum : sums) sum /= static_cast<double>(pods);
    return largest_remainders(sums, 1, idle_);
}

idle_parts rounded_to(const idle_parts& parts, std::int64_t step) {
    const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    return largest_remainders(parts, step, (sum + step / 2) / step * step);
}

} // namespace vgpualloc
