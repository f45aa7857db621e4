// The objects of a cluster as one list that says everything that decides where pods go, and nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::snapshots {

/// The objects of a text in its order, as documents: lists (kind List, PodList, …) are taken apart, and what stands in
/// one without a kind has that of the list. Errors: those of parse_documents(), malformed for what is no object.
[[nodiscard]] expected<std::vector<document>> cluster_documents(std::string_view text, const std::string& name);

/// A List of nodes, ConfigMaps that a dialect reads of them, pods that have not ended, and headers of objects that a
/// scheduler decides by, each once, in the order found. Of each, what kube::read_manifests() reads. Pods keep what
/// `vgpusim whatif` orders them by. Annotations and labels are kept but for kubectl's copy of the object.
[[nodiscard]] document normalised(std::span<const document> objects, const vgpualloc::dialect_set& dialects);

/// The text of a list: what a file of it holds.
[[nodiscard]] std::string file_text(const document& list);

/// Objects of a list, read as those of any file. `name` is what errors call it.
[[nodiscard]] expected<std::vector<kube::manifest>> manifests_of(const document& list, const std::string& name);

/// The first of some objects that is not what it was, by position, beside its names; empty: none.
[[nodiscard]] std::string other_object(std::span<const kube::manifest> before, std::span<const kube::manifest> after);

/// The first thing in which two snapshots of one cluster differ; empty: the ledgers, devices, pods that run and pods
/// that wait are the same. Where the objects were read, and what warnings say, does not count.
[[nodiscard]] std::string difference_of(const kube::snapshot& before, const kube::snapshot& after);

} // namespace vgpuops::snapshots
