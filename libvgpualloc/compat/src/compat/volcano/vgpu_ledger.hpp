// What bound pods take of the cards, by their annotations.
#pragma once

#include <string_view>
#include <vector>

#include "vgpu_annotation.hpp"
#include "vgpu_cards.hpp"

namespace vgpualloc::compat::volcano::vgpu {

[[nodiscard]] node_ledger make_ledger(node_spec registered);

/// AddResource and SubResource: without the annotation they do nothing.
void add_pod(node_ledger& node, const pod& bound, const settings& setup);
void sub_pod(node_ledger& node, const pod& bound, const settings& setup);

/// What Allocate writes into the pod maps: the needs as annotated, summed over containers.
void add_to_pod_maps(node_ledger& node, const pod& pending, std::string_view annotation, const settings& setup);

} // namespace vgpualloc::compat::volcano::vgpu
