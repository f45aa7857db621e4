// What would become of a cluster: other nodes, failures, drains, more pods, another policy.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/find_layout.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source; the texts of changes are those of the command line's options.
struct whatif_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
    std::vector<std::string> add_nodes{}; ///< KIND=N
    std::vector<std::string> add_pods{};  ///< inputs with manifests
    std::vector<std::string> templates{}; ///< inputs with Node objects
    std::vector<std::string> failed{};    ///< NODES or NODES/DEVICE
    std::vector<std::string> modes{};     ///< NODES=MODE or NODES=mig:LAYOUT
    std::string layouts_of{};             ///< the nodes of find_layouts(); empty: whatif() is asked
    bool lists_all = false;               ///< no line of the answer is left out
    std::string pods{};                   ///< a table of arrivals that find_layouts() replays; empty: none
    std::string classes{};                ///< its classes
    vgpuops::whatif::question asked{
        .seed = vgpusim::default_seed}; ///< policies, seed, drains and the kind of node that is sought
};

/// Errors: those of the inputs and of changes that cannot be read; those of vgpuops::whatif::answer_of();
/// stopped.
[[nodiscard]] expected<vgpuops::whatif::answer>
whatif(whatif_question question, const vgpuformats::input_source& source, const stop_signal& stop = {});

/// The layouts of the nodes whatif_question::layouts_of by what would become of the cluster with each; with a table of
/// arrivals, also how long pods wait in a replay from there, for the rows that are listed. Errors: those of whatif()
/// and of vgpuops::whatif::find_layouts(), of the table and of its runs.
[[nodiscard]] expected<vgpuops::whatif::layouts_found>
find_layouts(whatif_question question, const vgpuformats::input_source& source, const stop_signal& stop = {});

} // namespace vgpufacade
