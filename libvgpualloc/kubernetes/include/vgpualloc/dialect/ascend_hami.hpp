// The ascend_hami dialect: Ascend NPUs as HAMi and Volcano's HAMi mode spell them, cut by templates or in software
// (docs/dialects/ascend_hami.md). Memory is in MiB, cores in AI cores (template) or percent (soft).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialects::ascend_hami {

/// The sharing mode of these devices (mode/all.hpp).
inline constexpr const char* mode_name = "ascend_vir";

/// One entry of the device configuration. Resource names that are empty are made of the common word.
struct kind {
    npu_kind npu;                   ///< npu.name is the common word ("Ascend910B4")
    std::string resource{};         ///< count; "huawei.com/<word>"
    std::string resource_memory{};  ///< units of memory_factor per device; "<resource>-memory"
    std::string resource_core{};    ///< per device; "<resource>-core"
    std::int64_t memory_factor = 1; ///< MiB per unit of resource_memory, 1 to 2^20
    /// Cards 2k and 2k+1 by registered index are the dies of one module, which HAMi gives out together: a count of 1 is
    /// 2, other odd counts are an error, and a card whose pair is not complete and healthy is not given out.
    bool super_pod = false;
};

struct options {
    std::vector<kind> kinds;
    bool soft_by_default = false; ///< hamiVnpuCore: what a node without annotation hami-vnpu-core is
    bool containers_apart = true; ///< as Volcano: no card serves two containers of a pod; HAMi allows it
    /// As Volcano: a software slice without an amount of memory takes as much of every card as the first one has.
    bool memory_of_first = true;
    bool uuid_lists = false; ///< hami.io/use-<word>-uuid, no-use-<word>-uuid: HAMi honours them, Volcano does not
    /// Written annotations have a part for every container, init containers first, as HAMi writes them; false: only for
    /// containers that ask, as Volcano does. The device plugin skips empty parts; both are read.
    bool empty_parts = false;
    /// As HAMi from 2.10 on: on nodes that can limit in software every pod gets a slice of memory, with or without
    /// annotation huawei.com/vnpu-mode, and its webhook denies AI cores to pods without the annotation.
    bool slices_by_node = false;
};

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the chips of every kind whose resource is allocatable, by kind and registered index. A chip that cannot
///   be read is left out and a problem. Source: HAMi, pkg/device/ascend; Volcano, ascend/hami.
/// - requests: whether a regular container's limits name a count or memory resource of a kind, whatever the amount.
/// - read_pod: by kind in their order, then by container; a container that asks for 0 devices is left out. Memory 0 is
///   a whole card, more than the card's is left to the mode. Error out_of_range for an amount that is negative or above
///   2^31 - 1, and for an odd count of a super_pod kind above 1.
/// - read_assignment: by annotations hami.io/<word>-devices-allocated. Problems: malformed, duplicate, unknown_name (a
///   device), mismatch. An amount that no template has is such a problem, but the card has given it out: it counts as a
///   slice.
/// - write_assignment: the time is in seconds of Unix time; every share is a vir_template or a slice.
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// With the NPUs of the device configuration.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "ascend_hami", "Ascend NPUs as HAMi and Volcano's HAMi mode: huawei.com/Ascend910B4, -memory, -core");

} // namespace vgpualloc::dialects::ascend_hami
