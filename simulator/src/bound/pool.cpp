#include "vgpusim/bound/pool.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>

#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::device_spec;
using vgpualloc::partition;

namespace {

struct amounts {
    std::int64_t memory = 0;
    std::int64_t compute = 0;
};

amounts of_device(const device_spec& device) {
    if (const auto* mig = dynamic_cast<const vgpualloc::modes::mig*>(device.mode)) {
        return {.memory = mig->model().units.count(), .compute = mig->model().compute_slices.count()};
    }
    return {.memory = device.memory.count(), .compute = device.cores.count()};
}

amounts of_part(const device_spec& device, const partition& part) {
    const auto* mig = dynamic_cast<const vgpualloc::modes::mig*>(device.mode);
    if (const auto* instance = std::get_if<vgpualloc::mig_instance>(&part); mig != nullptr && instance != nullptr) {
        const auto& profile = mig->model().profiles[instance->profile];
        return {.memory = profile.size.count(), .compute = profile.compute_slices.count()};
    }
    const auto use = device.mode->use(device, device.mode->with(device, {}, part));
    return {.memory = use.memory.count(), .compute = use.compute.count()};
}

/// What one device's worth of the request takes on that kind of device; nothing if it cannot serve it.
std::optional<amounts> taken_on(const device_spec& device, const device_request& request) {
    if (vgpualloc::why_not(device, {}, vgpualloc::service_state::in_service, request).code != rejection_code::none) {
        return std::nullopt;
    }
    std::vector<partition> parts;
    device.mode->candidates(device, {}, request, parts);
    if (parts.empty()) return std::nullopt;
    return of_part(device, parts.front());
}

/// For every request, what it takes of each pool that could serve it: all containers from one.
class pools {
public:
    explicit pools(const simulation_input& input) : left_(input.nodes.kinds.size()) {
        for (const vgpualloc::node& node : input.nodes.nodes) {
            for (const vgpualloc::device& device : node.devices) {
                if (device.service != vgpualloc::service_state::in_service) continue;
                const amounts whole = of_device(input.nodes.kinds[device.kind]);
                left_[device.kind].memory += whole.memory;
                left_[device.kind].compute += whole.compute;
            }
        }
        for (const pod_request& request : input.requests) {
            taken_.emplace_back();
            for (const device_spec& device : input.nodes.kinds) taken_.back().push_back(taken_by(request, device));
        }
    }

    /// The pool that takes the pod; none if it is lost.
    std::optional<std::size_t> take(std::uint32_t request) {
        for (std::size_t kind = 0; kind < left_.size(); ++kind) {
            const auto& wanted = taken_[request][kind];
            if (!wanted || wanted->memory > left_[kind].memory || wanted->compute > left_[kind].compute) continue;
            add(kind, *wanted, -1);
            return kind;
        }
        return std::nullopt;
    }
    void give_back(std::uint32_t request, std::size_t kind) { add(kind, *taken_[request][kind], 1); }

    /// Memory units of a pod on the first kind that could serve it; 0 if none could.
    [[nodiscard]] std::int64_t memory_of(std::uint32_t request) const {
        for (const auto& wanted : taken_[request]) {
            if (wanted) return wanted->memory;
        }
        return 0;
    }

private:
    static std::optional<amounts> taken_by(const pod_request& request, const device_spec& device) {
        amounts sum;
        for (const device_request& container : request.containers) {
            if (container.count == 0) continue;
            const auto part = taken_on(device, container);
            if (!part) return std::nullopt;
            sum.memory += part->memory * container.count;
            sum.compute += part->compute * container.count;
        }
        return sum;
    }
    void add(std::size_t kind, const amounts& wanted, std::int64_t sign) {
        left_[kind].memory += sign * wanted.memory;
        left_[kind].compute += sign * wanted.compute;
    }

    std::vector<amounts> left_;
    std::vector<std::vector<std::optional<amounts>>> taken_; ///< by request and kind
};

bool asks_for_devices(const pod_request& request) {
    return std::ranges::any_of(request.containers, [](const device_request& part) { return part.count > 0; });
}

pool_amounts sum_of(const simulation_input& input, const pools& all, const std::vector<bool>& placed) {
    pool_amounts result;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const std::uint32_t request = input.pods[i].request;
        if (!placed[i] || !asks_for_devices(input.requests[request])) continue;
        ++result.pods;
        result.memory_units += all.memory_of(request);
    }
    return result;
}

} // namespace

pool_outcome replay_pool(const simulation_input& input) {
    pools all{input};
    pool_outcome result;
    result.placed.assign(input.pods.size(), true);
    using departure = std::tuple<ticks, std::uint32_t, std::size_t>; // when, the pod's request, its pool
    std::priority_queue<departure, std::vector<departure>, std::greater<>> leaving;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const arriving_pod& pod = input.pods[i];
        if (!asks_for_devices(input.requests[pod.request])) continue;
        while (!leaving.empty() && std::get<ticks>(leaving.top()) <= pod.arrival) {
            all.give_back(std::get<std::uint32_t>(leaving.top()), std::get<std::size_t>(leaving.top()));
            leaving.pop();
        }
        const auto kind = all.take(pod.request);
        result.placed[i] = kind.has_value();
        if (kind && pod.duration) leaving.emplace(pod.arrival + *pod.duration, pod.request, *kind);
    }
    result.arrived = sum_of(input, all, std::vector<bool>(input.pods.size(), true));
    result.accepted = sum_of(input, all, result.placed);
    return result;
}

pool_amounts amounts_of(const simulation_input& input, const std::vector<bool>& placed) {
    return sum_of(input, pools{input}, placed);
}

} // namespace vgpusim
