// Makes a workload of Kubernetes objects from a model. One random stream per purpose, as in the other generator.
#include "vgputraces/workload_model.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "draws.hpp"
#include "generator_limits.hpp"
#include "model_parts.hpp"
#include "table_reader.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/yaml.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/workload_nodes.hpp"
#include "workload_classes.hpp"
#include "workload_rows.hpp"

namespace vgputraces {

namespace {

constexpr std::string_view format_name = "kubernetes";

void read_kinds(const cursor& object, const generate_options& options, const vgpualloc::hardware_catalog& catalog,
                workload_model& model) {
    object.only({"total", "kinds"});
    std::optional<std::int64_t> total = options.nodes;
    if (object.has("total")) total = total.value_or(object.at("total").integer({1, limits::nodes_max}));
    const cursor list = object.at("kinds");
    const auto kinds = list.items(1, limits::list_entries_max);
    const bool weighted = std::ranges::any_of(kinds, [](const cursor& kind) { return kind.has("weight"); });
    std::int64_t sum = 0;
    for (const cursor& kind : kinds) {
        if (weighted && kind.has("count")) {
            kind.fail_key(error_code::unsupported, "count", "kinds have either all a count or all a weight");
        }
        model.kinds.push_back(read_workload_node_kind(kind, catalog, options.mig_dialect));
        model.kinds.back().share = weighted ? read_weight(kind) : kind.at("count").integer({0, limits::nodes_max});
        sum += model.kinds.back().share;
    }
    require_some_weight(list, model.kinds, [](const workload_node_kind& kind) { return kind.share; });
    if (weighted && !total) {
        object.fail_key(error_code::missing, "total",
                        "a number of nodes, here or as --nodes, where kinds have weights");
    }
    model.node_total = total.value_or(sum);
    if (model.node_total > limits::nodes_max) {
        list.fail(error_code::out_of_range, "at most " + std::to_string(limits::nodes_max) + " nodes in all");
    }
}

/// One node of every kind, read back. What is wrong with it is an error of its kind.
expected<vgpualloc::kube::snapshot> read_sample(const workload_model& model, const vgpualloc::dialect_set& dialects,
                                                const std::string& where) {
    document list = document::map({{"apiVersion", "v1"}, {"kind", "List"}});
    list["items"] = document::list();
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        for (auto& object : node_objects(model.kinds[i], "kind-" + std::to_string(i), dialects)) {
            list["items"].push_back(std::move(object));
        }
    }
    const auto objects = vgpualloc::kube::read_manifests(vgpuformats::print_json(list), where);
    if (!objects) return unexpected(objects.error());
    auto state = vgpualloc::kube::make_snapshot(*objects, dialects);
    if (!state || state->warnings.empty()) return state;
    error problem = state->warnings.front();
    problem.where =
        where + ": " + problem.where.substr(std::min(problem.where.find("node kind-"), problem.where.size()));
    return unexpected(std::move(problem));
}

void read_pods(const cursor& object, const generate_options& options, const class_checker& checker,
               workload_model& model) {
    object.only({"count", "load", "classes", "warm_up_lifetimes"});
    if (object.has("warm_up_lifetimes")) {
        constexpr double lifetimes_max = 1e6;
        model.warm_up_lifetimes = object.at("warm_up_lifetimes").real(0.0, lifetimes_max);
        if (model.arrivals.process == arrival_process::batch) {
            object.fail_key(error_code::unsupported, "warm_up_lifetimes", "arrivals that do not all come at once");
        }
    }
    std::optional<std::int64_t> count = options.pods;
    if (object.has("count")) count = count.value_or(object.at("count").integer({1, limits::pods_max}));
    if (object.has("load")) {
        if (object.has("count")) object.fail_key(error_code::unsupported, "load", "either count or load, not both");
        if (object.has("warm_up_lifetimes")) {
            object.fail_key(error_code::unsupported, "load", "a count, where there is a warm-up");
        }
        if (!count) model.load = object.at("load").real(limits::load_min, limits::load_max);
        if (!count) count = limits::pods_max;
    }
    if (!count) object.fail_key(error_code::missing, "count", "a number of pods, here or as --pods");
    model.pod_count = count.value_or(0);
    const cursor list = object.at("classes");
    std::set<std::string> names;
    for (const cursor& entry : list.items(1, limits::list_entries_max)) {
        model.classes.push_back(read_workload_class(entry, checker));
        if (!names.insert(model.classes.back().name).second && !entry.failed()) {
            entry.fail(error_code::duplicate, "a name that no class before has: " + model.classes.back().name);
        }
        if (entry.failed()) return;
    }
    require_some_weight(list, model.classes, [](const workload_class& candidate) { return candidate.weight; });
}

void read_rest(const cursor& root, const generate_options& options, workload_model& model) {
    if (root.has("description")) static_cast<void>(root.at("description").any_text());
    if (root.has("prefix")) model.prefix = read_prefix(root.at("prefix"));
    if (root.has("seed")) model.seed = root.at("seed").unsigned_integer();
    model.seed = options.seed.value_or(model.seed);
    model.arrivals = read_arrivals(root.at("arrivals"), load_key::allowed);
    if (options.offered_load) {
        if (model.arrivals.process != arrival_process::poisson) {
            root.at("arrivals").fail_key(error_code::unsupported, "process", "poisson, for an offered load");
        }
        model.arrivals.load = options.offered_load;
    }
    model.durations = read_duration_model(root);
}

double mean_s_of(const duration_model& durations) {
    if (durations.constant_s) return *durations.constant_s;
    if (durations.mean_s) return *durations.mean_s;
    double mean = 0.0; // of a number drawn from the line through the points
    for (std::size_t i = 1; i < durations.quantiles.size(); ++i) {
        const auto& [from, to] = std::pair{durations.quantiles[i - 1], durations.quantiles[i]};
        mean += (to.probability - from.probability) * (from.seconds + to.seconds) / 2.0;
    }
    return mean;
}

/// Sums over the classes, of one row on average.
struct mean_row {
    bool all_leave = true;
    double seconds = 0.0;
    double memory_seconds = 0.0; ///< devices' memory, in devices x seconds
    double compute_seconds = 0.0;
};

mean_row mean_row_of(const workload_model& model) {
    mean_row result;
    double weights = 0.0;
    for (const workload_class& entry : model.classes) weights += static_cast<double>(entry.weight);
    for (const workload_class& entry : model.classes) {
        const duration_model& durations = entry.durations.empty() ? model.durations : entry.durations;
        if (entry.weight > 0 && durations.empty()) result.all_leave = false;
        const double seconds = static_cast<double>(entry.weight) / weights * mean_s_of(durations);
        const auto devices = [](std::int64_t parts) {
            return static_cast<double>(parts) / static_cast<double>(device_parts::whole);
        };
        result.seconds += seconds;
        result.memory_seconds += seconds * devices(entry.demand.share.memory);
        result.compute_seconds += seconds * devices(entry.demand.share.compute);
    }
    return result;
}

/// The number of devices of all nodes.
std::int64_t devices_of(const workload_model& model) {
    std::vector<std::int64_t> shares;
    for (const auto& kind : model.kinds) shares.push_back(kind.share);
    const auto counts = apportion(shares, model.node_total);
    std::int64_t devices = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) devices += counts[i] * model.kinds[i].devices;
    return devices;
}

