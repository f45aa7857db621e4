// The volcano_vgpu dialect: NVIDIA GPUs as Volcano's deviceshare plugin and volcano-vgpu-device-plugin spell them.
// docs/dialects/volcano.md says what is read and written, and what is done differently from upstream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialect::volcano_vgpu {

inline constexpr std::string_view family = "NVIDIA";

/// Node annotation with one `uuid,count,mem,type,health,mode:` per card.
inline constexpr const char* register_annotation = "volcano.sh/node-vgpu-register";
/// Pod annotation with the devices given to its containers.
inline constexpr const char* assignment_annotation = "volcano.sh/vgpu-ids-new";
inline constexpr const char* mode_annotation = "volcano.sh/vgpu-mode";

inline constexpr std::int64_t mig_slots_max = 64; ///< over all groups of a geometry

/// The ways of cutting the GPUs of some models.
struct geometry {
    std::vector<std::string> models; ///< parts of a card's type, one must occur (case counts)
    std::vector<mig_group> groups;   ///< in the order in which they are tried

    bool operator==(const geometry&) const = default;
};

struct options {
    // Resource names; an empty one is not configured and nothing asks for it.
    std::string count_name = "volcano.sh/vgpu-number";
    std::string memory_name = "volcano.sh/vgpu-memory";
    std::string cores_name = "volcano.sh/vgpu-cores";
    std::string memory_percentage_name = "volcano.sh/vgpu-memory-percentage";

    /// MiB per unit of registered and requested memory, at least 1. Memory is kept in these units; only the memory of
    /// MIG kinds is MiB.
    std::int64_t memory_factor = 1;
    std::vector<geometry> geometries; ///< the first entry that names a card's type is the card's
    /// Pods that carry all labels of a rule share no card with each other. Written to tags and avoids of the request,
    /// which hold on every device; upstream's rules act on hami-core devices only. An empty rule is none, but counts in
    /// the numbering.
    std::vector<kubernetes::text_map> exclusive_rules;
    bool mps_as_hami_core = false; ///< true: cards that register mode `mps` are served as Volcano serves them
    /// A container without a request has an empty part in written annotations, so that the device plugin, which goes by
    /// position, finds every container. False: it is left out, as upstream does (SPEC-volcano Q4).
    bool positions_of_containers = true;

    bool operator==(const options&) const = default;
};

/// The cards of a node, in registered order. None without the registration, or while the kubelet offers none of
/// volcano.sh/vgpu-number, -cores and -memory (these names, whatever the options say), or if a record has fewer than
/// six fields. Source: volcano-vgpu-device-plugin, register.go; Volcano, devices/nvidia/vgpu/utils.go.
[[nodiscard]] node_reading read_node(const kubernetes::node& of, const options& with);

/// Registers `devices` on a node as the device plugin does: the annotation, allocatable and capacity. A mode other than
/// mig, mps and hami_core is written as hami-core.
void write_node(std::span<const device_registration> devices, kubernetes::node& to);

/// Whether a container limits the count or the memory.
[[nodiscard]] bool asks(const kubernetes::container& one, const options& with);

/// Whether a regular container does.
[[nodiscard]] bool requests(const kubernetes::pod& of, const options& with);

/// The request of a pod; containers that ask for nothing have no entry. Error out_of_range for an amount that is
/// negative or above 2^31 - 1. Host resources are left 0.
[[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& of, const options& with);

/// The tags of a bound pod, by what it has (read_assignment): one that asks for nothing may hold devices all the same,
/// and 0 % of a MIG card's memory is an instance.
[[nodiscard]] std::vector<std::string> tags_of(const kubernetes::pod& of, std::span<const device_share> has,
                                               const options& with);

/// What a bound pod has of `devices`, the registrations of its node. The parts of the annotation may be those of all
/// regular containers or, as upstream writes them, of those that ask only; it is the number of parts that tells. Where
/// it is neither, that is a problem, but what the parts say of devices counts, with the part's position as container.
[[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& of,
                                                 std::span<const device_registration> devices, const options& with);

/// The annotations that carry a decision to the device plugin. The time is in seconds of Unix time. `of` and `devices`
/// are those the decision was made for: read_pod(of) succeeds and every share is a slice of a hami_core or mps card or
/// an instance of a mig card.
[[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& of,
                                                    std::span<const device_registration> devices, const decision& made,
                                                    const options& with);

} // namespace vgpualloc::dialect::volcano_vgpu
