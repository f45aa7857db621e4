// A cluster with every decision and no name.
#pragma once

#include <string>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::snapshots {

/// The normalised list with pseudonyms for all names: of nodes, pods, namespaces, containers, devices, groups, queues,
/// claims, labels and their values, taints; with times that keep their order only; without annotations that no dialect
/// reads. Models, resources, profiles, modes and amounts stay. `state` is the snapshot of the list.
///
/// Names keep their order, and labels that are compared as numbers theirs. Labels that dialects read stay as far as
/// their values are words of the hardware.
[[nodiscard]] document anonymised(const document& list, const kube::snapshot& state);

/// The first thing that is decided otherwise in `after` than in `before`, two snapshots of one cluster under different
/// names; empty: nodes, devices, what the ledger counts, pods that run and pods that wait agree by position, and each
/// pod that waits gets the same answer of every node and the same devices.
[[nodiscard]] std::string decided_otherwise(kube::snapshot& before, kube::snapshot& after);

} // namespace vgpuops::snapshots
