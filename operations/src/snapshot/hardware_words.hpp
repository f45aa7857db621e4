// What in annotations and labels is a word of formats and hardware, and no name.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/snapshot/pseudonyms.hpp"

namespace vgpuops::snapshots {

/// Of a node, what HAMi's scheduler and its device plugin write there; only "Deleted" in it is read.
inline constexpr std::string_view hami_handshake = "hami.io/node-handshake";

/// Words of NPUs that annotations have in their names; one that has another one's name in it comes first.
using npu_words = std::set<std::string, std::greater<>>;

/// Tells which words stay: of formats, of the catalog, of the devices of a cluster, and what its devices are called.
[[nodiscard]] npu_words keep_hardware_words(const kube::snapshot& state, pseudonyms& names);

/// Whether a dialect reads an annotation of that name.
[[nodiscard]] bool is_annotation_read(const std::string& key, const npu_words& npus);
/// Of these: the annotations whose value is a node, a group of pods, or parts of names of models.
[[nodiscard]] bool names_node(std::string_view key);
[[nodiscard]] bool names_group(std::string_view key);
[[nodiscard]] bool names_queue(std::string_view key); ///< also of a label
[[nodiscard]] bool names_types(std::string_view key);

/// Whether a dialect reads a label of that name.
[[nodiscard]] bool is_label_read(std::string_view key, const pseudonyms& names);

inline constexpr std::string_view mig_resources = "nvidia.com/mig-"; // before the profile
/// The length of the resource of MIG instances that a label of feature discovery is of; 0 if it is of none.
[[nodiscard]] std::size_t length_of_resource(std::string_view label);

/// A quantity as Kubernetes writes it.
[[nodiscard]] bool is_amount(std::string_view text);

} // namespace vgpuops::snapshots
