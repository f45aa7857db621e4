// Pods that have names of their own: gives each a number, and gives numbers of pods that are gone to others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/ids.hpp"

namespace vgpualloc {

/// The uids of a cluster's pods (metadata.uid, or any other text that names one pod) and their pod_ids. As many numbers
/// are used as pods were known at once. Not thread-safe.
class pod_registry {
public:
    /// The pod of that uid, new if it is not known.
    [[nodiscard]] pod_id add(std::string_view uid) {
        if (const auto at = numbers_.find(uid); at != numbers_.end()) return at->second;
        pod_id pod{uids_.size()};
        if (free_.empty()) {
            uids_.emplace_back(uid);
        } else {
            pod = pod_id{free_.back().value(), free_.back().generation() + 1};
            free_.pop_back();
            uids_[pod.at()] = uid;
        }
        numbers_.emplace(uid, pod);
        return pod;
    }
    /// The pod of that uid; not valid() if it is not known.
    [[nodiscard]] pod_id find(std::string_view uid) const {
        const auto at = numbers_.find(uid);
        return at == numbers_.end() ? pod_id{} : at->second;
    }
    /// Gives the number back; whoever still has the pod_id is refused by the ledger from now on. False if it is not
    /// known. The pod must not be live in a ledger.
    bool remove(std::string_view uid) {
        const auto at = numbers_.find(uid);
        if (at == numbers_.end()) return false;
        free_.push_back(at->second);
        numbers_.erase(at);
        return true;
    }
    /// The uid of a pod that is known.
    [[nodiscard]] const std::string& uid_of(pod_id pod) const { return uids_[pod.at()]; }
    [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

private:
    hashed_by_text<pod_id> numbers_; ///< never walked
    std::vector<std::string> uids_;  ///< by number
    std::vector<pod_id> free_;
};

} // namespace vgpualloc
