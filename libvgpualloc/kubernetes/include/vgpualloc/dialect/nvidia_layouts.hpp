// MIG layouts by the names that the MIG manager of NVIDIA's GPU operator has for them, and nodes that are cut by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/nvidia.hpp"

namespace vgpualloc::dialects::nvidia {

/// The label of a node that the MIG manager cuts its GPUs by.
inline constexpr const char* layout_label = "nvidia.com/mig.config";
/// The layout of GPUs that are whole.
inline constexpr const char* whole_layout = "all-disabled";

/// Instances of one profile on each GPU.
struct layout_part {
    std::string profile; ///< "1g.10gb+me"
    std::int64_t instances = 0;

    bool operator==(const layout_part&) const = default;
};

/// What each GPU of a node is cut into.
struct layout {
    std::string name;                 ///< "all-1g.10gb"
    std::vector<layout_part> parts{}; ///< by descending size; none: the GPU is whole
};

/// The layouts of a model: all-disabled, all-<profile> with as many instances as there can be, in the order of the
/// model's profiles, and all-balanced: one 3g, one 2g and two 1g, of a GPU with fewer slices one 2g and two 1g; not
/// there where these do not fit. A plus sign of a profile is a dot in the name. Source: default-mig-parted-config.yaml
/// of the GPU operator. That file has no entries for GPUs that are newer than it; theirs follow the same rules.
[[nodiscard]] std::vector<layout> layouts_of(const mig_model& model);

/// What a device is cut into; none: it is whole.
[[nodiscard]] std::vector<layout_part> parts_of(const device_registration& device);

/// Where the instances of a layout are on a GPU, the largest placed first; none: the model has no room for them, or not
/// such profiles.
[[nodiscard]] std::optional<mig_layout> places_of(const mig_model& model, const std::vector<layout_part>& parts);

/// The GPUs of a node, which is all that the device plugin counts of it.
struct node_gpus {
    const mig_model* model = nullptr; ///< of the catalog
    std::int64_t gpus = 0;
    /// The name of its layout by the label, or of one that has the same instances; empty: it has none of the names.
    std::string layout;
};
/// Errors, at "node <name>": unsupported for a node on which this plugin offers no GPUs, or units that share a GPU;
/// unknown_name for GPUs that the catalog has no MIG profiles of.
[[nodiscard]] expected<node_gpus> gpus_of(const kubernetes::node& node, const options& configured);

/// Cuts all GPUs of a node as the MIG manager does once its label names that layout; amounts and labels are then those
/// of the device plugin and feature discovery, by the strategy that the node has (label nvidia.com/mig.strategy; none:
/// mixed). Errors: those of gpus_of(); unknown_name for a layout that the model does not have, with those that it has;
/// unsupported for several profiles under strategy single.
expected<void> cut_node(kubernetes::node& node, std::string_view layout, const options& configured);

} // namespace vgpualloc::dialects::nvidia
