// From what a node reports of a device to a device of a cluster, with its sharing mode.
#pragma once

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/mode/entry.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc {

/// The mode of a device that registers so. Errors: unknown_name, and those of the mode's entry (mode/entry.hpp).
[[nodiscard]] expected<shared_mode> make_mode(const device_registration& device, const mig_catalog& catalog);

/// Appends the device to `where`, a node that is or will be one of a cluster with `known`. Its mode is made if no
/// device of the cluster has one made from an equal registration, and is kept alive by device_kinds::modes. Memory,
/// compute and slots are as registered, but for what a mode's hardware fixes (sharing_mode::adapted). `catalog` is the
/// same for all devices of a cluster and is needed for mig without groups.
///
/// Errors, nothing changed, where = "device <uuid>": unknown_name (mode, MIG model), out_of_range (memory, compute,
/// slots, counts, factors outside what makes sense), unsupported (more than 64 slots or places of MIG), duplicate (uuid
/// on the node), and those of the modes' tables. An unhealthy device keeps its position whatever is wrong with the
/// rest.
[[nodiscard]] expected<void> add_device(device_kinds& known, node& where, const device_registration& device,
                                        const mig_catalog& catalog);

} // namespace vgpualloc
