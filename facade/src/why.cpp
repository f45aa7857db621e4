#include "vgpufacade/why.hpp"

#include <algorithm>
#include <utility>

#include "cluster_objects.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpuformats/input.hpp"

namespace vgpufacade {

namespace {

/// Whether a pod, or an object that made one, has the name, with or without its namespace.
bool is_of_cluster(const std::vector<vgpualloc::kube::manifest>& objects, const std::string& name) {
    return std::ranges::any_of(objects, [&](const vgpualloc::kube::manifest& object) {
        const std::string prefix = vgpualloc::kube::namespace_of(object) + "/";
        const auto is_named = [&](const std::string& own) { return own == name || prefix + own == name; };
        return is_named(object.name) || is_named(object.controller_name);
    });
}

} // namespace

expected<vgpuops::why::waiting_answer> why(const why_question& question, const vgpuformats::input_source& source,
                                           const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    return vgpuops::why::waiting_of(**objects, vgpualloc::dialect_set{*std::move(config)}, question.ns, stop);
}

expected<one_answer> why_one(const why_question& question, const std::string& named,
                             const vgpuformats::input_source& source, const stop_signal& stop) {
    namespace why = vgpuops::why;
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    const vgpualloc::dialect_set dialects{*std::move(config)};
    const bool is_input = named == vgpuformats::standard_input || source.has(named);
    if (is_input && !is_of_cluster(**objects, named)) {
        auto added = load_objects({named}, from);
        if (!added) return unexpected(std::move(added).error());
        auto answered = why::pod_of_file(**objects, dialects, *std::move(added), named, stop);
        return answered ? expected<one_answer>{*std::move(answered)} : unexpected(std::move(answered).error());
    }
    auto about_pod = why::pod_of(**objects, dialects, named, stop);
    if (about_pod) return one_answer{*std::move(about_pod)};
    if (about_pod.error().code != error_code::unknown_name) return unexpected(std::move(about_pod).error());
    auto about_owner = why::owner_of(**objects, dialects, named, stop);
    if (!about_owner) return unexpected(std::move(about_owner).error());
    if (!*about_owner) return unexpected(std::move(about_pod).error());
    return one_answer{**std::move(about_owner)};
}

std::string text_of(const one_answer& answered, const std::vector<std::string>& arguments) {
    if (const auto* const pod = std::get_if<vgpuops::why::pod_answer>(&answered)) {
        return vgpuops::why::pod_text(*pod, arguments);
    }
    return vgpuops::why::owner_text(std::get<vgpuops::why::owner_answer>(answered), arguments);
}

std::string json_of(const one_answer& answered, const std::vector<std::string>& arguments) {
    if (const auto* const pod = std::get_if<vgpuops::why::pod_answer>(&answered)) {
        return vgpuops::why::pod_json(*pod, arguments);
    }
    return vgpuops::why::owner_json(std::get<vgpuops::why::owner_answer>(answered));
}

std::vector<std::string> cluster_arguments(const why_question& question) {
    std::vector<std::string> arguments = question.cluster;
    for (const std::string& file : question.dialects.config) arguments.insert(arguments.end(), {"--config", file});
    for (const std::string& file : question.dialects.catalog) arguments.insert(arguments.end(), {"--file", file});
    return arguments;
}

} // namespace vgpufacade
