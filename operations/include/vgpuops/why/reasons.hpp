// Why a node does not take a pod: one word for the node, with all that it refuses for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::why {

/// The easiest to cure first. A node with several has the last of them.
enum class node_reason : std::uint8_t {
    fits,
    host_full,      ///< CPU, memory or the pod limit
    too_few_free,   ///< devices, or parts of them
    out_of_service, ///< cordoned, not ready, or devices that are not in service
    not_allowed,    ///< taint, selector, affinity, spread, pods that keep apart
    wrong_kind,     ///< no device there can ever serve the pod
};
inline constexpr std::size_t node_reason_count = 6;

/// "fits", "host full", "too few free", …
[[nodiscard]] constexpr std::string_view to_string(node_reason word) noexcept {
    constexpr std::array<std::string_view, node_reason_count> words{"fits",           "host full",   "too few free",
                                                                    "out of service", "not allowed", "wrong kind"};
    return words[static_cast<std::size_t>(word)];
}

/// One check that a node's answer failed.
struct failed_check {
    node_reason word = node_reason::fits;
    explaining::refusal refused{};
    std::string text{}; ///< "gpu 3/4", "cpu 44/48", "taint team=dev:NoSchedule", "offers no nvidia.com/gpu"
};

struct node_reasons {
    std::string node{};
    node_reason word = node_reason::fits;
    std::vector<failed_check> checks{}; ///< the hardest to cure first; none where the pod fits
};

/// Whether its amounts are of devices, or of units in which they are offered.
[[nodiscard]] bool is_of_units(const explaining::refusal& refused);

/// What all nodes of the snapshot answer to a pod that was explained on it, in the cluster's order.
[[nodiscard]] std::vector<node_reasons> reasons_of(const kube::snapshot& state,
                                                   const explaining::explanation& explained);

/// What the pod asks for of devices: "4 gpu", "1 mig-3g.40gb", "32768 MiB, 60 cores, L40S".
[[nodiscard]] std::string device_words(const kube::snapshot_pod& pod);

/// How every node answers, by policy `best_fit`, whatever scheduler the pod names. Errors: those of explain().
[[nodiscard]] expected<explaining::explanation>
explain_waiting(const kube::snapshot& state, const kube::snapshot_pod& pod, const stop_signal& stop = {});

} // namespace vgpuops::why
