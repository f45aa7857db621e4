// Reading the files of a workload of Kubernetes objects.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgpusim/workload/offered_load.hpp"
#include "vgpusim/workload/queues.hpp"
#include "vgpusim/workload/requested.hpp"
#include "vgputraces/workload_model.hpp"

namespace vgpusim {

namespace kube = vgpualloc::kube;

namespace {

/// Whether a warning of a snapshot says that something of the node is not there for the run. The others say that what
/// is there may be something else than was meant.
bool leaves_out(const error& warning) {
    switch (warning.code) {
    case error_code::malformed:
    case error_code::out_of_range:
    case error_code::duplicate:
    case error_code::unknown_name:
        return true;
    case error_code::io:
    case error_code::missing:
    case error_code::unsupported:
    case error_code::mismatch:
    case error_code::stopped:
        break;
    }
    return false;
}

/// Why a run cannot begin with a cluster.
expected<void> check_start_keys(const run_config& config) {
    const auto refuse = [](const char* key, const std::string& value, std::string expectation) {
        return unexpected(bad_value(error_code::unsupported, key, value, std::move(expectation)));
    };
    if (config.start.empty()) {
        if (config.start_ends.empty()) return {};
        return refuse("start_ends", config.start_ends, "a cluster to begin with beside it (start)");
    }
    if (!config.nodes.empty()) return refuse("nodes", config.nodes, "none beside start, which has the nodes");
    if (!config.queues.empty()) {
        return refuse("queues", config.queues, "none beside start: its pods count for no quota");
    }
    if (config.offered_load > 0.0) {
        return refuse("offered_load", std::to_string(config.offered_load),
                      "0 beside start: what runs there is a load of its own");
    }
    return {};
}

/// Why the keys of a configuration cannot be followed.
expected<void> check_kubernetes_keys(const run_config& config) {
    const bool is_model = config.format == model_format;
    for (const auto& [path, key] : {std::pair{&config.nodes, "nodes"},
                                    {&config.pods, "pods"},
                                    {&config.classes, "classes"},
                                    {&config.out, "out"}}) {
        const bool is_of_files = path == &config.nodes || path == &config.classes;
        const bool is_replaced = path == &config.nodes && !config.start.empty();
        if (!path->empty() || (is_model && is_of_files) || is_replaced) continue;
        return unexpected(bad_input(error_code::missing, key, "missing", "a path"));
    }
    if (auto usable = check_start_keys(config); !usable) return usable;
    if (config.tune > 0.0) {
        return unexpected(bad_value(error_code::unsupported, "tune", std::to_string(config.tune),
                                    is_model ? "0 with format model, whose load is set by offered_load"
                                             : "0 with format kubernetes, whose arrivals are as the table "
                                               "has them"));
    }
    return {};
}

/// Classes that can go nowhere because of what they ask of a device, each once, with the number of their rows.
std::vector<error> classes_not_served(const kube::snapshot& state, const kubernetes_workload& workload) {
    std::vector<std::int64_t> rows(workload.arrivals.classes.size());
    for (const auto& row : workload.arrivals.rows) ++rows[row.pod_class];
    std::vector<error> warnings;
    vgpualloc::requested_amounts requested_of{state.nodes()};
    for (const pod_class& candidate : workload.classes) {
        const auto used = std::ranges::find(workload.arrivals.classes, candidate.name);
        if (used == workload.arrivals.classes.end()) continue;
        const bool is_served = std::ranges::all_of(candidate.templates, [&requested_of](const pod_template& part) {
            return requested_of.of(part.request).can_be_served;
        });
        if (is_served) continue;
        const auto count = rows[static_cast<std::size_t>(used - workload.arrivals.classes.begin())];
        warnings.push_back(bad_value(error_code::unsupported, "class", candidate.name,
                                     "what the devices of a node can serve when idle; " + std::to_string(count) +
                                         (count == 1 ? " row asks for it" : " rows ask for it"))
                               .at(candidate.place));
    }
    return warnings;
}

/// The Node objects in the order of the snapshot, with what else is known of their devices.
std::vector<kubernetes_node> node_objects(const kube::snapshot& state, std::span<const kube::manifest> objects) {
    std::vector<error> known; // the snapshot has told of them
    const kube::cluster_objects sorted = kube::sort_out(objects, state.dialects, known);
    const vgpualloc::dialect* const chips = state.dialects.find("mindcluster");
    std::vector<kubernetes_node> all;
    for (std::size_t i = 0; i < state.nodes().nodes.size(); ++i) {
        const std::string& name = state.nodes().nodes[i].name;
        kubernetes_node& node = all.emplace_back(
            kubernetes_node{.object = *sorted.nodes_by_name.at(name), .device_list = {}, .devices = state.devices[i]});
        if (chips == nullptr) continue;
        const auto* const more = sorted.source_of(*chips, node.object).config_map;
        if (more == nullptr) continue;
        if (auto info = vgpualloc::dialects::mindcluster::read_device_info(*more)) {
            node.device_list = std::move(info->device_list);
        }
    }
    return all;
}

/// The queues, where a file says them.
expected<void> read_queues_of(const run_config& config, input_reader& from, kubernetes_workload& workload) {
    if (config.queues.empty()) return {};
    const auto text = from.read(config.queues);
    if (!text) return unexpected(text.error());
    auto queues = read_queues(text->text, text->name);
    if (!queues) return unexpected(queues.error());
    workload.queues = *std::move(queues);
    return {};
}

/// What a model makes: its nodes, and the rest as read_workload() gives it.
struct workload_of_model {
    std::vector<kube::manifest> objects;
    kube::snapshot state;
    kubernetes_workload workload;
    std::vector<vgputraces::class_demand> demands; ///< by class of the table
    std::size_t warm_up_rows = 0;
};

expected<workload_of_model> make_of_model(const run_config& config, const vgpualloc::hardware_catalog& catalog,
                                          vgpualloc::dialect_set dialects, const model_changes& changes,
                                          input_reader& from) {
    const auto text = from.read(config.pods);
    if (!text) return unexpected(text.error());
    auto drawn = vgputraces::draw_workload(
        text->text, text->name,
        {.seed = static_cast<std::uint64_t>(config.seed),
         .nodes = changes.nodes,
         .pods = changes.arrivals,
         .load = std::nullopt,
         .offered_load = config.offered_load > 0.0 ? std::optional{config.offered_load} : std::nullopt,
         .mig_dialect = changes.mig_dialect},
        catalog, dialects, vgputraces::profile_wish::by_name);
    if (!drawn) return unexpected(std::move(drawn).error());
    auto objects = kube::read_manifests(drawn->texts.nodes, text->name);
    if (!objects) return unexpected(std::move(objects).error());
    auto state = make_empty_cluster(*objects, dialects, text->name);
    if (!state) return unexpected(std::move(state).error());
    const auto manifests = kube::read_manifests(drawn->texts.classes, text->name);
    if (!manifests) return unexpected(manifests.error());
    auto classes = read_pod_classes(*manifests, state->dialects, text->name);
    if (!classes) return unexpected(std::move(classes).error());
    for (std::size_t i = 0; i < classes->size(); ++i) {
        if (drawn->demands[i].profile.empty()) continue;
        for (pod_template& part : (*classes)[i].templates) {
            part.request.containers.front().profile = drawn->demands[i].profile;
        }
    }
    workload_of_model result{
        .objects = *std::move(objects),
        .state = *std::move(state),
        .workload = {.arrivals = std::move(drawn->arrivals), .classes = *std::move(classes), .queues = std::nullopt},
        .demands = std::move(drawn->demands),
        .warm_up_rows = drawn->warm_up_rows};
    if (auto read = read_queues_of(config, from, result.workload); !read) return unexpected(std::move(read).error());
    return result;
}

/// What is measured of the pods of a model, those of the rows after the warm-up, as far as the rows tell.
measured_arrivals measured_of_rows(const workload_of_model& made) {
    measured_arrivals result;
    for (std::size_t row = 0; row < made.warm_up_rows; ++row) {
        const std::uint32_t number = made.workload.arrivals.rows[row].pod_class;
        result.first_pod += static_cast<std::size_t>(made.workload.classes[number].pods);
    }
    result.classes = made.workload.arrivals.classes;
    return result;
}

/// Adds what a pod of each request counts for. `demands` and `pods_of_class` are by class.
void add_shares(std::span<const vgputraces::class_demand> demands, std::span<const std::int64_t> pods_of_class,
                const simulation_input& input, measured_arrivals& measured) {
    for (const std::string& name : input.request_names) {
        const auto number =
            static_cast<std::size_t>(std::ranges::find(measured.classes, name) - measured.classes.begin());
        measured.class_of_request.push_back(static_cast<std::uint32_t>(number));
        const auto& share = demands[number].share;
        measured.shares.push_back(
            {.memory = share.memory / pods_of_class[number], .compute = share.compute / pods_of_class[number]});
    }
}

/// What volcano-scheduler.conf says of devices, where there is such a file. The policy of plugin vgpualloc is not taken
/// from there: a run names its own.
expected<std::optional<kube::scheduler_config>> load_scheduler_config(const run_config& config, input_reader& from) {
    if (config.scheduler_config.empty()) return std::nullopt;
    const auto text = from.read(config.scheduler_config);
    if (!text) return unexpected(text.error());
    auto scheduler = vgpualloc::read_scheduler_config(text->text, text->name, vgpualloc::all_policies());
    if (!scheduler) return unexpected(std::move(scheduler).error());
    return std::optional{*std::move(scheduler)};
}

} // namespace

expected<kubernetes_workload> read_workload(const run_config& config, const vgpualloc::dialect_set& dialects,
                                            input_reader& from) {
    const auto objects = load_objects({config.classes}, from);
    if (!objects) return unexpected(objects.error());
    auto classes = read_pod_classes(*objects, dialects, config.classes);
    if (!classes) return unexpected(classes.error());
    auto arrivals = from.read_list(config.pods, vgputraces::read_arrivals);
    if (!arrivals) return unexpected(arrivals.error());
    kubernetes_workload workload{
        .arrivals = *std::move(arrivals), .classes = *std::move(classes), .queues = std::nullopt};
    if (auto read = read_queues_of(config, from, workload); !read) return unexpected(std::move(read).error());
    return workload;
}

expected<kube::snapshot> make_empty_cluster(const std::vector<kube::manifest>& objects,
                                            const vgpualloc::dialect_set& dialects, const std::string& source) {
    if (std::ranges::none_of(objects, [](const kube::manifest& object) { return object.node.has_value(); })) {
        return unexpected(bad_input(error_code::missing, "", "missing", "at least one object of kind Node").at(source));
    }
    for (const kube::manifest& object : objects) {
        if (object.node && !object.problems.empty()) return unexpected(object.problems.front());
        if (object.kind != "Pod") continue;
        return unexpected(bad_value(error_code::unsupported, "kind", object.kind,
                                    "nodes without their pods (kubectl get nodes -o json): a run begins with "
                                    "an empty cluster")
                              .at(object.place));
    }
    auto state = kube::make_snapshot(objects, dialects);
    if (!state) return unexpected(std::move(state).error());
    for (const error& warning : state->warnings) {
        if (leaves_out(warning)) return unexpected(warning);
    }
    return state;
}

namespace {

/// What is read before nodes and pods, and how their texts are understood.
struct file_setting {
    vgpualloc::hardware_catalog catalog;
    vgpualloc::dialect_set dialects;
    std::optional<kube::scheduler_config> scheduler;
};

expected<file_setting> load_setting(const run_config& config, input_reader& from) {
    if (auto usable = check_kubernetes_keys(config); !usable) return unexpected(std::move(usable).error());
    auto catalog = load_catalog(as_list(config.catalog), from);
    if (!catalog) return unexpected(std::move(catalog.error()));
    auto dialects = load_dialects(*catalog, as_list(config.config), from);
    if (!dialects) return unexpected(dialects.error());
    auto scheduler = load_scheduler_config(config, from);
    if (!scheduler) return unexpected(std::move(scheduler).error());
    if (*scheduler) apply_arguments((*scheduler)->deviceshare, *dialects);
    return file_setting{.catalog = *std::move(catalog),
                        .dialects = vgpualloc::dialect_set{*std::move(dialects)},
                        .scheduler = *std::move(scheduler)};
}

/// Builds the input of the run.
expected<void> build(const kube::snapshot& state, std::span<const kube::manifest> objects, file_setting setting,
                     kubernetes_workload workload, loaded_input& loaded) {
    workload.nodes = node_objects(state, objects);
    workload.scheduler = std::move(setting.scheduler);
    loaded.warnings = state.warnings;
    std::ranges::move(classes_not_served(state, workload), std::back_inserter(loaded.warnings));
    auto input = build_kubernetes_workload(state, std::move(workload));
    if (!input) return unexpected(std::move(input).error());
    loaded.input = *std::move(input);
    loaded.power = std::move(setting.catalog.power);
    return {};
}

} // namespace

expected<pod_ends> load_pod_ends(const run_config& config, input_reader& from) {
    pod_ends ends{.seed = static_cast<std::uint64_t>(config.seed)};
    if (config.start_ends == ends_stay) ends.from = pod_ends::source::stay;
    if (config.start_ends.empty() || !find_setting("start_ends")->is_path(config.start_ends)) return ends;
    auto known = from.read_list(config.start_ends, vgputraces::read_pod_ends);
    if (!known) return unexpected(std::move(known).error());
    ends.from = pod_ends::source::table;
    ends.known = *std::move(known);
    ends.table_name = from.source().resolve(config.start_ends);
    return ends;
}

expected<loaded_input> load_kubernetes(const run_config& config, input_reader& from) {
    loaded_input loaded;
    auto setting = load_setting(config, from);
    if (!setting) return unexpected(std::move(setting).error());
    const bool starts_with_pods = !config.start.empty();
    const std::string& source = starts_with_pods ? config.start : config.nodes;
    const auto objects = load_objects({from.source().resolve(source)}, from);
    if (!objects) return unexpected(objects.error());
    if (starts_with_pods) {
        if (auto checked = check_nodes(*objects, {source}); !checked) return unexpected(std::move(checked).error());
    }
    const auto state = starts_with_pods ? kube::make_snapshot(*objects, setting->dialects, from.stop())
                                        : make_empty_cluster(*objects, setting->dialects, source);
    if (!state) return unexpected(state.error());
    auto workload = read_workload(config, state->dialects, from);
    if (!workload) return unexpected(std::move(workload).error());
    std::vector<error> start_warnings;
    if (starts_with_pods) {
        auto ends = load_pod_ends(config, from);
        if (!ends) return unexpected(std::move(ends).error());
        auto start = start_of(*state, *objects, workload->arrivals, workload->classes, *ends);
        if (!start) return unexpected(std::move(start).error());
        start_warnings = warnings_of(start->counts, source);
        workload->start = *std::move(start);
    }
    if (auto built = build(*state, *objects, *std::move(setting), *std::move(workload), loaded); !built) {
        return unexpected(std::move(built).error());
    }
    std::ranges::move(start_warnings, std::back_inserter(loaded.warnings));
    if (config.offered_load > 0.0) {
        std::int64_t devices = 0;
        for (const auto& node : loaded.input.nodes.nodes) devices += static_cast<std::int64_t>(node.devices.size());
        const auto offered = set_offered_load(loaded.input, whole_gpu * devices, config.offered_load);
        if (!offered) return unexpected(offered.error());
    }
    return loaded;
}

expected<loaded_input> load_model(const run_config& config, const model_changes& changes, input_reader& from) {
    loaded_input loaded;
    auto setting = load_setting(config, from);
    if (!setting) return unexpected(std::move(setting).error());
    auto drawn = make_of_model(config, setting->catalog, setting->dialects, changes, from);
    if (!drawn) return unexpected(std::move(drawn).error());
    std::vector<std::int64_t> pods_of_class;
    for (const pod_class& known : drawn->workload.classes) pods_of_class.push_back(known.pods);
    measured_arrivals measured = measured_of_rows(*drawn);
    auto built = build(drawn->state, drawn->objects, *std::move(setting), std::move(drawn->workload), loaded);
    if (!built) return unexpected(std::move(built).error());
    add_shares(drawn->demands, pods_of_class, loaded.input, measured);
    loaded.input.measured = std::move(measured);
    return loaded;
}

expected<loaded_input> load_model(const run_config& config, input_reader& from) { return load_model(config, {}, from); }

} // namespace vgpusim
