// The JSON of a trace model: reading it strictly and writing it back.
#include <algorithm>

#include "generator_limits.hpp"
#include "model_parts.hpp"
#include "vgpuformats/json.hpp"
#include "vgputraces/generator.hpp"

namespace vgputraces {
namespace {

constexpr std::string_view model_chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

std::string read_gpu_model(const cursor& text) {
    return read_name(text, model_chars, "1 to 40 letters, digits, '-', '.' or '_'");
}

milli_cpu read_cpu(const cursor& amount) { return milli_cpu{amount.integer({0, limits::amount_max})}; }
mib read_memory(const cursor& amount) { return mib{amount.integer({0, limits::amount_max})}; }
node_kind read_kind(const cursor& object, bool weighted) {
    object.only({"count", "weight", "prefix", "cpu_milli", "memory_mib", "gpu", "model"});
    node_kind kind;
    kind.share = weighted ? read_weight(object) : object.at("count").integer({0, limits::nodes_max});
    if (object.has("prefix")) kind.prefix = read_prefix(object.at("prefix"));
    kind.cpu = read_cpu(object.at("cpu_milli"));
    kind.memory = read_memory(object.at("memory_mib"));
    kind.gpu_count = static_cast<int>(object.at("gpu").integer({0, limits::gpus_per_node_max}));
    if (kind.gpu_count > 0) {
        kind.model = read_gpu_model(object.at("model"));
    } else if (object.has("model")) {
        object.fail_key(error_code::unsupported, "model", "a node kind without GPUs has no model");
    }
    return kind;
}

void read_nodes(const cursor& object, trace_model& model) {
    object.only({"total", "kinds"});
    if (object.has("total")) model.node_total = object.at("total").integer({1, limits::nodes_max});
    const cursor list = object.at("kinds");
    const auto kinds = list.items(1, limits::list_entries_max);
    const auto weighted = [](const cursor& kind) { return kind.has("weight"); };
    model.shares_are_weights = std::any_of(kinds.begin(), kinds.end(), weighted);
    for (const auto& kind : kinds) {
        if (model.shares_are_weights && kind.has("count")) {
            kind.fail_key(error_code::unsupported, "count", "kinds have either all a count or all a weight");
        }
        model.kinds.push_back(read_kind(kind, model.shares_are_weights));
    }
    require_some_weight(list, model.kinds, [](const node_kind& kind) { return kind.share; });
}

/// Every model named must be one that some node kind has: anything else is far more often a typing error than a wish
/// for pods that can never run.
std::string read_gpu_spec(const cursor& text, const std::vector<node_kind>& kinds) {
    const std::string spec = text.text();
    std::size_t begin = 0;
    while (!text.failed() && begin <= spec.size()) {
        const std::size_t end = std::min(spec.find('|', begin), spec.size());
        const std::string name = spec.substr(begin, end - begin);
        const bool known = !name.empty() && std::any_of(kinds.begin(), kinds.end(),
                                                        [&](const node_kind& kind) { return kind.model == name; });
        if (!known) text.fail(error_code::unknown_name, "models of the node kinds, joined by '|'");
        begin = end + 1;
    }
    return spec;
}

/// The three keys num_gpu, gpu_milli and gpu_spec of a class or of an entry of the marginals.
gpu_demand read_gpu_demand(const cursor& object, const std::vector<node_kind>& kinds) {
    gpu_demand gpu;
    gpu.num_gpu = static_cast<int>(object.at("num_gpu").integer({0, limits::gpus_per_node_max}));
    const std::int64_t whole = vgpualloc::whole_gpu.count();
    const std::int64_t least = gpu.num_gpu == 0 ? 0 : gpu.num_gpu == 1 ? 1 : whole;
    const std::int64_t most = gpu.num_gpu == 0 ? 0 : whole;
    const bool by_default = gpu.num_gpu != 1 && !object.has("gpu_milli");
    gpu.gpu_milli = milli_gpu{by_default ? most : object.at("gpu_milli").integer({least, most})};
    if (!object.has("gpu_spec")) return gpu;
    if (gpu.num_gpu == 0) object.fail_key(error_code::unsupported, "gpu_spec", "a request without GPUs has no model");
    gpu.gpu_spec = read_gpu_spec(object.at("gpu_spec"), kinds);
    return gpu;
}

constexpr std::string_view durations_key = "duration_quantiles_s";

pod_class read_class(const cursor& object, const std::vector<node_kind>& kinds) {
    object.only({"weight", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", durations_key});
    pod_class result;
    result.weight = read_weight(object);
    result.cpu = read_cpu(object.at("cpu_milli"));
    result.memory = read_memory(object.at("memory_mib"));
    result.gpu = read_gpu_demand(object, kinds);
    if (object.has(durations_key)) result.durations = read_durations(object.at(durations_key));
    return result;
}

/// A list of {weight, <key>} objects.
template <class Value>
std::vector<weighted<Value>> read_amounts(const cursor& list, std::string_view key) {
    std::vector<weighted<Value>> choices;
    for (const auto& entry : list.items(1, limits::list_entries_max)) {
        entry.only({"weight", key});
        choices.push_back({read_weight(entry), Value{entry.at(key).integer({0, limits::amount_max})}});
    }
    require_some_weight(list, choices, [](const auto& choice) { return choice.weight; });
    return choices;
}

pod_marginals read_marginals(const cursor& object, const std::vector<node_kind>& kinds) {
    object.only({"weight", "gpus", "cpus", "memories", durations_key});
    pod_marginals result;
    result.weight = read_weight(object);
    const cursor gpus = object.at("gpus");
    for (const auto& entry : gpus.items(1, limits::list_entries_max)) {
        entry.only({"weight", "num_gpu", "gpu_milli", "gpu_spec"});
        result.gpus.push_back({read_weight(entry), read_gpu_demand(entry, kinds)});
    }
    require_some_weight(gpus, result.gpus, [](const auto& choice) { return choice.weight; });
    result.cpus = read_amounts<milli_cpu>(object.at("cpus"), "cpu_milli");
    result.memories = read_amounts<mib>(object.at("memories"), "memory_mib");
    if (object.has(durations_key)) result.durations = read_durations(object.at(durations_key));
    return result;
}

void read_pods(const cursor& object, trace_model& model) {
    object.only({"count", "load", "classes", "marginals"});
    if (object.has("count")) model.pod_count = object.at("count").integer({1, limits::pods_max});
    if (object.has("load")) model.load = object.at("load").real(limits::load_min, limits::load_max);
    if (object.has("count") && object.has("load")) {
        object.fail_key(error_code::unsupported, "load", "either count or load, not both");
    }
    if (object.has("classes") || !object.has("marginals")) {
        for (const auto& entry : object.at("classes").items(1, limits::list_entries_max)) {
            model.classes.push_back(read_class(entry, model.kinds));
        }
    }
    if (object.has("marginals")) model.marginals = read_marginals(object.at("marginals"), model.kinds);
    if (model.marginals && model.marginals->weight > 0) return;
    const cursor place = object.has("classes") ? object.at("classes") : object.at("marginals");
    require_some_weight(place, model.classes, [](const pod_class& candidate) { return candidate.weight; });
}

trace_model trace_model_of(const cursor& root, const std::string& source) {
    root.only({"description", "prefix", "seed", "nodes", "pods", "arrivals", durations_key});
    trace_model model;
    model.source = source;
    if (root.has("description")) model.description = root.at("description").any_text();
    if (root.has("prefix")) model.prefix = read_prefix(root.at("prefix"));
    if (root.has("seed")) model.seed = root.at("seed").unsigned_integer();
    read_nodes(root.at("nodes"), model);
    read_pods(root.at("pods"), model);
    model.arrivals = read_arrivals(root.at("arrivals"));
    if (root.has(durations_key)) model.durations = read_durations(root.at(durations_key));
    return model;
}

} // namespace

expected<trace_model> parse_trace_model(std::string_view json_text, const std::string& where) {
    const auto document = vgpuformats::parse_json(json_text, where);
    if (!document) return unexpected(document.error());
    std::optional<error> failure;
    trace_model model = trace_model_of(cursor{*document, where, failure, vgpuformats::place_style::line}, where);
    if (failure) return unexpected(*failure);
    return model;
}

} // namespace vgputraces
