// The events of a decision log under other options: pods come, end and are taken back as they did, and go where these
// options have them go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpuops/decisions/follow.hpp"
#include "vgpuops/decisions/log.hpp"

namespace vgpuops::decisions {

/// What became of a pod that the log decides or refuses.
struct pod_fate {
    std::string uid{};
    std::string pod{};       ///< "<namespace>/<name>"
    std::string live_node{}; ///< of the decision that stands; empty: of none
    std::string node{};      ///< likewise, here
    bool live_waited = false;
    bool live_waiting = false; ///< at the end
    bool waited = false;
    bool waiting = false;
    vgpualloc::kubernetes::text_map annotations{}; ///< that would have been written here
};

/// Pods that the log decides or refuses wait here from the first time that they fit nowhere, and are tried again, in
/// that order, when something was given back or nodes have changed; not while one is suspended, because what it had is
/// not free (one that the log refuses then waits without a try), and after a restart not before the first decision,
/// because until then not all objects are told.
///
/// A pod whose object shows the live scheduler's decision is told with the decision made here in its place: what its
/// object would say if this scheduler had run. Pods that the log never decides or refuses keep what their objects say.
class rerun {
public:
    explicit rerun(option_changes changes) : changes_{std::move(changes)} {}

    /// Applies the next event, which `live`, a follower's cluster, has been told already. Errors: options that cannot
    /// be read.
    [[nodiscard]] expected<void> apply(const log_event& event, const vgpualloc::live_cluster& live);
    /// After the last event: tries once more what waits. The fates, in the order in which pods were first tried.
    [[nodiscard]] std::vector<pod_fate> finish(const vgpualloc::live_cluster& live);

    /// After the first event.
    [[nodiscard]] vgpualloc::live_cluster& cluster() noexcept { return *cluster_; }

private:
    struct followed_pod {
        pod_fate fate{};
        candidate_rule candidates{}; ///< as it was last tried
        vgpualloc::kubernetes::text_map live_annotations{};
        std::optional<kube::manifest> undecided{}; ///< its object before it showed a decision
        std::optional<kube::manifest> decided{};   ///< its object since then
        std::uint64_t turn = 0;                    ///< in waiting_; 0: it does not wait
    };

    [[nodiscard]] expected<void> configure(const log_event& event);
    void tell(const kube::manifest& object, const vgpualloc::live_cluster& live);
    [[nodiscard]] bool shows_decision(const kube::manifest& object, const followed_pod& pod) const;
    [[nodiscard]] static kube::manifest as_decided_here(const followed_pod& pod);
    followed_pod& follow(const log_event& event);
    void attempt(const std::string& uid, followed_pod& pod, const vgpualloc::live_cluster& live);
    void wait(const std::string& uid, followed_pod& pod);
    [[nodiscard]] bool place(const std::string& uid, followed_pod& pod, const vgpualloc::live_cluster& live);
    void call(const log_event& event, const vgpualloc::live_cluster& live);
    void take_back(const std::string& uid);
    void follow_commit(const std::string& uid, const vgpualloc::live_cluster& live);
    void stop_waiting(followed_pod& pod);
    [[nodiscard]] bool any_suspended(const vgpualloc::live_cluster& live);
    void try_waiting(const vgpualloc::live_cluster& live);

    option_changes changes_;
    std::unique_ptr<vgpualloc::live_cluster> cluster_;
    std::map<std::string, followed_pod> pods_;     ///< by uid
    std::vector<std::string> order_;               ///< uids, as first tried
    std::map<std::uint64_t, std::string> waiting_; ///< uids by turn
    std::set<std::string> suspended_;              ///< uids, also of some that no longer are
    std::uint64_t next_turn_ = 1;
    std::int64_t time_ = 0;     ///< of the last event that says it
    bool freed_ = false;        ///< something may fit that did not
    bool are_all_told_ = false; ///< objects, since the last start
};

} // namespace vgpuops::decisions
