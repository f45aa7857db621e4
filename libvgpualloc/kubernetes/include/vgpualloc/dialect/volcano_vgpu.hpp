// The volcano_vgpu dialect: NVIDIA GPUs as Volcano's deviceshare plugin and volcano-vgpu-device-plugin spell them.
// docs/dialects/volcano.md says what is read and written, and what is done differently from upstream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialects::volcano_vgpu {

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
    /// True: cards that register mode `mig` and have no geometry are served in hami_core, as are those of a mode that
    /// is not known, as Volcano serves them. False: the former are cut by the placements of the catalog, where it knows
    /// the model; without that, nothing is given of either.
    bool unknown_as_hami_core = false;
    /// Where the models of cards in mode mig are looked up; not null. The one that is built in needs no owner.
    std::shared_ptr<const mig_catalog> catalog{std::shared_ptr<void>{}, &built_in_mig_catalog()};
    bool mps_as_hami_core = false; ///< true: cards that register mode `mps` are served as Volcano serves them
    /// A container without a request has an empty part in written annotations, so that the device plugin, which goes by
    /// position, finds every container. False: it is left out, as upstream does (quirk Q4 of docs/compat.md).
    bool positions_of_containers = true;

    bool operator==(const options&) const = default;
};

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the cards in registered order. None without the registration, or while the kubelet offers none of
///   volcano.sh/vgpu-number, -cores and -memory (these names, whatever the options say), or if a record has fewer than
///   six fields. Source: volcano-vgpu-device-plugin, register.go; Volcano, devices/nvidia/vgpu/utils.go.
/// - write_node: a mode other than mig, mps and hami_core is written as hami-core.
/// - requests: whether a regular container limits the count or the memory.
/// - read_pod: containers that ask for nothing have no entry. Error out_of_range for an amount that is negative or
/// above
///   2^31 - 1.
/// - tags_of: by what the pod has: one that asks for nothing may hold devices all the same, and 0 % of a MIG card's
///   memory is an instance.
/// - read_assignment: the parts of the annotation may be those of all regular containers or, as upstream writes them,
/// of
///   those that ask only; it is the number of parts that tells. Where it is neither, that is a problem, but what the
///   parts say of devices counts, with the part's position as container.
/// - write_assignment: the time is in seconds of Unix time. Every share is a slice of a hami_core or mps card or an
///   instance of a mig card.
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// As a device configuration and the exclusive rules of Volcano's scheduler have it.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "volcano_vgpu", "NVIDIA GPUs as Volcano's vGPU: volcano.sh/vgpu-number, -memory, -cores");

} // namespace vgpualloc::dialects::volcano_vgpu
