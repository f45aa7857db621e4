#include "vgpufacade/show.hpp"

#include <algorithm>
#include <utility>

namespace vgpufacade {

namespace {

/// What is wrong where no object is a node and nothing else is wrong with the objects.
error no_nodes(const std::vector<std::string>& files) {
    std::string names;
    for (const std::string& name : files) names += (names.empty() ? "" : ", ") + name;
    return bad_input(error_code::missing, "no nodes in " + names, "kubectl get nodes,pods -A -o json gives both");
}

} // namespace

expected<vgpuops::show::overview> show(const show_question& question, const vgpuformats::input_source& source,
                                       const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = load_objects(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    const auto may_be_node = [](const auto& object) { return object.node || !object.problems.empty(); };
    if (std::ranges::none_of(*objects, may_be_node)) return unexpected(no_nodes(question.cluster));
    return vgpuops::show::overview_of(*objects, vgpualloc::dialect_set{*std::move(config)}, question.chosen, stop);
}

} // namespace vgpufacade
