// The gpushare dialect: Volcano's older sharing of NVIDIA GPUs by memory, or whole by number (volcano.sh/gpu-*).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialect::gpushare {

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

    bool operator==(const options&) const = default;
};

/// The cards that a node's capacity tells of: `number` of them, each with an equal part of `memory`, rounded down.
/// Their uuids are "<node>/<position>".
[[nodiscard]] node_reading read_node(const kubernetes::node& of, const options& with);

/// Capacity, allocatable and the list of unhealthy cards. The cards of a node can only differ in health; of different
/// memories the smallest is written.
void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to);

/// Whether the pod limits the resource that is enabled.
[[nodiscard]] bool requests(const kubernetes::pod& of, const options& with);

/// A pod asks as a whole: the larger of the sum of its containers and of its largest init container, as one entry.
/// By memory it is one card; by number so many cards with all of their memory and compute, which nobody joins.
/// Error out_of_range for negative amounts and sums that do not fit, unsupported if both ways are enabled.
[[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& of, const options& with);

/// What a bound pod has of `devices`, the cards of its node: its memory on every card listed, or all of these cards.
[[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& of,
                                                 std::span<const device_registration> devices, const options& with);

/// The annotations that carry a decision. The time is in nanoseconds of Unix time.
[[nodiscard]] kubernetes::text_map write_assignment(const decision& made);

} // namespace vgpualloc::dialect::gpushare
