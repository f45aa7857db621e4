// What quotas and queues leave to pods that are made.
#include "vgpualloc/kube/quotas.hpp"

#include <algorithm>
#include <iterator>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

std::int64_t daemon_pods(const snapshot& state, const snapshot_pod& pod) {
    std::int64_t pods = 0;
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        const node& described = state.nodes().nodes[n];
        if (!state.book->is_present(node_index{n})) continue;
        if (why_not_host(pod.request.rules, described.host, described.name) == rejection_code::none) ++pods;
    }
    return pods;
}

quota_admission quota_book::admit(const manifest& object, std::int64_t pods) {
    const queue_admission let_in = queues_.admit(object, pods);
    quota_admission result{.pods = let_in.pods, .rules = let_in.rules};
    if (!let_in.queue.empty()) result.short_of = quota_shortage{.queue = let_in.queue, .because = let_in.because};
    limits_.admit(object, result);
    return result;
}

std::vector<std::string> quota_book::not_looked_at() const {
    std::vector<std::string> result = limits_.not_looked_at();
    std::ranges::copy(queues_.not_looked_at(), std::back_inserter(result));
    return result;
}

} // namespace vgpualloc::kube
