// A trace model as JSON text, laid out for people: one line per node kind, class and entry of a list.
#include <nlohmann/json.hpp>

#include "vgputraces/generator.hpp"

namespace vgputraces {
namespace {

using nlohmann::ordered_json;
using vgpualloc::ticks;

constexpr std::size_t line_chars_max = 180;

/// Whole numbers without a fraction: 60 rather than 60.0.
ordered_json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? ordered_json(whole) : ordered_json(value);
}

ordered_json seconds(ticks time) {
    return number(static_cast<double>(time.count()) / static_cast<double>(vgpualloc::ticks_per_second.count()));
}

void put_durations(ordered_json& object, const duration_quantiles& durations) {
    if (durations.empty()) return;
    auto& list = object["duration_quantiles_s"] = ordered_json::array();
    for (const auto& point : durations) list.push_back({number(point.probability), number(point.seconds)});
}

void put_gpu_demand(ordered_json& object, const gpu_demand& gpu) {
    object["num_gpu"] = gpu.num_gpu;
    object["gpu_milli"] = gpu.gpu_milli.count();
    if (!gpu.gpu_spec.empty()) object["gpu_spec"] = gpu.gpu_spec;
}

ordered_json nodes_json(const trace_model& model) {
    ordered_json nodes;
    if (model.node_total) nodes["total"] = *model.node_total;
    auto& kinds = nodes["kinds"] = ordered_json::array();
    for (const auto& kind : model.kinds) {
        ordered_json object;
        object[model.shares_are_weights ? "weight" : "count"] = kind.share;
        if (!kind.prefix.empty()) object["prefix"] = kind.prefix;
        object["cpu_milli"] = kind.cpu.count();
        object["memory_mib"] = kind.memory.count();
        object["gpu"] = kind.gpu_count;
        if (!kind.model.empty()) object["model"] = kind.model;
        kinds.push_back(std::move(object));
    }
    return nodes;
}

template <class Value>
ordered_json amounts_json(const std::vector<weighted<Value>>& choices, const char* key) {
    ordered_json list = ordered_json::array();
    for (const auto& choice : choices) {
        ordered_json object;
        object["weight"] = choice.weight;
        object[key] = choice.value.count();
        list.push_back(std::move(object));
    }
    return list;
}

ordered_json marginals_json(const pod_marginals& marginals) {
    ordered_json object;
    object["weight"] = marginals.weight;
    auto& gpus = object["gpus"] = ordered_json::array();
    for (const auto& choice : marginals.gpus) {
        ordered_json entry;
        entry["weight"] = choice.weight;
        put_gpu_demand(entry, choice.value);
        gpus.push_back(std::move(entry));
    }
    object["cpus"] = amounts_json(marginals.cpus, "cpu_milli");
    object["memories"] = amounts_json(marginals.memories, "memory_mib");
    put_durations(object, marginals.durations);
    return object;
}

ordered_json pods_json(const trace_model& model) {
    ordered_json pods;
    if (model.pod_count) pods["count"] = *model.pod_count;
    if (model.load) pods["load"] = number(*model.load);
    if (!model.classes.empty()) pods["classes"] = ordered_json::array();
    for (const auto& made : model.classes) {
        ordered_json object;
        object["weight"] = made.weight;
        object["cpu_milli"] = made.cpu.count();
        object["memory_mib"] = made.memory.count();
        put_gpu_demand(object, made.gpu);
        put_durations(object, made.durations);
        pods["classes"].push_back(std::move(object));
    }
    if (model.marginals) pods["marginals"] = marginals_json(*model.marginals);
    return pods;
}

ordered_json arrivals_json(const arrival_model& arrivals) {
    if (arrivals.process == arrival_process::batch) return {{"process", "batch"}};
    if (arrivals.process == arrival_process::fixed) {
        return {{"process", "fixed"}, {"interval_s", seconds(arrivals.interval)}};
    }
    ordered_json object{{"process", "poisson"}, {"mean_interarrival_s", seconds(arrivals.interval)}};
    if (arrivals.hourly_weights) object["hourly_weights"] = *arrivals.hourly_weights;
    return object;
}

/// A value on one line, with a space after each ',' and ':'. Models nest four deep at most, so recursion is safe.
std::string one_line(const ordered_json& value) {
    if (!value.is_structured()) return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    std::string text;
    for (const auto& item : value.items()) {
        if (!text.empty()) text += ", ";
        if (value.is_object()) text += ordered_json(item.key()).dump() + ": ";
        text += one_line(item.value());
    }
    return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// Appends a value: on one line if it is short, else its parts on lines of their own.
void print(const ordered_json& value, std::size_t indent, std::string& text) {
    const std::string compact = one_line(value);
    if (compact.size() <= line_chars_max || !value.is_structured()) {
        text += compact;
        return;
    }
    const bool is_object = value.is_object();
    text += is_object ? "{" : "[";
    const char* separator = "\n";
    for (const auto& item : value.items()) {
        text += separator;
        text.append(indent + 2, ' ');
        if (is_object) text += ordered_json(item.key()).dump() + ": ";
        print(item.value(), indent + 2, text);
        separator = ",\n";
    }
    text += '\n';
    text.append(indent, ' ');
    text += is_object ? "}" : "]";
}

} // namespace

std::string write_trace_model(const trace_model& model) {
    ordered_json root;
    if (!model.description.empty()) root["description"] = model.description;
    root["prefix"] = model.prefix;
    root["seed"] = model.seed;
    root["nodes"] = nodes_json(model);
    root["pods"] = pods_json(model);
    root["arrivals"] = arrivals_json(model.arrivals);
    put_durations(root, model.durations);
    std::string text;
    print(root, 0, text);
    text += '\n';
    return text;
}

} // namespace vgputraces
