// The gpushare dialect: Volcano's older sharing of NVIDIA GPUs by memory, or whole by number (volcano.sh/gpu-*).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::gpushare {

inline constexpr std::string_view family = "gpushare";

/// Pod annotation with the positions of its cards, joined by ','.
inline constexpr const char* index_annotation = "volcano.sh/gpu-index";
/// Node annotation with the positions of cards not to be used.
inline constexpr const char* unhealthy_annotation = "volcano.sh/gpu-unhealthy-ids";

inline constexpr std::int64_t cards_max = 1024;  ///< of a node; a larger number is taken for a mistake
inline constexpr std::int64_t slots = 1'000'000; ///< pods on a card: only its memory limits them

/// Volcano serves one of the two at a time; both enabled is an error of every pod.
struct options {
    std::string memory_name = "volcano.sh/gpu-memory";
    std::string number_name = "volcano.sh/gpu-number";
    bool memory_enabled = true;  ///< pods share a card by memory, in MiB
    bool number_enabled = false; ///< pods get whole cards
    /// Instead of these two: every pod is read by the way whose resource it names, as manifests of any cluster are.
    bool way_by_pod = false;
    bool number_first = false; ///< with way_by_pod: of a pod that names both the number counts, and else the memory

    bool operator==(const options&) const = default;
};

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the cards that the node's capacity tells of: `number` of them, each with an equal part of `memory`,
///   rounded down. Their uuids are "<node>/<position>".
/// - write_node: capacity, allocatable and the list of unhealthy cards. The cards of a node can only differ in health;
/// of
///   different memories the smallest is written.
/// - requests: whether the pod limits the resource that is enabled.
/// - read_pod: a pod asks as a whole: the larger of the sum of its containers and of its largest init container, as one
///   entry. By memory it is one card; by number so many cards with all of their memory and compute, which nobody joins.
///   Error out_of_range for negative amounts and sums that do not fit, unsupported if both ways are enabled.
/// - read_assignment: its memory on every card listed, or all of these cards.
/// - write_assignment: the time is in nanoseconds of Unix time.
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// Every pod is read by the way whose resource it names; of both by the number where the cluster's scheduler goes by
/// it.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "gpushare", "NVIDIA GPUs as Volcano's older sharing: volcano.sh/gpu-memory, gpu-number");

} // namespace vgpualloc::dialects::gpushare