/// The memory that rows have to ask for in all before no more of them are drawn; where the model gives a load.
expected<std::optional<std::int64_t>> memory_to_ask_for(const workload_model& model, const std::string& where) {
    if (!model.load) return std::nullopt;
    const bool any = std::ranges::any_of(
        model.classes, [](const workload_class& entry) { return entry.weight > 0 && entry.demand.share.memory > 0; });
    const std::int64_t devices = devices_of(model);
    if (!any || devices == 0) {
        return unexpected(
            bad_value(error_code::unsupported, "pods.load", "",
                      "nodes with devices and a class that asks for some, without which nothing is loaded")
                .at(where));
    }
    const double exact = *model.load * static_cast<double>(devices) * static_cast<double>(device_parts::whole);
    return static_cast<std::int64_t>(exact + 0.5);
}

/// The interval at which rate x lifetime x devices asked for, by memory or by compute, whichever is more, is the load
/// times all devices.
expected<void> choose_interval(workload_model& model, const std::string& where) {
    if (!model.arrivals.load) return {};
    const mean_row row = mean_row_of(model);
    const double busy = std::max(row.memory_seconds, row.compute_seconds);
    const auto fail = [&](const char* expectation) {
        return unexpected(bad_value(error_code::unsupported, "arrivals.load", "", expectation).at(where));
    };
    if (!row.all_leave) return fail("durations of all classes, without which there is no offered load");
    if (busy <= 0.0) return fail("a class that asks for a device and leaves, without which there is no offered load");
    const double interval_s = busy / (*model.arrivals.load * static_cast<double>(devices_of(model)));
    if (!(interval_s >= limits::interval_s_min && interval_s <= limits::seconds_max)) {
        return fail("a load that arrivals every 0.000001 to 10^9 seconds give");
    }
    model.arrivals.interval = ticks{static_cast<std::int64_t>(interval_s * 1e6 + 0.5)};
    return {};
}

