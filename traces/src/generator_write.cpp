// A trace model as JSON text, laid out for people: one line per node kind, class and entry of a list.

#include "model_parts.hpp"
#include "vgpuformats/json.hpp"
#include "vgputraces/generator.hpp"

namespace vgputraces {
namespace {

constexpr std::size_t line_chars_max = 180;

/// Whole numbers without a fraction: 60 rather than 60.0.
document number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? document{whole} : document{value};
}

document seconds(ticks time) {
    return number(static_cast<double>(time.count()) / static_cast<double>(ticks_per_second.count()));
}

void put_durations(document& object, const duration_quantiles& durations) {
    if (durations.empty()) return;
    document& list = object["duration_quantiles_s"];
    for (const auto& point : durations) {
        list.push_back(document::list({number(point.probability), number(point.seconds)}));
    }
}

void put_gpu_demand(document& object, const gpu_demand& gpu) {
    object["num_gpu"] = gpu.num_gpu;
    object["gpu_milli"] = gpu.gpu_milli.count();
    if (!gpu.gpu_spec.empty()) object["gpu_spec"] = gpu.gpu_spec;
}

document nodes_json(const trace_model& model) {
    document nodes;
    if (model.node_total) nodes["total"] = *model.node_total;
    document& kinds = nodes["kinds"] = document::list();
    for (const auto& kind : model.kinds) {
        document object;
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
document amounts_json(const std::vector<weighted<Value>>& choices, const char* key) {
    document list = document::list();
    for (const auto& choice : choices) {
        document object;
        object["weight"] = choice.weight;
        object[key] = choice.value.count();
        list.push_back(std::move(object));
    }
    return list;
}

document marginals_json(const pod_marginals& marginals) {
    document object;
    object["weight"] = marginals.weight;
    document& gpus = object["gpus"] = document::list();
    for (const auto& choice : marginals.gpus) {
        document entry;
        entry["weight"] = choice.weight;
        put_gpu_demand(entry, choice.value);
        gpus.push_back(std::move(entry));
    }
    object["cpus"] = amounts_json(marginals.cpus, "cpu_milli");
    object["memories"] = amounts_json(marginals.memories, "memory_mib");
    put_durations(object, marginals.durations);
    return object;
}

document pods_json(const trace_model& model) {
    document pods;
    if (model.pod_count) pods["count"] = *model.pod_count;
    if (model.load) pods["load"] = number(*model.load);
    if (!model.classes.empty()) pods["classes"] = document::list();
    for (const auto& pods_of_class : model.classes) {
        document object;
        object["weight"] = pods_of_class.weight;
        object["cpu_milli"] = pods_of_class.cpu.count();
        object["memory_mib"] = pods_of_class.memory.count();
        put_gpu_demand(object, pods_of_class.gpu);
        put_durations(object, pods_of_class.durations);
        pods["classes"].push_back(std::move(object));
    }
    if (model.marginals) pods["marginals"] = marginals_json(*model.marginals);
    return pods;
}

document arrivals_json(const arrival_model& arrivals) {
    if (arrivals.process == arrival_process::batch) return document::map({{"process", "batch"}});
    if (arrivals.process == arrival_process::fixed) {
        return document::map({{"process", "fixed"}, {"interval_s", seconds(arrivals.interval)}});
    }
    document object = document::map({{"process", "poisson"}, {"mean_interarrival_s", seconds(arrivals.interval)}});
    if (arrivals.hourly_weights) object["hourly_weights"] = document::list_of(*arrivals.hourly_weights);
    return object;
}

/// Calls `print_entry` with the key, or nothing in a list, and the value of every entry.
template <class PrintEntry>
void for_each_entry(const document& value, PrintEntry print_entry) {
    for (const document& item : value.items) print_entry(std::string{}, item);
    for (const auto& [key, member] : value.members) print_entry(vgpuformats::print_json(key) + ": ", member);
}

/// A value on one line, with a space after each ',' and ':'. Models nest four deep at most, so recursion is safe.
std::string one_line(const document& value) {
    if (!value.is_list() && !value.is_map()) return vgpuformats::print_json(value);
    std::string text;
    for_each_entry(value, [&text](const std::string& key, const document& entry) {
        if (!text.empty()) text += ", ";
        text += key + one_line(entry);
    });
    return value.is_map() ? "{" + text + "}" : "[" + text + "]";
}

/// Appends a value: on one line if it is short, else its parts on lines of their own.
void print(const document& value, std::size_t indent, std::string& text) {
    const std::string compact = one_line(value);
    if (compact.size() <= line_chars_max || !(value.is_list() || value.is_map())) {
        text += compact;
        return;
    }
    text += value.is_map() ? "{" : "[";
    const char* separator = "\n";
    for_each_entry(value, [&](const std::string& key, const document& entry) {
        text += separator;
        text.append(indent + 2, ' ');
        text += key;
        print(entry, indent + 2, text);
        separator = ",\n";
    });
    text += '\n';
    text.append(indent, ' ');
    text += value.is_map() ? "}" : "]";
}

} // namespace

std::string print_model(const document& model) {
    std::string text;
    print(model, 0, text);
    text += '\n';
    return text;
}

std::string write_trace_model(const trace_model& model) {
    document root;
    if (!model.description.empty()) root["description"] = model.description;
    root["prefix"] = model.prefix;
    root["seed"] = model.seed;
    root["nodes"] = nodes_json(model);
    root["pods"] = pods_json(model);
    root["arrivals"] = arrivals_json(model.arrivals);
    put_durations(root, model.durations);
    return print_model(root);
}

} // namespace vgputraces
