// Huawei Ascend NPUs: chips and their virtual NPU templates as HAMi and as MindCluster spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

/// A virtual NPU that a chip can be cut into in HAMi's template mode.
struct ascend_template {
    std::string name;
    mib memory;
    std::int64_t ai_core = 0;
    std::optional<std::int64_t> ai_cpu;

    bool operator==(const ascend_template&) const = default;
};

/// A chip of HAMi's device configuration.
struct ascend_chip {
    std::string name;      ///< commonWord of HAMi, which resources and annotations are made of: Ascend910B4
    std::string chip_name; ///< what the driver reports: 910B4
    std::string resource;
    std::string resource_memory;
    std::string resource_core;
    mib memory_allocatable; ///< what a container can get
    mib memory_capacity;    ///< what may be asked for; more than allocatable on a 310P
    std::int64_t ai_core = 0;
    std::optional<std::int64_t> ai_cpu;
    bool super_pod = false;               ///< two dies a module: whole pairs only (HAMi)
    std::vector<std::string> built_in_of; ///< programs that know it without a configuration
    provenance from;
    std::vector<ascend_template> templates; ///< by ascending memory

    bool operator==(const ascend_chip&) const = default;
};

/// Keys of annotations; "{name}" stands for the chip's name.
struct ascend_annotation_keys {
    std::string node_register;
    std::string node_handshake;
    std::string pod_to_allocate;
    std::string pod_allocated;
    std::string pod_runtime_info;
    std::string pod_use_uuid;
    std::string pod_no_use_uuid;
};

/// Figures of ascend-device-plugin.
struct ascend_plugin_figures {
    ticks idle_check_interval;
    ticks register_interval;
    ticks register_retry;
    std::int64_t metrics_port = 0;
};

/// Label vnpu-level; `low` also stands for every text that is not high.
enum class vnpu_level { low, high };

/// A template of MindCluster. Files write dvpp_use::unstated as "null", which is also a state of a chip.
struct mindcluster_template {
    std::string name;
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;
    dvpp_use dvpp = dvpp_use::unstated;

    bool operator==(const mindcluster_template&) const = default;
};

struct mindcluster_total {
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;

    bool operator==(const mindcluster_total&) const = default;
};

struct mindcluster_chip {
    std::string kind;
    std::string from;                      ///< provenance of all of it
    std::vector<mindcluster_total> totals; ///< of one chip; several boards may share a kind; empty if unknown
    std::vector<mindcluster_template> templates;
};

/// Which template serves a request. Empty conditions hold for every request.
struct mindcluster_selection {
    std::string chip;
    std::optional<std::int64_t> ai_core;             ///< exactly so many, or
    std::optional<std::int64_t> ai_core_multiple_of; ///< a multiple of so many
    std::optional<dvpp_use> dvpp;
    std::optional<vnpu_level> level;
    std::optional<bool> downgrade;            ///< whether a smaller template is taken because aiCPU is short
    std::optional<std::string> template_name; ///< empty: whole chips
    std::string from;
};

/// What a task leaves of a chip's media unit.
struct mindcluster_dvpp_step {
    dvpp_use request = dvpp_use::unstated; ///< that the task makes
    std::optional<dvpp_use> if_used;       ///< the state in which this row holds; empty: any
    dvpp_use used = dvpp_use::no;
    dvpp_use free = dvpp_use::yes;
};

struct mindcluster_dvpp_rules {
    dvpp_use free_at_first = dvpp_use::yes;
    dvpp_use used_at_first = dvpp_use::no;
    std::vector<dvpp_use> free_that_admits_null;
    std::vector<dvpp_use> free_that_admits_yes;
    std::vector<dvpp_use> free_that_admits_no;
    std::vector<mindcluster_dvpp_step> after;
};

/// A chip that is cut in `groups` distinct groups gives a task at most so many cores.
struct mindcluster_group_limit {
    std::int64_t groups = 0;
    std::int64_t ai_core_max = 0;
};

struct mindcluster_catalog {
    std::string resource;
    std::vector<mindcluster_chip> chips;
    std::vector<mindcluster_selection> selection;
    mindcluster_dvpp_rules dvpp;
    std::vector<mindcluster_group_limit> group_limits;
};

struct ascend_catalog {
    core_percent soft_core_total; ///< cores of a chip in soft slicing (hami-core) mode
    bool soft_by_default = false; ///< whether nodes slice softly unless told otherwise (hamiVnpuCore)
    ascend_annotation_keys annotations;
    ascend_plugin_figures plugin;
    std::vector<ascend_chip> chips;
    mindcluster_catalog mindcluster;
    source_list sources; ///< what the codes of `from` stand for
};

/// Reads a catalog file (docs/catalog.md) as read_mig_catalog does, with the same errors. A file may leave out all but
/// `ascend.chips`: what it does not say is empty.
[[nodiscard]] expected<ascend_catalog> read_ascend_catalog(const vgpuformats::document& file, std::string_view name);

/// The chips that this library knows without a file (data/ascend-templates.json).
[[nodiscard]] const ascend_catalog& built_in_ascend_catalog();

/// `base` with the chips of `more`: one of the same name is replaced, others come last. MindCluster's tables and the
/// figures stay those of `base`. Error duplicate if two chips would have one chip name or resource.
[[nodiscard]] expected<ascend_catalog> merge(const ascend_catalog& base, const ascend_catalog& more);

/// The chip of this name or chip name (910B4, Ascend910B4), or error unknown_name with the names. The pointer is into
/// `catalog` and never null.
[[nodiscard]] expected<const ascend_chip*> find_chip(const ascend_catalog& catalog, std::string_view name);

/// MindCluster's tables of this kind of chip, or error unknown_name with the kinds.
[[nodiscard]] expected<const mindcluster_chip*> find_mindcluster_chip(const ascend_catalog& catalog,
                                                                      std::string_view kind);

/// Device ids that the device plugin offers for one card: as many as its smallest template fits by memory, or one
/// without templates.
[[nodiscard]] std::int64_t device_ids_per_card(const ascend_chip& chip);

/// An annotation key for a chip: "{name}" replaced by the chip's name.
[[nodiscard]] std::string annotation_key(std::string_view pattern, const ascend_chip& chip);

/// `value`, or error missing that names chip, template (may be empty) and field (the name in catalog files).
[[nodiscard]] expected<std::int64_t> require(const std::optional<std::int64_t>& value, const ascend_chip& chip,
                                             std::string_view template_name, std::string_view field);

} // namespace vgpualloc
