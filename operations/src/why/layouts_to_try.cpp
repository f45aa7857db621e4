// Nodes and layouts, those that disturb the fewest pods first.
#include "layouts_to_try.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "vgpualloc/dialect/nvidia_layouts.hpp"

namespace vgpuops::why {

namespace nvidia = vgpualloc::dialects::nvidia;

namespace {

/// The profiles of the instances that a pod asks for.
std::set<std::string> profiles_of(const vgpualloc::pod_request& request) {
    std::set<std::string> profiles;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.count > 0 && container.family == nvidia::mig_family && !container.profile.empty()) {
            profiles.insert(container.profile);
        }
    }
    return profiles;
}

bool has_all(const nvidia::layout& layout, const std::set<std::string>& profiles) {
    return std::ranges::all_of(profiles, [&](const std::string& profile) {
        return std::ranges::find(layout.parts, profile, &nvidia::layout_part::profile) != layout.parts.end();
    });
}

/// Whether another layout could open the node: it takes pods, and no rule of the pod closes it.
bool is_open(const node_reasons& node) {
    return std::ranges::none_of(node.checks, [](const failed_check& check) {
        return check.word == node_reason::out_of_service || check.word == node_reason::not_allowed;
    });
}

bool has_strategy_single(const vgpualloc::node& node) {
    const std::string* const strategy = node.host.label("nvidia.com/mig.strategy");
    return strategy != nullptr && *strategy == "single";
}

/// By node, the pods that have something of its devices.
std::vector<std::int64_t> pods_with_devices(const kube::snapshot& state) {
    std::vector<std::int64_t> pods(state.nodes().nodes.size());
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        if (!state.book->is_live(pod_id{i}) || state.book->booking_of(pod_id{i}).where.shares.empty()) continue;
        ++pods[state.bound[i].node.at()];
    }
    return pods;
}

} // namespace

std::vector<layouts_to_try> layouts_for(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                        const kube::snapshot_pod& pod, const std::vector<node_reasons>& nodes) {
    const std::set<std::string> profiles = profiles_of(pod.request);
    if (profiles.empty()) return {};
    const nvidia::options options = nvidia::options_of(state.dialects.config());
    const std::vector<std::int64_t> pods = pods_with_devices(state);
    std::map<std::string, const kube::manifest*> described;
    for (const kube::manifest& object : objects) {
        if (object.node) described.emplace(object.name, &object);
    }
    using rank = std::tuple<bool, std::int64_t, std::string>; // whole GPUs with pods, pods, name
    std::map<std::tuple<std::string, std::int64_t, std::string>, std::pair<rank, layouts_to_try>> best; // by kind
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const vgpualloc::node& node = state.nodes().nodes[n];
        const auto object = described.find(node.name);
        if (node.devices.empty() || !is_open(nodes[n]) || has_strategy_single(node) || object == described.end()) {
            continue;
        }
        const auto gpus = nvidia::gpus_of(*object->second->node, options);
        if (!gpus) continue;
        const bool is_whole = nvidia::parts_of(state.devices[n].front().registered).empty();
        rank own{is_whole && pods[n] > 0, pods[n], node.name};
        const auto [known, is_new] = best.try_emplace({gpus->model->name, gpus->gpus, gpus->layout});
        if (!is_new && known->second.first <= own) continue;
        layouts_to_try entry{.node = node.name};
        for (const nvidia::layout& layout : nvidia::layouts_of(*gpus->model)) {
            if (layout.name != gpus->layout && has_all(layout, profiles)) entry.layouts.push_back(layout.name);
        }
        known->second = {std::move(own), std::move(entry)};
    }
    std::vector<std::pair<rank, layouts_to_try>> sorted;
    for (auto& [kind, candidate] : best) {
        if (!candidate.second.layouts.empty()) sorted.push_back(std::move(candidate));
    }
    std::ranges::sort(sorted, {}, &std::pair<rank, layouts_to_try>::first);
    std::vector<layouts_to_try> result;
    for (auto& [own, entry] : sorted) result.push_back(std::move(entry));
    return result;
}

} // namespace vgpuops::why
