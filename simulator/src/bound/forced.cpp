#include "vgpusim/bound/forced.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "vgpualloc/model/device.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::service_state;

namespace {

/// Nodes that are alike: how many, their resources, and how many devices of a kind each.
struct node_class {
    std::int64_t nodes = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t pods_max = 0;
    std::vector<std::pair<std::uint32_t, std::int64_t>> kinds{};
};

std::vector<node_class> open_classes(const vgpualloc::cluster& cluster) {
    using key =
        std::tuple<std::int64_t, std::int64_t, std::int64_t, std::vector<std::pair<std::uint32_t, std::int64_t>>>;
    std::map<key, std::int64_t> nodes;
    for (const vgpualloc::node& node : cluster.nodes) {
        if (!node.host.is_open()) continue;
        std::map<std::uint32_t, std::int64_t> kinds;
        for (const vgpualloc::device& device : node.devices) {
            if (device.service == service_state::in_service) ++kinds[device.kind];
        }
        ++nodes[{node.cpu.count(), node.memory.count(), node.pods_max, {kinds.begin(), kinds.end()}}];
    }
    std::vector<node_class> result;
    for (const auto& [form, count] : nodes) {
        const auto& [cpu, memory, pods_max, kinds] = form;
        result.push_back({.nodes = count, .cpu = cpu, .memory = memory, .pods_max = pods_max, .kinds = kinds});
    }
    return result;
}

/// What earlier pods can have taken in all.
struct taken_before {
    std::int64_t devices = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t pods = 0;

    void add(const pod_request& request) {
        for (const device_request& container : request.containers) devices += container.count;
        cpu += request.cpu.count();
        memory += request.memory.count();
        ++pods;
    }
};

/// Nodes of one class that could take a pod, and what filling one so that it cannot costs in each resource.
struct eligible_class {
    std::int64_t nodes = 0;
    std::int64_t devices = 0; ///< of one node, that the pod could use
    std::int64_t touch_cost = 0;
    std::int64_t cpu_cost = 0;
    std::int64_t memory_cost = 0;
    std::int64_t pods_cost = 0;
};

/// The most weight that a budget fills: nodes at a cost each, the cheapest of their weight first, of the last one the
/// fitting fraction. Resources of which no amount fills a node (cost 0 or less: the pod takes none) fill none.
double most_filled(const std::vector<eligible_class>& classes, std::int64_t budget, std::int64_t eligible_class::* cost,
                   bool by_devices) {
    std::vector<const eligible_class*> order;
    for (const eligible_class& of_class : classes) {
        if (of_class.*cost > 0) order.push_back(&of_class);
    }
    const auto weight = [by_devices](const eligible_class& of_class) {
        return by_devices ? of_class.devices : std::int64_t{1};
    };
    std::ranges::stable_sort(order, [&](const eligible_class* a, const eligible_class* b) {
        return a->*cost * weight(*b) < b->*cost * weight(*a);
    });
    double filled = 0.0;
    auto left = static_cast<double>(budget);
    for (const eligible_class* of_class : order) {
        const double nodes =
            std::min(static_cast<double>(of_class->nodes), left / static_cast<double>(of_class->*cost));
        filled += nodes * static_cast<double>(weight(*of_class));
        left -= nodes * static_cast<double>(of_class->*cost);
    }
    return filled;
}

class sure_fit {
public:
    sure_fit(const simulation_input& input, const pod_request& request, const std::vector<node_class>& nodes) {
        const bool simple = request.containers.size() <= 1 && !request.names_devices() && request.tags.empty() &&
                            !request.rules.restricts();
        if (!simple) return;
        const device_request* part = request.containers.empty() ? nullptr : &request.containers.front();
        devices_ = part == nullptr ? 0 : part->count;
        for (const node_class& of_class : nodes) {
            std::int64_t usable = 0;
            for (const auto& [kind, count] : of_class.kinds) {
                if (devices_ > 0 && fits(input.nodes.kinds[kind], *part)) usable += count;
            }
            const std::int64_t cpu_left = of_class.cpu - request.cpu.count();
            const std::int64_t memory_left = of_class.memory - request.memory.count();
            if (usable < devices_ || cpu_left < 0 || memory_left < 0 || of_class.pods_max < 1) continue;
            classes_.push_back({.nodes = of_class.nodes,
                                .devices = usable,
                                .touch_cost = devices_ > 0 ? usable - devices_ + 1 : 0,
                                .cpu_cost = request.cpu.count() > 0 ? cpu_left + 1 : 0,
                                .memory_cost = request.memory.count() > 0 ? memory_left + 1 : 0,
                                .pods_cost = of_class.pods_max});
        }
    }

