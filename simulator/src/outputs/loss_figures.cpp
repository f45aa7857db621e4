#include "vgpusim/outputs/loss_figures.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"
#include "vgpusim/bound/pool.hpp"

namespace vgpusim {

using vgputraces::device_parts;

double accepted_pods::ratio() const noexcept {
    return arrived > 0 ? static_cast<double>(accepted) / static_cast<double>(arrived) : 1.0;
}

double loss_figures::memory_ratio() const noexcept {
    return arrived.memory > 0 ? static_cast<double>(accepted.memory) / static_cast<double>(arrived.memory) : 1.0;
}

loss_counter::loss_counter(const simulation_input& input) : input_{&input} {
    VGA_ASSERT(input.measured.has_value(), "what is measured of a workload is known");
    figures_.of_classes.resize(input.measured->classes.size());
    figures_.of_gpus.whole = input.requested.whole();
    const bool all_stay =
        std::ranges::none_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });
    if (all_stay) figures_.filled_of = device_count(input.nodes) * device_parts::whole;
}

void loss_counter::count(std::size_t pod, bool is_accepted) {
    if (pod < input_->measured->first_pod) return;
    const std::uint32_t request = input_->pods[pod].request;
    const device_parts& share = input_->measured->shares[request];
    accepted_pods& same_class = figures_.of_classes[input_->measured->class_of_request[request]];
    ++figures_.pods.arrived;
    ++same_class.arrived;
    figures_.arrived += share;
    figures_.of_gpus.count(input_->requested[request].larger(), is_accepted);
    if (!is_accepted) return;
    ++figures_.pods.accepted;
    ++same_class.accepted;
    figures_.accepted += share;
}

loss_figures loss_figures_of(const simulation_result& result, const simulation_input& input) {
    loss_counter counter{input};
    for (std::size_t pod = 0; pod < input.pods.size(); ++pod) {
        counter.count(pod, result.pods[pod].booking != no_booking);
    }
    return std::move(counter.figures());
}

loss_figures pool_figures_of(const simulation_input& input) {
    const pool_outcome outcome = replay_pool(input);
    loss_counter counter{input};
    for (std::size_t pod = 0; pod < input.pods.size(); ++pod) counter.count(pod, outcome.placed[pod]);
    return std::move(counter.figures());
}

} // namespace vgpusim
