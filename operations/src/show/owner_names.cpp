// Makers of pods.
#include "owner_names.hpp"

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpuops::show {

owner_names::owner_names(const std::vector<kube::manifest>& objects) {
    for (const kube::manifest& object : objects) {
        if (!object.controller.empty()) makers_.emplace(key_of(object.kind, object), &object);
    }
}

owner_names::maker_key owner_names::key_of(const std::string& kind, const kube::manifest& object) {
    return {kind, kube::namespace_of(object), object.name.substr(0, object.name.find('/'))}; // without a task
}

std::vector<pod_owner> owner_names::chain_of(const std::string& ns, const std::string& pod,
                                             const vgpualloc::kubernetes::text_map& labels) const {
    constexpr int steps_max = 8; // against a circle
    std::vector<pod_owner> chain;
    std::string kind = "Pod";
    std::string name = pod;
    for (int step = 0; step < steps_max; ++step) {
        const auto maker = makers_.find(maker_key{kind, ns, name});
        if (maker == makers_.end()) break;
        kind = maker->second->controller;
        name = maker->second->controller_name;
        chain.push_back({.kind = kind, .name = ns + "/" + name});
    }
    // Exports seldom have ReplicaSets. A Deployment calls its own by its name and this label's value.
    const auto hash = labels.find("pod-template-hash");
    if (kind == "ReplicaSet" && hash != labels.end() && name.ends_with("-" + hash->second)) {
        name.resize(name.size() - hash->second.size() - 1);
        chain.push_back({.kind = "Deployment", .name = ns + "/" + name});
    }
    if (chain.empty()) chain.push_back({.kind = kind, .name = ns + "/" + name});
    return chain;
}

} // namespace vgpuops::show
