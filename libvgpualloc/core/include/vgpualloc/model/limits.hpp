// The largest amounts that the library takes, so that no product of them overflows, nor a sum of what is reserved, and
// what is checked by them. What runs already may be more than there is; a ledger refuses to adopt what has no sum.
#pragma once

#include <cstdint>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/partition.hpp"

namespace vgpualloc {

struct pod_request;
struct node;
struct cluster;

inline constexpr std::int64_t devices_per_node_max = 1024;
inline constexpr std::int64_t containers_per_pod_max = 65'536;
inline constexpr std::uint32_t pod_index_max = (1U << 27U) - 1; ///< largest pod_id::value()
/// How far a pod's number may be above all that a ledger has booked (or was told of, ledger::expect_pods()). Its table
/// is as long as the largest number, so one wrong number must not make it huge.
inline constexpr std::uint32_t pod_index_gap_max = 1U << 20U;
inline constexpr mib device_memory_max{std::int64_t{1} << 40U}; ///< of one device
inline constexpr core_percent device_cores_max{1'000'000};      ///< of one device
inline constexpr std::int64_t device_slots_max = 1'000'000;     ///< of one device
inline constexpr std::int64_t ai_units_max = 1'000'000;         ///< AI cores, or AI CPUs, of one NPU or template
inline constexpr std::int64_t memory_factor_max = std::int64_t{1} << 20U; ///< MiB that a registration may count as one
inline constexpr std::int64_t memory_percent_max = 1'000'000;             ///< of a device's memory
inline constexpr bytes host_memory_max{std::int64_t{1} << 58U};           ///< of one node or pod
inline constexpr milli_cpu host_cpu_max{std::int64_t{1} << 50U};          ///< of one node or pod

/// Whether the amounts of a part are none below 0 and none beyond these limits.
[[nodiscard]] inline bool within_limits(const partition& part) noexcept {
    const slice* const amounts = std::get_if<slice>(&part);
    return amounts == nullptr || (amounts->memory >= mib{0} && amounts->memory <= device_memory_max &&
                                  amounts->cores >= core_percent{0} && amounts->cores <= device_cores_max);
}

/// Whether a request can be decided: no negative or overflowing amount. Error out_of_range, whose field names the
/// member ("containers[2].count").
[[nodiscard]] expected<void> check_request(const pod_request& request);

/// Whether a node can be kept: amounts as above, labels in order, at most devices_per_node_max devices, no uuid twice.
[[nodiscard]] expected<void> check_node(const node& described);

/// Whether a ledger can be made of a cluster: every node passes check_node(), no name twice, all kinds are there.
[[nodiscard]] expected<void> check_cluster(const cluster& nodes);

} // namespace vgpualloc