expected<void> check_workload_options(const generate_options& options) {
    const auto refuse = [](error_code code, const char* option, std::string value, std::string expectation) {
        return unexpected(bad_value(code, "", value, std::move(expectation)).at(option));
    };
    if (options.load) return refuse(error_code::unsupported, "--load", "", "--pods for a model with format kubernetes");
    if (options.offered_load &&
        !(*options.offered_load >= limits::load_min && *options.offered_load <= limits::load_max)) {
        return refuse(error_code::out_of_range, "--offered-load", std::to_string(*options.offered_load),
                      "a number from 0.000001 to 1000");
    }
    if (options.nodes && (*options.nodes < 1 || *options.nodes > limits::nodes_max)) {
        return refuse(error_code::out_of_range, "--nodes", std::to_string(*options.nodes),
                      "1 to " + std::to_string(limits::nodes_max));
    }
    if (options.pods && (*options.pods < 1 || *options.pods > limits::pods_max)) {
        return refuse(error_code::out_of_range, "--pods", std::to_string(*options.pods),
                      "1 to " + std::to_string(limits::pods_max));
    }
    const auto possible = dialects_of_mode("mig");
    if (!options.mig_dialect.empty() && std::ranges::find(possible, options.mig_dialect) == possible.end()) {
        return refuse(error_code::unknown_name, "mig_dialect", options.mig_dialect, "hami or volcano_vgpu");
    }
    return {};
}

/// The Node objects of all kinds, in the order of the kinds.
void write_nodes(const workload_model& model, const vgpualloc::dialect_set& dialects, generated_workload& result) {
    std::vector<std::int64_t> shares;
    for (const auto& kind : model.kinds) shares.push_back(kind.share);
    const auto counts = apportion(shares, model.node_total);
    const namer names{"-node-", static_cast<std::size_t>(model.node_total)};
    document list = document::map({{"apiVersion", "v1"}, {"kind", "List"}});
    list["items"] = document::list();
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        const auto& kind = model.kinds[i];
        for (std::int64_t n = 0; n < counts[i]; ++n) {
            const std::string name = names.name(kind.prefix.empty() ? model.prefix : kind.prefix,
                                                static_cast<std::size_t>(result.node_count++));
            for (auto& object : node_objects(kind, name, dialects)) list["items"].push_back(std::move(object));
            result.device_count += kind.devices;
        }
    }
    result.nodes = vgpuformats::print_json(list, 2) + "\n";
}

