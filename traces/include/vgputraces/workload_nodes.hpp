// Kinds of nodes of a workload model (docs/trace-model.md, nodes.kinds), as Kubernetes objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Nodes with the same devices.
struct workload_node_kind {
    std::int64_t share = 0; ///< number of nodes, or weight
    std::string prefix;     ///< of the names; empty: the model's
    std::string kind;       ///< as the model says it; empty on nodes without devices
    std::string mode;       ///< likewise
    std::string dialect;    ///< empty likewise
    std::int64_t devices = 0;
    bool pairs = false; ///< devices 2k and 2k+1 are of one module
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t pods_max = 110;
    vgpualloc::kubernetes::text_map labels;
    vgpualloc::device_registration device; ///< any of them; uuid and link group are of none
};

/// The dialects in which devices of a mode can register, the one first that a kind has where it names none. Empty for
/// what is no mode.
[[nodiscard]] std::vector<std::string_view> dialects_of_mode(std::string_view mode);
/// The modes whose devices can be registered in a dialect.
[[nodiscard]] std::vector<std::string_view> modes_of_dialect(std::string_view dialect);

/// Reads one entry of nodes.kinds but for its share. What it says is checked against the catalog. `mig_dialect`, one of
/// dialects_of_mode("mig"), is taken in place of the dialect of devices of that mode; empty: theirs.
[[nodiscard]] workload_node_kind read_workload_node_kind(const cursor& object,
                                                         const vgpualloc::hardware_catalog& catalog,
                                                         const std::string& mig_dialect = {});

/// The objects of a node of that kind: a Node, and a ConfigMap where the dialect has one.
[[nodiscard]] std::vector<document> node_objects(const workload_node_kind& kind, const std::string& name,
                                                 const vgpualloc::dialect_set& dialects);

} // namespace vgputraces
