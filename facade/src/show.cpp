#include "vgpufacade/show.hpp"

#include <utility>

#include "cluster_objects.hpp"

namespace vgpufacade {

expected<vgpuops::show::overview> show(const show_question& question, const vgpuformats::input_source& source,
                                       const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    return vgpuops::show::overview_of(*objects, vgpualloc::dialect_set{*std::move(config)}, question.chosen, stop);
}

} // namespace vgpufacade
