// Who made which pod.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpuops::show {

/// An object that made a pod, or the pod itself.
struct pod_owner {
    std::string kind{};
    std::string name{}; ///< with its namespace

    /// "train/llm Job".
    [[nodiscard]] std::string words() const { return name + " " + kind; }
};

/// Makers of pods, as far as the objects, which outlive this, say them.
class owner_names {
public:
    explicit owner_names(const std::vector<kube::manifest>& objects);

    /// The pod's maker, the maker of that, and so on up to the topmost; of a pod that nothing made, the pod.
    [[nodiscard]] std::vector<pod_owner> chain_of(const kube::snapshot_pod& pod) const {
        return chain_of(pod.ns, pod.name, pod.object.labels);
    }
    [[nodiscard]] std::vector<pod_owner> chain_of(const std::string& ns, const std::string& pod,
                                                  const vgpualloc::kubernetes::text_map& labels) const;
    [[nodiscard]] pod_owner top_of(const kube::snapshot_pod& pod) const { return chain_of(pod).back(); }

private:
    using maker_key = std::array<std::string, 3>; ///< kind, namespace and name

    static maker_key key_of(const std::string& kind, const kube::manifest& object);

    std::map<maker_key, const kube::manifest*> makers_; ///< objects that something made
};

} // namespace vgpuops::show
