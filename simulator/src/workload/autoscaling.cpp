#include "vgpusim/workload/autoscaling.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <system_error>
#include <utility>

#include "vgpuformats/cursor.hpp"
#include "vgpuformats/yaml.hpp"
#include "vgpusim/workload/cluster_events.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpusim {

using vgpuformats::cursor;

namespace {

constexpr std::int64_t delay_s_max = 1'000'000'000;

/// The first two numbers of "v1.26.3-r0"; nothing if it is no version.
std::optional<std::pair<int, int>> parse_version(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    std::pair<int, int> version;
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, version.first);
    if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, end, version.second);
    const bool ends = minor.ptr == end || *minor.ptr == '.' || *minor.ptr == '-' || *minor.ptr == '+';
    if (minor.ec != std::errc{} || !ends || version.first < 0 || version.second < 0) return std::nullopt;
    return version;
}

autoscaler_file read_map(const cursor& from) {
    from.only({"delay_s", "nodes", "cluster_version"});
    autoscaler_file file{.delay = from.at("delay_s").integer({0, delay_s_max}) * ticks_per_second, .nodes = {}};
    std::set<std::string> names;
    for (const cursor& node : from.at("nodes").items(1)) {
        file.nodes.push_back(node.filled_text());
        if (!names.insert(file.nodes.back()).second) node.fail(error_code::duplicate, "every node once");
    }
    if (!from.has("cluster_version")) return file;
    file.cluster_version = from.at("cluster_version").filled_text();
    const auto version = parse_version(*file.cluster_version);
    if (!version) from.at("cluster_version").fail(error_code::malformed, "a version of Kubernetes, such as '1.27'");
    constexpr std::pair last_without_virtual_gpus{1, 26};
    file.scales_virtual_gpus = version && *version > last_without_virtual_gpus;
    return file;
}

/// Whether a GPU of the node is shared so that its first tenant decides who may join, as virtual GPUs of CCE are.
bool has_virtual_gpus(const vgpualloc::cluster& nodes, const vgpualloc::node& node) {
    return std::ranges::any_of(
        node.devices, [&](const vgpualloc::device& gpu) { return nodes.kinds[gpu.kind].mode->first_tenant_decides(); });
}

} // namespace

expected<autoscaler_file> read_autoscaler(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    if (documents->size() != 1) {
        return unexpected(bad_value(error_code::malformed, "", std::to_string(documents->size()) + " documents",
                                    "one map: delay_s, nodes, cluster_version")
                              .at(name));
    }
    std::optional<error> failure;
    auto file = read_map(cursor{documents->front(), name, failure, vgpuformats::place_style::line});
    if (failure) return unexpected(*std::move(failure));
    return file;
}

expected<void> add_autoscaler(simulation_input& input, const autoscaler_file& file, const std::string& source) {
    input.autoscaler.emplace(autoscaling{.delay = file.delay, .nodes = {}});
    std::vector<cluster_event> away;
    for (const std::string& name : file.nodes) {
        const auto refuse = [&](error_code code, const char* expectation) {
            return unexpected(bad_value(code, "nodes", name, expectation).at(source));
        };
        const auto known = std::ranges::find(input.nodes.nodes, name, &vgpualloc::node::name);
        if (known == input.nodes.nodes.end()) return refuse(error_code::unknown_name, "a node of the node list");
        const node_index node{known - input.nodes.nodes.begin()};
        if (std::ranges::find(input.cluster_events, node, &cluster_event::node) != input.cluster_events.end()) {
            return refuse(error_code::mismatch, "a node that no event names, as the autoscaler says when it is there");
        }
        away.push_back({.time = beginning_of(input), .what = cluster_change::stops, .node = node});
        if (file.scales_virtual_gpus || !has_virtual_gpus(input.nodes, *known)) {
            input.autoscaler->nodes.push_back(node);
        }
    }
    input.cluster_events.insert(input.cluster_events.begin(), away.begin(), away.end());
    return {};
}

expected<void> load_autoscaler(const run_config& config, input_reader& from, simulation_input& input) {
    if (config.autoscaler.empty()) return {};
    const auto text = from.read(config.autoscaler);
    if (!text) return unexpected(text.error());
    const auto file = read_autoscaler(text->text, text->name);
    if (!file) return unexpected(file.error());
    return add_autoscaler(input, *file, text->name);
}

} // namespace vgpusim
