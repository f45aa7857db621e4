// What the ResourceQuotas and queues of a cluster leave to pods that are made, as they admit them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/queue_book.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {

/// How many pods are made of a DaemonSet's pod: one for every node that its rules admit, also where no room is left.
[[nodiscard]] std::int64_t daemon_pods(const snapshot& state, const snapshot_pod& pod);

/// Admits pods one after the other, those that their queue lets in (queue_book.hpp); what is admitted is used. What a
/// quota's status does not say to be used is counted from the pods of the objects. Pods that exist have been admitted.
class quota_book {
public:
    /// The objects outlive this. `more` has what is added: classes that are known as well, and parts of workloads.
    explicit quota_book(std::span<const manifest> objects, std::span<const manifest> more = {})
        : limits_{objects, more}, queues_{objects, more} {}

    /// Other nodes than those of the objects are asked about (queue_book::forget_nodes()).
    void forget_nodes() noexcept { queues_.forget_nodes(); }

    /// How many of `pods` pods like that of the object are made.
    [[nodiscard]] quota_admission admit(const manifest& object, std::int64_t pods);

    /// What of quotas would have counted for the pods that admit() was asked for, and was not looked at.
    [[nodiscard]] std::vector<std::string> not_looked_at() const;

private:
    resource_quotas limits_;
    queue_book queues_;
};

} // namespace vgpualloc::kube