    /// Whether the pod fits whatever became of the pods before.
    [[nodiscard]] bool holds(const taken_before& before) const {
        if (classes_.empty()) return false;
        // What is filled is a whole number below or at these sums of fractions, which are rounded.
        constexpr double slack = 1e-6;
        const auto filled_by_host = [&](bool by_devices) {
            return most_filled(classes_, before.cpu, &eligible_class::cpu_cost, by_devices) +
                   most_filled(classes_, before.memory, &eligible_class::memory_cost, by_devices) +
                   most_filled(classes_, before.pods, &eligible_class::pods_cost, by_devices);
        };
        double nodes = 0.0;
        double devices = 0.0;
        for (const eligible_class& of_class : classes_) {
            nodes += static_cast<double>(of_class.nodes);
            devices += static_cast<double>(of_class.nodes * of_class.devices);
        }
        const double nodes_filled =
            filled_by_host(false) + most_filled(classes_, before.devices, &eligible_class::touch_cost, false);
        if (nodes_filled < nodes - slack) return true;
        if (devices_ != 1) return false;
        return static_cast<double>(before.devices) + filled_by_host(true) < devices - slack;
    }

private:
    static bool fits(const vgpualloc::device_spec& device, const device_request& part) {
        return vgpualloc::why_not(device, {}, service_state::in_service, part).code == rejection_code::none;
    }

    std::vector<eligible_class> classes_;
    std::int64_t devices_ = 0;
};

} // namespace

forced_pods first_arrivals(const simulation_input& input, std::size_t count) {
    forced_pods result;
    result.of_request.assign(input.requests.size(), 0.0);
    for (std::size_t i = 0; i < std::min(count, input.pods.size()); ++i) {
        const std::uint32_t request = input.pods[i].request;
        result.of_request[request] += 1.0;
        result.asked += input.requested[request];
        ++result.pods;
    }
    return result;
}

std::size_t arrivals_up_to(const simulation_input& input, double load) {
    const double most = load * static_cast<double>(device_count(input.nodes) * input.requested.whole());
    wide_requested_units asked;
    std::size_t count = 0;
    while (count < input.pods.size()) {
        asked += input.requested[input.pods[count].request];
        if (static_cast<double>(asked.larger()) > most) break;
        ++count;
    }
    return count;
}

forced_pods surely_placed(const simulation_input& input) {
    forced_pods result;
    result.of_request.assign(input.requests.size(), 0.0);
    const bool all_stay =
        std::ranges::none_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });
    if (!all_stay || !input.cluster_events.empty() || !input.jobs.empty() || !input.queues.empty()) return result;
    const std::vector<node_class> nodes = open_classes(input.nodes);
    std::vector<sure_fit> fits;
    for (const pod_request& request : input.requests) fits.emplace_back(input, request, nodes);
    // What earlier pods took only grows: a request that is not sure to fit once is not later on either.
    std::vector<bool> sure(input.requests.size(), true);
    taken_before before;
    for (const arriving_pod& pod : input.pods) {
        if (sure[pod.request] && fits[pod.request].holds(before)) {
            result.of_request[pod.request] += 1.0;
            result.asked += input.requested[pod.request];
            ++result.pods;
        } else {
            sure[pod.request] = false;
        }
        before.add(input.requests[pod.request]);
    }
    return result;
}

} // namespace vgpusim
