// What the ResourceQuotas of a cluster leave to pods that are made, as the API server admits them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/policies.hpp"
#include "vgpualloc/kube/queue_book.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {

/// Why a quota refuses a pod, or a queue. Amounts are in the words of Kubernetes.
struct quota_shortage {
    std::string queue{};    ///< "queue research"; empty: a quota. Of a queue there is only `because`
    std::string because{};  ///< in the words of the queue
    std::string quota{};    ///< its name
    std::string resource{}; ///< as the quota calls it: "requests.nvidia.com/gpu"
    std::string used{};     ///< by all pods before this one
    std::string hard{};
    std::string needed{};    ///< by one pod; empty: a container does not say what it needs, which a quota demands
    std::string container{}; ///< that one

    bool operator==(const quota_shortage&) const = default;
};

/// Who refuses: "quota gpus" or "queue research".
[[nodiscard]] std::string holder_of(const quota_shortage& shortage);
/// "requests.nvidia.com/gpu 2 of 2 used, 1 more needed".
[[nodiscard]] std::string words_of(const quota_shortage& shortage);
/// The same as an error about a pod.
[[nodiscard]] error error_of(const quota_shortage& shortage, const manifest& pod);

/// How many pods are made of a DaemonSet's pod: one for every node that its rules admit, also where no room is left.
[[nodiscard]] std::int64_t daemon_pods(const snapshot& state, const snapshot_pod& pod);

/// Of pods that are alike.
struct quota_admission {
    std::int64_t pods = 0;                    ///< that are made
    std::optional<quota_shortage> short_of{}; ///< why no more are; none: all are
    host_rules rules{};                       ///< which their queue gives them: of the nodes of their flavor
};

/// Admits pods one after the other, those that their queue lets in (queue_book.hpp); what is admitted is used. What a
/// quota's status does not say to be used is counted from the pods of the objects. Pods that exist have been admitted.
class quota_book {
public:
    /// The objects outlive this. `more` has what is added: classes that are known as well, and parts of workloads.
    explicit quota_book(std::span<const manifest> objects, std::span<const manifest> more = {});

    /// Other nodes than those of the objects are asked about (queue_book::forget_nodes()).
    void forget_nodes() noexcept { queues_.forget_nodes(); }

    /// How many of `pods` pods like that of the object are made.
    [[nodiscard]] quota_admission admit(const manifest& object, std::int64_t pods);

    /// What of quotas would have counted for the pods that admit() was asked for, and was not looked at.
    [[nodiscard]] std::vector<std::string> not_looked_at() const;

private:
    struct known_quota {
        const manifest* object = nullptr;
        std::map<std::string, std::int64_t> used{}; ///< by resource; what was not asked for yet is missing
    };

    [[nodiscard]] bool counts(const known_quota& quota, const manifest& pod);
    [[nodiscard]] std::optional<bool> is_in_scope(const quota_scope& scope, const manifest& pod) const;
    [[nodiscard]] std::int64_t used_of(known_quota& quota, const std::string& resource);
    void limit_by(known_quota& quota, const manifest& object, quota_admission& admission);

    std::span<const manifest> objects_;
    queue_book queues_;
    std::map<std::string, std::vector<known_quota>> quotas_; ///< by namespace
    std::string default_class_;                              ///< of pods without a priority class
    std::set<std::string> not_looked_at_;
};

} // namespace vgpualloc::kube
