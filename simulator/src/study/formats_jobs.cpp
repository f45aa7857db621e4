// Loading lists of jobs.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "lists.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpusim/study/formats.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgpusim/workload/queues.hpp"
#include "vgpusim/workload/trace_jobs.hpp"
#include "vgputraces/dlrm.hpp"
#include "vgputraces/openb.hpp"
#include "vgputraces/philly.hpp"
#include "vgputraces/swf.hpp"

namespace vgpusim {

namespace {

/// Of a node in an openb list: jobs are not pods of a kubelet, whose limit says nothing here.
constexpr std::int64_t node_pods_max = 1'000'000;

/// Whether a node list is objects of Kubernetes: JSON, or YAML, whose first line that says something has a ':'.
bool has_objects(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (begin == std::string_view::npos) return false;
    text.remove_prefix(begin);
    if (text.starts_with('{') || text.starts_with('[') || text.starts_with('#') || text.starts_with("---")) return true;
    return text.substr(0, text.find('\n')).find(':') != std::string_view::npos;
}

/// The nodes of a run and how pods are to be read there.
struct node_set {
    vgpualloc::cluster nodes;
    vgpualloc::dialect_set dialects;
};

expected<node_set> nodes_of_list(const vgpuformats::list_content& content, const std::string& name,
                                 const run_config& config, vgpualloc::dialect_set dialects) {
    const auto mode = openb_mode(config);
    if (!mode) return unexpected(mode.error());
    const auto list = vgputraces::read_openb_nodes(content, name);
    if (!list) return unexpected(list.error());
    vgpualloc::cluster nodes;
    for (const vgputraces::openb_node& node : *list) {
        vgpualloc::openb::add_node(nodes, node.name, node.cpu, node.memory, node.gpu_count, node.model, **mode);
        nodes.nodes.back().pods_max = node_pods_max; // a pool of 1,024 GPUs may run as many jobs
    }
    return node_set{.nodes = std::move(nodes), .dialects = std::move(dialects)};
}

expected<node_set> nodes_of_objects(std::string_view text, const std::string& name, const run_config& config,
                                    vgpualloc::dialect_set dialects, loaded_input& loaded) {
    if (config.mode != run_config{}.mode) {
        return unexpected(bad_value(error_code::unsupported, "mode", config.mode,
                                    "an openb node list: objects say themselves how their devices are shared"));
    }
    const auto objects = vgpualloc::kube::read_manifests(text, name);
    if (!objects) return unexpected(objects.error());
    auto state = make_empty_cluster(*objects, dialects, name);
    if (!state) {
        if (!state.error().where.starts_with(name)) state.error().where = name + ": " + state.error().where;
        return unexpected(std::move(state.error()));
    }
    std::ranges::copy(state->warnings, std::back_inserter(loaded.warnings));
    return node_set{.nodes = state->nodes(), .dialects = state->dialects};
}

void tell_what_is_missing(const vgputraces::job_list& list, const std::string& name, loaded_input& loaded) {
    tell_skipped(list.skipped, name, loaded);
    for (const auto& [reason, rows] : list.left_out) warn_left_out(rows, reason, name, loaded);
    loaded.left_out = list.left_out;
}

using job_reader = expected<vgputraces::job_list> (*)(const vgpuformats::list_content&, const std::string&,
                                                      const vgputraces::row_options&);

expected<loaded_input> load_jobs(const run_config& config, input_reader& from, job_reader read_jobs) {
    if (const auto present = check_paths(config); !present) return unexpected(present.error());
    loaded_input loaded;
    auto catalog = load_catalog(as_list(config.catalog), from);
    if (!catalog) return unexpected(std::move(catalog.error()));
    auto dialects = load_dialects(*catalog, as_list(config.config), from);
    if (!dialects) return unexpected(std::move(dialects.error()));
    bool is_openb = false;
    auto cluster = from.read_list(config.nodes, [&](const vgpuformats::list_content& content, const std::string& name) {
        vgpualloc::dialect_set all{*std::move(dialects)};
        is_openb = content.table != nullptr || !has_objects(content.text);
        return is_openb ? nodes_of_list(content, name, config, std::move(all))
                        : nodes_of_objects(content.text, name, config, std::move(all), loaded);
    });
    if (!cluster) return unexpected(std::move(cluster.error()));
    auto list = from.read_list(config.pods, [&](const vgpuformats::list_content& content, const std::string& name) {
        return read_jobs(content, name, {.skip_bad = config.skip_bad_rows});
    });
    if (!list) return unexpected(list.error());
    const std::string list_path = from.records().back().path;
    tell_what_is_missing(*list, list_path, loaded);
    std::vector<job_queue> queues;
    if (!config.queues.empty()) {
        auto quotas = from.read_text(config.queues, read_queues);
        if (!quotas) return unexpected(std::move(quotas.error()));
        queues = *std::move(quotas);
    }
    std::vector<mapping_rule> mapping;
    if (!config.mapping.empty()) {
        auto rules = read_mapping(config.mapping, cluster->dialects, from);
        if (!rules) return unexpected(std::move(rules.error()));
        mapping = *std::move(rules);
    }
    auto input = build_trace_workload(std::move(cluster->nodes), std::move(list->jobs),
                                      {.offered_load = config.offered_load,
                                       .mapping = std::move(mapping),
                                       .seed = static_cast<std::uint64_t>(config.seed),
                                       .queues = std::move(queues)});
    if (!input) {
        error failure = std::move(input.error());
        if (failure.where.starts_with("job ")) failure.where = list_path + ": " + failure.where;
        return unexpected(std::move(failure));
    }
    loaded.input = *std::move(input);
    loaded.power = std::move(catalog->power);
    if (is_openb) {
        loaded.input.reason_name = vgpualloc::openb::reason_name;
        loaded.input.has_device_memory = false;
    }
    return loaded;
}

} // namespace

expected<loaded_input> load_philly(const run_config& config, input_reader& from) {
    return load_jobs(config, from, vgputraces::read_philly);
}
expected<loaded_input> load_dlrm(const run_config& config, input_reader& from) {
    return load_jobs(config, from, vgputraces::read_dlrm);
}
expected<loaded_input> load_swf(const run_config& config, input_reader& from) {
    return load_jobs(config, from, vgputraces::read_swf);
}

} // namespace vgpusim
