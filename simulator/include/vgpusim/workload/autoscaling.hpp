// Nodes that are there only once a cluster autoscaler has added them: what a workload says of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/input_reader.hpp"
#include "vgpusim/workload/settings.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// An autoscaler as its file describes it.
struct autoscaler_file {
    ticks delay;                    ///< from a pod that waits to a node that takes it
    std::vector<std::string> nodes; ///< in the order in which they are added
    /// Of the cluster; absent: a version that scales every kind of node.
    std::optional<std::string> cluster_version{};
    bool scales_virtual_gpus = true; ///< by the version: CCE does from 1.27 on
};

/// Reads {"delay_s", "nodes", "cluster_version"}, YAML or JSON. Versions are as kubectl prints them: "v1.26",
/// "1.27.3-r0". Errors have `name` and line: a node that is there twice, a version that is none.
[[nodiscard]] expected<autoscaler_file> read_autoscaler(std::string_view text, const std::string& name);

/// Sends the autoscaler's nodes away until they are added. In a cluster of CCE of version 1.26 or before, the
/// autoscaler does not scale nodes with virtual GPUs ("Using GPU Virtualization", cce_10_0646): those stay away.
/// Errors, which call the file `source`: a node that is not known, one that an event names too.
[[nodiscard]] expected<void> add_autoscaler(simulation_input& input, const autoscaler_file& file,
                                            const std::string& source);

/// Reads what a configuration names as autoscaler, and adds it.
[[nodiscard]] expected<void> load_autoscaler(const run_config& config, input_reader& from, simulation_input& input);

} // namespace vgpusim
