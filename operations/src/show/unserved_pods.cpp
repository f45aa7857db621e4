#include "unserved_pods.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace vgpuops::show {

std::optional<error> why_unserved(const kube::snapshot& state, const kube::snapshot_pod& pod) {
    if (pod.failure) return pod.failure;
    auto mistaken = state.dialects.mistaken_resources(pod.object);
    if (!mistaken.empty()) {
        mistaken.front().where = pod.place + ": " + mistaken.front().where;
        return std::move(mistaken.front());
    }
    auto served = state.dialects.check_scheduler(pod.dialect, pod.scheduler_name);
    if (served) return std::nullopt;
    return std::move(served).error().at(pod.place);
}

void refuse_unserved(kube::snapshot& state) {
    std::size_t position = 0;
    std::vector<std::pair<std::size_t, error>> failures;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (auto failure = why_unserved(state, pod)) failures.emplace_back(position, *std::move(failure));
        ++position;
    }
    for (auto& [waits, failure] : failures) state.pending.own_items()[waits].failure = std::move(failure);
}

} // namespace vgpuops::show