void write_classes(const workload_model& model, generated_workload& result) {
    for (const workload_class& entry : model.classes) {
        result.classes += (result.classes.empty() ? "" : "---\n") + vgpuformats::print_yaml(entry.manifest);
    }
}

/// About how many rows there will be. Growing would copy the rows of a long warm-up.
std::size_t expected_rows(const workload_model& model, ticks warm_up) {
    const auto interval = static_cast<double>(model.arrivals.interval.count());
    const double before = interval > 0.0 ? static_cast<double>(warm_up.count()) / interval : 0.0;
    constexpr double spare = 1.02;
    return static_cast<std::size_t>(model.pod_count) +
           static_cast<std::size_t>(std::min(spare * before, static_cast<double>(limits::pods_max)));
}

/// The model in which the options stand, so that it makes the same without them.
void note_what_was_used(const workload_model& model, const generate_options& options, std::int64_t rows,
                        document& root) {
    root["seed"] = model.seed;
    root["nodes"]["total"] = model.node_total;
    root["pods"]["count"] = model.load ? rows : model.pod_count;
    std::erase_if(root["pods"].members, [](const auto& member) { return member.first == "load"; });
    if (!options.offered_load) return;
    document arrivals = document::map({{"process", "poisson"}, {"load", *options.offered_load}});
    if (const document* const weights = root["arrivals"].find("hourly_weights")) arrivals["hourly_weights"] = *weights;
    root["arrivals"] = std::move(arrivals);
}

/// All of a model but its rows.
struct read_model {
    std::shared_ptr<const workload_model> model;
    std::vector<class_demand> demands;
    generated_workload texts;
    row_wish wish;
};

/// Where the columns of an arrival_table are named.
arrival_table empty_table(const workload_model& model, const std::string& where) {
    arrival_table table{.source = where};
    for (const workload_class& entry : model.classes) {
        table.classes.push_back(entry.name);
        if (std::ranges::find(table.queues, entry.queue) == table.queues.end()) table.queues.push_back(entry.queue);
    }
    return table;
}

/// Notes what the rows come to.
void note_rows(const read_model& from, const row_source& rows, document& root, const generate_options& options,
               generated_workload& texts) {
    texts.rows_per_class = rows.rows_per_class();
    texts.last_arrival = rows.last_arrival();
    texts.pod_rows = rows.drawn();
    note_what_was_used(*from.model, options, texts.pod_rows, root);
    texts.model = print_model(root);
}

/// Reads a model and writes its nodes and classes; `root` is its document.
expected<read_model> read_workload_model(const document& root, const std::string& where,
                                         const generate_options& options, const vgpualloc::hardware_catalog& catalog,
                                         const vgpualloc::dialect_set& dialects, profile_wish profiles) {
    std::optional<error> failure;
    const cursor at{root, where, failure, vgpuformats::place_style::line};
    at.only({"format", "description", "prefix", "seed", "nodes", "pods", "arrivals", duration_keys[0], duration_keys[1],
             duration_keys[2]});
    workload_model model;
    read_rest(at, options, model);
    read_kinds(at.at("nodes"), options, catalog, model);
    if (failure) return unexpected(*failure);
    const auto sample = read_sample(model, dialects, where);
    if (!sample) return unexpected(sample.error());
    read_pods(at.at("pods"), options,
              {.kinds = model.kinds, .sample = *sample, .gpus = catalog.mig, .profiles = profiles}, model);
    if (failure) return unexpected(*failure);
    if (auto chosen = choose_interval(model, where); !chosen) return unexpected(std::move(chosen).error());

    read_model result;
    result.texts.seed = model.seed;
    write_nodes(model, dialects, result.texts);
    write_classes(model, result.texts);
    for (const workload_class& entry : model.classes) result.demands.push_back(entry.demand);
    const auto memory_least = memory_to_ask_for(model, where);
    if (!memory_least) return unexpected(memory_least.error());
    result.wish = {.warm_up = in_ticks(model.warm_up_lifetimes * mean_row_of(model).seconds),
                   .memory_least = *memory_least};
    result.model = std::make_shared<const workload_model>(std::move(model));
    return result;
}

} // namespace

