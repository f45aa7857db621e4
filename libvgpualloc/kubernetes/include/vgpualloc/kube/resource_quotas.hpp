// What the ResourceQuotas of a cluster leave to pods that are made, as the API server admits them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/policies.hpp"
#include "vgpualloc/model/host_rules.hpp"

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

/// Of pods that are alike.
struct quota_admission {
    std::int64_t pods = 0;                    ///< that are made
    std::optional<quota_shortage> short_of{}; ///< why no more are; none: all are
    host_rules rules{};                       ///< which their queue gives them: of the nodes of their flavor
};

/// What is admitted is used. What a quota's status does not say to be used is counted from the pods of the objects.
class resource_quotas {
public:
    /// The objects outlive this. `more` has classes that are known as well.
    explicit resource_quotas(std::span<const manifest> objects, std::span<const manifest> more = {});

    [[nodiscard]] bool empty() const noexcept { return quotas_.empty(); }

    /// Leaves as many of the pods of an admission, which are like that of the object, as all quotas admit.
    void admit(const manifest& object, quota_admission& admission);
    /// Why not one more pod like that of the object is made; none: it would be.
    [[nodiscard]] std::optional<quota_shortage> shortage_of(const manifest& object);
    /// Why a pod of the objects would not be replaced if it were deleted; none: it would be. `replacement` is the pod
    /// with what is filled in when it is made.
    [[nodiscard]] std::optional<quota_shortage> shortage_of_replacement(const manifest& pod,
                                                                        const manifest& replacement);

    /// What is used of a quota, one of the objects; as its status has it, if it does.
    [[nodiscard]] std::string used_words(const manifest& quota, const std::string& limited);
    /// What a pod counts of what is short; empty: nothing.
    [[nodiscard]] std::string counted_words(const quota_shortage& shortage, const manifest& pod);

    /// Raises the quota so far that one more pod like that of the object finds enough of what is short. Returns the
    /// new limit; empty: it cannot be raised to help.
    std::string raise(const quota_shortage& shortage, const manifest& object);
    /// A pod of the objects counts no longer.
    void forget(const manifest& pod);

    /// What of quotas would have counted for the pods that were asked for, and was not looked at.
    [[nodiscard]] std::vector<std::string> not_looked_at() const;

private:
    struct known_quota {
        const manifest* object = nullptr;
        kubernetes::text_map hard{};                ///< as written, or raised
        std::map<std::string, std::int64_t> used{}; ///< by resource; what was not asked for yet is missing
    };

    [[nodiscard]] std::vector<known_quota*> quotas_of(const manifest& pod);
    [[nodiscard]] known_quota* known_as(const std::string& ns, const std::string& name);
    [[nodiscard]] const std::vector<const manifest*>& pods_in(const std::string& ns);
    [[nodiscard]] bool counts(const known_quota& quota, const manifest& pod);
    [[nodiscard]] std::optional<bool> is_in_scope(const quota_scope& scope, const manifest& pod) const;
    [[nodiscard]] std::int64_t used_of(known_quota& quota, const std::string& resource);
    void limit_by(known_quota& quota, const manifest& object, quota_admission& admission);

    std::span<const manifest> objects_;
    std::map<std::string, std::vector<known_quota>> quotas_;                    ///< by namespace
    std::optional<std::map<std::string, std::vector<const manifest*>>> pods_{}; ///< by namespace, once asked for
    std::string default_class_;                                                 ///< of pods without a priority class
    std::set<std::string> not_looked_at_;
};

} // namespace vgpualloc::kube
