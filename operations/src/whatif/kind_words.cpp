// Words about pods that no node of a kind helps.
#include "kind_words.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "../why/because.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/why/reasons.hpp"

namespace vgpuops::whatif {

std::vector<pod_without_help> words_of_held(vgpualloc::allocator& decider, const pod_queue& queue) {
    std::vector<pod_without_help> result;
    for (const queued_pods& entry : queue.pods) {
        if (!entry.unreadable) continue;
        const kube::snapshot_pod& pod = entry.pod;
        if (pod.failure || (pod.gates.empty() && !pod.queue_hold)) {
            result.push_back({.words = entry.unreadable->message()});
            continue;
        }
        const bool is_one = pod.gates.size() == 1;
        std::string reason = pod.queue_hold
                                 ? *pod.queue_hold
                                 : fmt::format("{} {}", is_one ? "gate" : "gates", vgpuformats::joined(pod.gates));
        const auto request = decider.intern(pod.request);
        const bool fits = request && decider.decide(*request);
        result.push_back({.words = reason + (fits ? "; fits without a node more" : "; does not fit as things are")});
    }
    return result;
}

std::vector<pod_without_help> words_of_never(kube::snapshot& state, const pod_queue& queue,
                                             const std::vector<std::size_t>& positions, const stop_signal& stop) {
    std::vector<const vgpualloc::pod_request*> requests;
    for (const std::size_t i : positions) requests.push_back(&queue.pods[i].pod.request);
    const std::vector<bool> fit_alone = show::headroom{state}.fit_alone(requests, stop);
    std::vector<pod_without_help> result(positions.size());
    // Pods that ask for the same in the same words have the same answer.
    std::map<std::pair<std::string, vgpualloc::pod_request>, std::string> known_words;
    for (std::size_t i = 0; i < std::min(fit_alone.size(), positions.size()); ++i) {
        result[i].fits_alone = fit_alone[i];
        if (fit_alone[i]) continue;
        const kube::snapshot_pod& pod = queue.pods[positions[i]].pod;
        const auto [known, is_new] = known_words.try_emplace({pod.dialect, pod.request});
        if (is_new) known->second = why::because_of(state, pod, {.why = show::verdict::never}, {}, stop);
        result[i].words = known->second;
    }
    return result;
}

std::string words_of_refusal(const kube::snapshot& state, const kube::snapshot_pod& pod,
                             const explaining::explanation& explained, node_index where) {
    const why::node_reasons answers = why::reasons_of(state, explained)[where.at()];
    const vgpualloc::node& node = state.nodes().nodes[where.at()];
    if (answers.word == why::node_reason::wrong_kind && !node.devices.empty()) {
        const kube::snapshot_device& device = state.devices[where.at()].front();
        return fmt::format("asks {}, the kind is {} {}", why::device_words(pod),
                           show::short_model(device.registered.model), show::sharing_name(node, device));
    }
    std::vector<std::string> texts;
    for (const why::failed_check& check : answers.checks) {
        if (check.word == answers.word) texts.push_back(check.text);
    }
    return vgpuformats::joined(texts);
}

} // namespace vgpuops::whatif