bool is_workload_model(std::string_view json_text) {
    const auto root = vgpuformats::parse_json(json_text, "model");
    const document* const format = root ? root->find("format") : nullptr;
    return format != nullptr && format->text == format_name;
}

expected<drawn_workload> draw_workload(std::string_view json_text, const std::string& where,
                                       const generate_options& options, const vgpualloc::hardware_catalog& catalog,
                                       const vgpualloc::dialect_set& dialects, profile_wish profiles) {
    if (auto checked = check_workload_options(options); !checked) return unexpected(checked.error());
    auto root = vgpuformats::parse_json(json_text, where);
    if (!root) return unexpected(root.error());
    auto read = read_workload_model(*root, where, options, catalog, dialects, profiles);
    if (!read) return unexpected(std::move(read).error());
    arrival_table table = empty_table(*read->model, where);
    if (!read->wish.memory_least) table.rows.reserve(expected_rows(*read->model, read->wish.warm_up));
    row_source rows{*read->model, table.queues, read->wish, where};
    while (rows.next(table.rows.emplace_back())) {
    }
    table.rows.pop_back();
    if (rows.failure()) return unexpected(*rows.failure());
    const namer names{"-pod-", table.rows.size()};
    for (std::size_t i = 0; i < table.rows.size(); ++i) table.rows[i].name = names.name(read->model->prefix, i);
    note_rows(*read, rows, *root, options, read->texts);
    return drawn_workload{.texts = std::move(read->texts),
                          .arrivals = std::move(table),
                          .demands = std::move(read->demands),
                          .warm_up_rows = rows.warm_up_rows()};
}

expected<streamed_workload> stream_workload(std::string_view json_text, const std::string& where,
                                            const generate_options& options) {
    if (auto checked = check_workload_options(options); !checked) return unexpected(checked.error());
    auto root = vgpuformats::parse_json(json_text, where);
    if (!root) return unexpected(root.error());
    auto read = read_workload_model(*root, where, options, vgpualloc::built_in_catalog(), vgpualloc::dialect_set{},
                                    profile_wish::by_memory);
    if (!read) return unexpected(std::move(read).error());
    // Drawn twice: how long names are and which columns there are is known at the end.
    auto table = std::make_shared<const arrival_table>(empty_table(*read->model, where));
    arrival_writer writer{*table};
    row_source counted{*read->model, table->queues, read->wish, where};
    for (arrival_row row; counted.next(row);) writer.note(row);
    if (counted.failure()) return unexpected(*counted.failure());
    note_rows(*read, counted, *root, options, read->texts);
    // Pieces know of the model and of the table what they need, however long they take.
    const auto model = read->model;
    auto pieces = [model, table, writer, rows = row_source{*model, table->queues, read->wish, where},
                   names = namer{"-pod-", static_cast<std::size_t>(counted.drawn())},
                   begun = false](std::string& piece) mutable {
        piece.clear();
        if (!begun) writer.append_header(piece);
        begun = true;
        arrival_row row;
        while (piece.size() < piece_bytes && rows.next(row)) {
            row.name = names.name(model->prefix, static_cast<std::size_t>(rows.drawn() - 1));
            writer.append(piece, row);
        }
        return !piece.empty();
    };
    return streamed_workload{.texts = std::move(read->texts), .arrivals = std::move(pieces)};
}

expected<generated_workload> generate_workload(std::string_view json_text, const std::string& where,
                                               const generate_options& options) {
    auto made = stream_workload(json_text, where, options);
    if (!made) return unexpected(std::move(made).error());
    for (std::string piece; made->arrivals(piece);) made->texts.arrivals += piece;
    return std::move(made->texts);
}

} // namespace vgputraces
