// Who ranks for a pod, and what an explanation says of that.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/policy/pair.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::explaining {

/// The pods of a snapshot's ledger by their number: those that run, then those that an explanation books for a while.
class ledger_pods {
public:
    explicit ledger_pods(const kube::snapshot& state) : bound_{&state.bound} {}

    /// Null for a number that no pod has.
    [[nodiscard]] const kube::snapshot_pod* find(pod_id id) const {
        if (id.at() < bound_->size()) return &(*bound_)[id.at()].pod;
        const std::size_t position = id.at() - bound_->size();
        return position < booked_.size() ? booked_[position] : nullptr;
    }
    [[nodiscard]] pod_id next_id() const { return pod_id{bound_->size() + booked_.size()}; }
    void add(const kube::snapshot_pod& pod) { booked_.push_back(&pod); }

private:
    const shared_list<kube::bound_pod>* bound_;
    std::vector<const kube::snapshot_pod*> booked_;
};

/// A policy, and what an explanation says of it.
struct ranking {
    std::unique_ptr<policy> scorer;
    std::unique_ptr<policy> device_scorer{}; ///< null: the same
    std::string name;
    std::string summary;
    std::vector<std::string> notes{};
    std::vector<std::string> not_considered{};

    [[nodiscard]] policy_pair scorers() const {
        return {.node = scorer.get(), .device = device_scorer ? device_scorer.get() : scorer.get()};
    }
};

/// What it returns refers to `pods`. Errors: as explain() has them about policies and what deviceshare serves.
[[nodiscard]] expected<ranking> ranking_for(const kube::snapshot& state, const ledger_pods& pods,
                                            const kube::snapshot_pod& pod, const explain_options& options);

} // namespace vgpualloc::explaining
