#include "vgpufacade/why.hpp"

#include <utility>

#include "cluster_objects.hpp"

namespace vgpufacade {

expected<vgpuops::why::waiting_answer> why(const why_question& question, const vgpuformats::input_source& source,
                                           const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    return vgpuops::why::waiting_of(*objects, vgpualloc::dialect_set{*std::move(config)}, stop);
}

expected<vgpuops::why::pod_answer> why_pod(const why_question& question, const std::string& pod,
                                           const vgpuformats::input_source& source, const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    return vgpuops::why::pod_of(*objects, vgpualloc::dialect_set{*std::move(config)}, pod, stop);
}

std::vector<std::string> cluster_arguments(const why_question& question) {
    std::vector<std::string> arguments = question.cluster;
    for (const std::string& file : question.dialects.config) arguments.insert(arguments.end(), {"--config", file});
    for (const std::string& file : question.dialects.catalog) arguments.insert(arguments.end(), {"--file", file});
    return arguments;
}

} // namespace vgpufacade
