// Reading what happens to nodes, devices and pods.
#include "vgputraces/cluster_events.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "table_reader.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgputraces {

namespace {

constexpr std::array<std::string_view, 7> event_words{"fails",  "repaired", "drained", "undrained",
                                                      "leaves", "joins",    "crashes"};
constexpr double mean_s_min = 1e-6;
constexpr double mean_s_max = 1e9;

// Positions of the columns.
enum : std::size_t { time_at, what_at, node_at, device_at, pod_at };

expected<node_event> read_what(const table_reader& from) {
    const auto word = std::ranges::find(event_words, from.text(what_at));
    if (word == event_words.end()) {
        const std::string known = vgpuformats::joined(event_words);
        return unexpected(from.problem(what_at, error_code::unknown_name, "one of " + known));
    }
    const auto what = static_cast<node_event>(word - event_words.begin());
    if (!from.text(device_at).empty() && (what == node_event::leaves || what == node_event::joins)) {
        return unexpected(from.problem(device_at, error_code::unsupported, "no device: whole nodes leave and join"));
    }
    return what;
}

/// Whether the row names what its event is of, and nothing else: a pod that crashes, or else a node.
expected<void> check_subject(const table_reader& from, node_event what) {
    const bool is_of_pod = what == node_event::crashes;
    const std::size_t wanted = is_of_pod ? pod_at : node_at;
    if (from.text(wanted).empty()) {
        return unexpected(from.problem(wanted, error_code::missing,
                                       "missing; expected in every row of " +
                                           std::string{is_of_pod ? "a pod that crashes" : "a node or device"}));
    }
    for (const std::size_t column : {node_at, device_at, pod_at}) {
        if ((column == pod_at) == is_of_pod || from.text(column).empty()) continue;
        return unexpected(from.problem(column, error_code::unsupported,
                                       is_of_pod ? "nothing: the pod that crashes says where that is"
                                                 : "nothing: only what crashes is a pod"));
    }
    return {};
}

expected<cluster_event_row> read_row(const table_reader& from) {
    const auto time = from.seconds(time_at);
    if (!time) return unexpected(time.error());
    const auto what = read_what(from);
    if (!what) return unexpected(what.error());
    if (const auto named = check_subject(from, *what); !named) return unexpected(named.error());
    return cluster_event_row{.line = static_cast<std::uint32_t>(from.line()),
                             .time = **time, // a required column
                             .what = *what,
                             .node = std::string{from.text(node_at)},
                             .device = std::string{from.text(device_at)},
                             .pod = std::string{from.text(pod_at)}};
}

std::optional<failure_rates> read_rates(const cursor& model, const char* key) {
    if (!model.has(key)) return std::nullopt;
    const cursor rates = model.at(key);
    rates.only({"mtbf_s", "mttr_s"});
    return failure_rates{.mtbf_s = rates.at("mtbf_s").real(mean_s_min, mean_s_max),
                         .mttr_s = rates.at("mttr_s").real(mean_s_min, mean_s_max)};
}

failure_model failure_model_of(const cursor& from) {
    from.only({"nodes", "devices", "horizon_s"});
    failure_model model{.nodes = read_rates(from, "nodes"), .devices = read_rates(from, "devices"), .horizon = {}};
    if (from.has("horizon_s")) {
        const double seconds = from.at("horizon_s").real(0.0, static_cast<double>(table_seconds_max));
        model.horizon = ticks{static_cast<std::int64_t>(seconds * static_cast<double>(ticks_per_second.count()) + 0.5)};
    }
    if (!model.nodes && !model.devices) from.fail(error_code::missing, "the key nodes, or devices, or both");
    return model;
}

} // namespace

std::string_view to_string(node_event what) noexcept { return event_words[static_cast<std::size_t>(what)]; }

expected<std::vector<cluster_event_row>> read_cluster_events(const vgpuformats::list_content& content,
                                                             const std::string& name) {
    auto from = table_reader::open(name, content,
                                   {{.name = "time", .required = true, .kind = cell_kind::number},
                                    {.name = "what", .required = true},
                                    {.name = "node"},
                                    {.name = "device", .kind = cell_kind::text_or_number},
                                    {.name = "pod"}});
    if (!from) return unexpected(from.error());
    std::vector<cluster_event_row> rows;
    while (true) {
        const auto more = from->next();
        if (!more) return unexpected(more.error());
        if (!*more) break;
        auto row = read_row(*from);
        if (!row) return unexpected(std::move(row).error());
        rows.push_back(*std::move(row));
    }
    std::ranges::stable_sort(rows, {}, &cluster_event_row::time);
    return rows;
}

expected<failure_model> read_failure_model(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    if (documents->size() != 1) {
        return unexpected(bad_value(error_code::malformed, "", std::to_string(documents->size()) + " documents",
                                    "one map: nodes, devices, horizon_s")
                              .at(name));
    }
    std::optional<error> failure;
    auto model = failure_model_of(cursor{documents->front(), name, failure, vgpuformats::place_style::line});
    if (failure) return unexpected(*std::move(failure));
    return model;
}

} // namespace vgputraces
