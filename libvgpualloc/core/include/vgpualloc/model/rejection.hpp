// Why a pod was not placed: a code and the numbers behind it, per node and added up over the cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vgpualloc {

/// The first check that failed, in the order in which they are made.
enum class rejection_code : std::uint8_t {
    none,                       ///< it fits
    no_nodes,                   ///< the cluster is empty
    node_gone,                  ///< the node was removed; what still runs there is counted until it ends
    node_unschedulable,         ///< cordoned, and the pod does not tolerate that; or nobody can tell
    node_not_ready,             ///< the node's condition Ready is not true
    taint_not_tolerated,        ///< a NoSchedule or NoExecute taint of the node
    node_selector_differs,      ///< a label that the pod's nodeSelector wants is missing or has another value
    node_affinity_differs,      ///< no term of the pod's required node affinity matches
    resource_not_offered,       ///< an extended resource that the pod names, of which the node has nothing allocatable
    too_many_pods,              ///< the node's pod limit is reached
    insufficient_cpu,           ///< host CPU
    too_few_devices,            ///< the node has fewer devices than the container asks for
    family_not_offered,         ///< no device of the wanted family
    model_not_accepted,         ///< no device of an accepted model
    type_not_accepted,          ///< the model's name contains none of the allowed parts, or a denied one
    uuid_not_accepted,          ///< not one of the devices asked for, or one that was ruled out
    mode_not_offered,           ///< no device is shared in the wanted mode
    device_unhealthy,           ///< failed, or registered as not healthy
    device_draining,            ///< it keeps what it has and gets nothing new
    device_reconfiguring,       ///< its layout is being changed
    device_in_use,              ///< a whole device was asked for and this one has users
    device_taken_whole,         ///< this device is given out as a whole
    device_avoided,             ///< a pod on it carries a tag that this one avoids (its group, an exclusive rule)
    isolation_differs,          ///< its containers are isolated in another way (CCE: memory only, or with compute)
    request_not_valid,          ///< no device of this mode can ever serve such an amount
    insufficient_device_slots,  ///< the split count is reached
    insufficient_device_memory, ///<
    insufficient_device_cores,  ///<
    insufficient_device_cpus,   ///< an NPU's AI CPUs
    dvpp_taken,                 ///< an NPU's video engines are used otherwise
    insufficient_vgroups,       ///< an NPU's vGroups: what is left of them is too small for so many cores
    no_free_instance,           ///< MIG: no place for an instance that is large enough
    instance_memory_unknown,    ///< MIG: nobody knows whether the instance that comes next is large enough
    insufficient_memory,        ///< host memory, which no policy looks at and which is checked after the devices
    topology_spread,            ///< other nodes have fewer of the pods that the pod is to be spread among
    pod_affinity_differs,       ///< no pod is near that the pod wants near
    pod_anti_affinity,          ///< a pod is near that this one keeps away from, or that keeps this one away
    pod_is_live,                ///< misuse: the pod, or claim, is booked already
    pod_not_known,              ///< misuse: no such pod is booked, or its number is another's or too large
    node_not_known,             ///< misuse: the placement names a node that the cluster does not have
    request_not_known,          ///< misuse: the allocator has forgotten the request, or never knew it
    amount_not_valid,           ///< misuse: a negative amount, or one beyond model/limits.hpp
    over_quota,                 ///< of a queue: its quota, or what others lend it, does not hold one more such job
    gang_not_complete,          ///< of a queue: it would fit, and others that it starts together with would not
    still_queued,               ///< of a queue: its turn had not come when the run ended
    claim_not_known,            ///< misuse: no such claim is booked, or the pod names it twice, or a claim names one
    claim_elsewhere,            ///< a claim that the pod uses has its devices on another node
    claim_in_use,               ///< misuse: live pods use the claim
    count_,                     ///< number of codes
};

inline constexpr std::size_t rejection_code_count = static_cast<std::size_t>(rejection_code::count_);
/// Those before the codes of queues: the reasons that a node or device can have.
inline constexpr std::size_t node_rejection_code_count = static_cast<std::size_t>(rejection_code::over_quota);

/// The code as it is written to files.
[[nodiscard]] constexpr std::string_view to_string(rejection_code code) noexcept {
    constexpr std::array<std::string_view, rejection_code_count> names{
        "",
        "no_nodes",
        "node_gone",
        "node_unschedulable",
        "node_not_ready",
        "taint_not_tolerated",
        "node_selector_differs",
        "node_affinity_differs",
        "resource_not_offered",
        "too_many_pods",
        "insufficient_cpu",
        "too_few_devices",
        "family_not_offered",
        "model_not_accepted",
        "type_not_accepted",
        "uuid_not_accepted",
        "mode_not_offered",
        "device_unhealthy",
        "device_draining",
        "device_reconfiguring",
        "device_in_use",
        "device_taken_whole",
        "device_avoided",
        "isolation_differs",
        "request_not_valid",
        "insufficient_device_slots",
        "insufficient_device_memory",
        "insufficient_device_cores",
        "insufficient_device_cpus",
        "dvpp_taken",
        "insufficient_vgroups",
        "no_free_instance",
        "instance_memory_unknown",
        "insufficient_memory",
        "topology_spread",
        "pod_affinity_differs",
        "pod_anti_affinity",
        "pod_is_live",
        "pod_not_known",
        "node_not_known",
        "request_not_known",
        "amount_not_valid",
        "over_quota",
        "gang_not_complete",
        "still_queued",
        "claim_not_known",
        "claim_elsewhere",
        "claim_in_use",
    };
    return names[static_cast<std::size_t>(code)];
}

/// One check that failed on one node or device: how much was wanted and how much there was, in the check's own unit
/// (milli-CPU, MiB, percent, devices, slots). Both are 0 where the check is not about an amount.
struct rejection_detail {
    rejection_code code = rejection_code::none;
    std::int64_t wanted = 0;
    std::int64_t available = 0;

    bool operator==(const rejection_detail&) const = default;
};

/// Why no node could take the pod: how many nodes failed with each code.
struct rejection {
    std::array<std::int64_t, node_rejection_code_count> nodes{};

    /// The most frequent code; of equally frequent ones the one checked first.
    [[nodiscard]] constexpr rejection_code main_code() const noexcept {
        std::size_t best = 0;
        std::int64_t most = 0;
        for (std::size_t code = 1; code < nodes.size(); ++code) {
            if (nodes[code] > most) {
                most = nodes[code];
                best = code;
            }
        }
        return best == 0 ? rejection_code::no_nodes : static_cast<rejection_code>(best);
    }
    bool operator==(const rejection&) const = default;
};

/// Of the answers of a node's devices, the one that is the node's: devices of another family say nothing of those that
/// could serve, whatever their number.
[[nodiscard]] constexpr rejection_code device_code(rejection reasons) noexcept {
    const rejection_code all = reasons.main_code();
    reasons.nodes[static_cast<std::size_t>(rejection_code::family_not_offered)] = 0;
    const rejection_code of_family = reasons.main_code();
    return of_family == rejection_code::no_nodes ? all : of_family;
}

/// The reason why a container gets no further device: `already` are those it has, `reasons` the answers of those that
/// the pod has not taken. Without an answer they are all taken.
[[nodiscard]] inline rejection_code step_refusal(const rejection& reasons, std::int64_t already) {
    const rejection_code code = device_code(reasons);
    return already > 0 || code == rejection_code::no_nodes ? rejection_code::too_few_devices : code;
}

} // namespace vgpualloc
