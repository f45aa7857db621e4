#include "vgpuops/whatif/catalog_kinds.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/dialect/nvidia_layouts.hpp"
#include "vgpualloc/model/limits.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgputraces/workload_nodes.hpp"

namespace vgpuops::whatif {

namespace nvidia = vgpualloc::dialects::nvidia;

namespace {

constexpr const char* described_expected =
    "MODEL:MODE:DEVICES, MODEL:MODE:DEVICES:CPU_MILLI:MEMORY_MIB, with whole numbers, MODEL:mig:LAYOUT with or without "
    "these numbers, or a JSON object as in nodes.kinds of a model";

error bad_description(const std::string& option, const std::string& kind) {
    return bad_value(error_code::malformed, "", kind, described_expected).at(option);
}

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    while (true) {
        const auto colon = text.find(':');
        parts.emplace_back(text.substr(0, colon));
        if (colon == std::string_view::npos) return parts;
        text.remove_prefix(colon + 1);
    }
}

/// The short form as the long one.
expected<document> long_form(const std::string& kind, std::int64_t devices, const std::string& option) {
    auto parts = parts_of(kind);
    std::string layout;
    if (parts.size() >= 3 && parts[1] == "mig" && parts[2].starts_with("all-")) {
        layout = parts[2];
        parts.erase(parts.begin() + 2);
        if (parts.size() == 2) parts.push_back(std::to_string(devices));
    }
    const bool is_complete = (parts.size() == 3 || parts.size() == 5) &&
                             std::ranges::none_of(parts, [](const std::string& part) { return part.empty(); });
    if (!is_complete) return unexpected(bad_description(option, kind));
    document result = document::map({{"kind", parts[0]}, {"mode", parts[1]}});
    constexpr std::string_view amounts[] = {"devices", "cpu_milli", "memory_mib"};
    for (std::size_t i = 2; i < parts.size(); ++i) {
        std::int64_t amount = 0;
        const auto [end, failure] = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), amount);
        if (failure != std::errc{} || end != parts[i].data() + parts[i].size()) {
            return unexpected(bad_description(option, kind));
        }
        if (i == 2 && (amount < 0 || amount > vgpualloc::devices_per_node_max)) {
            return unexpected(bad_value(error_code::out_of_range, "devices", parts[i],
                                        fmt::format("a whole number from 0 to {}", vgpualloc::devices_per_node_max))
                                  .at(option));
        }
        result[std::string{amounts[i - 2]}] = amount;
    }
    if (!layout.empty()) result["layout"] = layout;
    return result;
}

/// The dialects that the cluster's devices are registered in, in order of first appearance.
std::vector<std::string> dialects_spoken(const kube::snapshot& cluster) {
    std::vector<std::string> spoken;
    for (const auto& devices : cluster.devices) {
        for (const auto& device : devices) {
            if (std::ranges::find(spoken, device.dialect) == spoken.end()) spoken.emplace_back(device.dialect);
        }
    }
    return spoken;
}

bool is_of_npus(std::string_view dialect) { return dialect == "ascend_hami" || dialect == "mindcluster"; }

/// The dialect of the cluster's devices in which nodes of that mode register. Error: the cluster has devices, and none
/// in such a dialect; pods would ask for them in vain.
/// `is_said`: the description names a dialect.
expected<std::optional<std::string>> dialect_for(const std::string& mode, const std::vector<std::string>& spoken,
                                                 const vgpualloc::dialect_set& dialects, bool is_said,
                                                 const std::string& option, const std::string& kind) {
    const auto possible = vgputraces::dialects_of_mode(mode);
    for (const std::string_view dialect : possible) {
        if (std::ranges::find(spoken, dialect) != spoken.end()) return std::string{dialect};
    }
    if (spoken.empty() || possible.empty()) return std::nullopt; // what is wrong with the mode is said when it is read
    // A scheduler may serve GPUs in one dialect and NPUs in another. Where the kubelet alone gives devices out, pods
    // ask for them in the words of its device plugins and in no others.
    const auto is_of_kubelet = [&](const std::string& dialect) {
        const vgpualloc::dialect* const known = dialects.find(dialect);
        return known != nullptr && known->assigned_by_kubelet();
    };
    std::vector<std::string> own = spoken;
    if (!std::ranges::all_of(spoken, is_of_kubelet)) {
        std::erase_if(own, [&](const std::string& dialect) { return is_of_npus(dialect) != is_of_npus(possible[0]); });
        if (own.empty() || is_said) return std::nullopt;
    }
    std::vector<std::string_view> modes;
    for (const std::string& dialect : own) {
        for (const std::string_view known : vgputraces::modes_of_dialect(dialect)) {
            if (std::ranges::find(modes, known) == modes.end()) modes.push_back(known);
        }
    }
    const std::string or_of_modes = modes.empty() ? "" : fmt::format("of mode {}, or ", fmt::join(modes, ", "));
    return unexpected(bad_value(error_code::unsupported, "", kind,
                                fmt::format("a node as this cluster's device plugin registers it (dialect {}): "
                                            "{}one like a node that is there, by its name",
                                            fmt::join(own, ", "), or_of_modes))
                          .at(option));
}

/// Adds what the description leaves open.
expected<void> complete(document& description, const open_amounts& open, const vgpualloc::dialect_set& dialects,
                        const std::string& option, const std::string& kind) {
    constexpr std::int64_t amount_max = 1'000'000'000; // that a description may name
    if (description.find("cpu_milli") == nullptr) description["cpu_milli"] = std::min(open.cpu_milli, amount_max);
    if (description.find("memory_mib") == nullptr) description["memory_mib"] = std::min(open.memory_mib, amount_max);
    const document* const mode = description.find("mode");
    if (mode == nullptr || !mode->is_text()) return {};
    const bool is_said = description.find("dialect") != nullptr;
    auto dialect = dialect_for(mode->text, open.dialects, dialects, is_said, option, kind);
    if (!dialect) return unexpected(std::move(dialect.error()));
    if (*dialect && !is_said) description["dialect"] = **dialect;
    return {};
}

/// Takes the layout out of a description: such GPUs are those of NVIDIA's own plugin, and are whole before they are
/// cut. Empty: it has none. Error: the cluster's devices are of other plugins.
expected<std::string> take_layout(document& description, const open_amounts& open, const std::string& option,
                                  const std::string& kind) {
    const document* const layout = description.find("layout");
    if (layout == nullptr || !layout->is_text()) return std::string{};
    std::string name = layout->text;
    document rest = document::map({});
    for (const auto& [key, value] : description.members) {
        if (key != "layout") rest[key] = value;
    }
    description = std::move(rest);
    const document* const mode = description.find("mode");
    const bool is_cut = mode != nullptr && mode->is_text() && mode->text == "mig";
    const bool is_spoken = open.dialects.empty() || std::ranges::find(open.dialects, "nvidia") != open.dialects.end();
    if (!is_cut || !is_spoken) {
        return unexpected(bad_value(error_code::unsupported, "", kind,
                                    is_cut
                                        ? fmt::format("a kind without a layout: this cluster's devices register in "
                                                      "dialect {}, and only GPUs of NVIDIA's own plugin have layouts",
                                                      fmt::join(open.dialects, ", "))
                                        : "a layout in mode mig only")
                              .at(option));
    }
    description["mode"] = "exclusive";
    description["dialect"] = "nvidia";
    return name;
}

/// Error unknown_name for a GPU that is to be cut by a layout and has no MIG.
expected<void> check_cut_gpu(const document& description, const vgpualloc::hardware_catalog& catalog,
                             const std::string& option) {
    const document* const gpu = description.find("kind");
    if (gpu == nullptr || !gpu->is_text() || vgpualloc::find_model(catalog.mig, gpu->text)) return {};
    return unexpected(bad_value(error_code::unknown_name, "kind", gpu->text,
                                "a GPU with MIG, which layouts cut: " +
                                    vgpuformats::some_of(catalog.mig.models, &vgpualloc::mig_model::name))
                          .at(option));
}

/// The kind as the name of a node: lower-case letters, digits, '-' and '.'.
std::string node_name_of(const vgputraces::workload_node_kind& kind, const document& description,
                         const std::string& layout) {
    if (!kind.prefix.empty()) return kind.prefix;
    std::string name = "node";
    if (kind.devices > 0) {
        name = description.find("kind")->text + "-" + (layout.empty() ? kind.mode : "mig-" + layout) + "-" +
               std::to_string(kind.devices);
    }
    for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
        if (!is_plain) c = '-';
    }
    return name;
}

} // namespace

open_amounts most_of(const vgpualloc::cluster& nodes) {
    open_amounts result;
    for (const auto& node : nodes.nodes) {
        const std::string* const strategy = node.host.label("nvidia.com/mig.strategy");
        const bool is_cut_so = strategy != nullptr && (*strategy == "single" || *strategy == "mixed");
        if (result.mig_strategy.empty() && is_cut_so) result.mig_strategy = *strategy;
        result.devices = std::max(result.devices, std::int64_t{std::ssize(node.devices)});
        result.cpu_milli = std::max(result.cpu_milli, node.cpu.count());
        result.memory_mib = std::max(result.memory_mib, vgpualloc::mib_down(node.memory));
    }
    return result;
}

namespace {

document texts(const vgpualloc::kubernetes::text_map& entries) {
    document result = document::map({});
    for (const auto& [key, value] : entries) result[key] = value;
    return result;
}

/// Cuts the nodes of a list of objects.
expected<void> cut_nodes(document& list, const described_kind& kind, const vgpualloc::dialect_set& dialects,
                         const std::string& option) {
    auto objects = kube::read_manifests(vgpuformats::print_json(list), option);
    if (!objects) return unexpected(objects.error());
    for (std::size_t i = 0; i < objects->size(); ++i) {
        if (!(*objects)[i].node) continue;
        vgpualloc::kubernetes::node& node = *(*objects)[i].node;
        if (!kind.mig_strategy.empty()) node.labels["nvidia.com/mig.strategy"] = kind.mig_strategy;
        if (auto done = nvidia::cut_node(node, kind.layout, nvidia::options_of(dialects.config())); !done) {
            return unexpected(std::move(done).error().at(option));
        }
        document& item = list["items"].items[i];
        item["metadata"]["labels"] = texts(node.labels);
        item["status"]["allocatable"] = texts(node.allocatable);
        item["status"]["capacity"] = texts(node.capacity);
    }
    return {};
}

} // namespace

expected<document> described_node(const described_kind& kind, const std::string& name,
                                  const vgpualloc::dialect_set& dialects, const std::string& option) {
    document list = document::map({{"apiVersion", "v1"}, {"kind", "List"}});
    for (auto& object : vgputraces::node_objects(kind.nodes, name, dialects)) {
        list["items"].push_back(std::move(object));
    }
    if (!kind.layout.empty()) {
        if (auto done = cut_nodes(list, kind, dialects, option); !done) return unexpected(done.error());
    }
    // What is wrong with the objects is wrong with the description; doubts that leave all devices there are for the
    // snapshot of the whole cluster to tell.
    const auto objects = kube::read_manifests(vgpuformats::print_json(list), option);
    if (!objects) return unexpected(objects.error());
    for (const kube::manifest& object : *objects) {
        if (!object.problems.empty()) return unexpected(object.problems.front());
    }
    const auto alone = kube::make_snapshot(*objects, dialects);
    if (!alone) return unexpected(alone.error());
    const bool is_whole = std::ssize(alone->devices.front()) == kind.nodes.devices;
    if (!is_whole && !alone->warnings.empty()) return unexpected(alone->warnings.front());
    VGA_ASSERT(is_whole, "a node that is written is read with all of its devices, or a warning says why not");
    return list;
}

bool is_described(std::string_view kind) noexcept {
    return kind.starts_with('{') || kind.find(':') != std::string_view::npos;
}

expected<described_kind> read_described_kind(const std::string& kind, const open_amounts& open,
                                             const vgpualloc::dialect_set& dialects,
                                             const vgpualloc::hardware_catalog& catalog, const std::string& option) {
    auto description =
        kind.starts_with('{') ? vgpuformats::parse_json(kind, option) : long_form(kind, open.devices, option);
    if (!description) return unexpected(std::move(description.error()));
    auto layout = take_layout(*description, open, option, kind);
    if (!layout) return unexpected(std::move(layout.error()));
    if (!layout->empty()) {
        if (auto known = check_cut_gpu(*description, catalog, option); !known) {
            return unexpected(std::move(known).error());
        }
    }
    if (auto completed = complete(*description, open, dialects, option, kind); !completed) {
        return unexpected(std::move(completed.error()));
    }
    std::optional<error> failure;
    const vgpuformats::cursor at{*description, option, failure};
    for (const std::string_view key : {"count", "weight"}) {
        if (at.has(key)) at.fail_key(error_code::unsupported, key, "no number of nodes here");
    }
    described_kind result{
        .nodes = vgputraces::read_workload_node_kind(at, catalog), .name = {}, .layout = {}, .mig_strategy = {}};
    if (failure) return unexpected(*std::move(failure));
    result.layout = *std::move(layout);
    result.mig_strategy = open.mig_strategy;
    result.name = node_name_of(result.nodes, *description, result.layout);
    return result;
}

catalog_kinds::catalog_kinds(const std::vector<kube::manifest>& objects, const kube::snapshot& cluster,
                             const vgpualloc::hardware_catalog& catalog)
    : cluster_{&cluster}, catalog_{&catalog} {
    for (const kube::manifest& object : objects) {
        if (object.node) taken_.push_back(object.name);
    }
}

std::string catalog_kinds::free_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int number = 2; std::ranges::find(taken_, name) != taken_.end(); ++number) {
        name = wanted + "-" + std::to_string(number);
    }
    return name;
}

expected<std::string> catalog_kinds::node_for(const std::string& kind, const std::string& option) {
    const auto known = std::ranges::find(known_, kind, &std::pair<std::string, std::string>::first);
    if (known != known_.end()) return known->second;
    open_amounts open = most_of(cluster_->nodes());
    open.dialects = dialects_spoken(*cluster_);
    const auto described = read_described_kind(kind, open, cluster_->dialects, *catalog_, option);
    if (!described) return unexpected(described.error());
    std::string name = free_name(described->name);
    const auto list = described_node(*described, name, cluster_->dialects, option);
    if (!list) return unexpected(list.error());
    auto objects = kube::read_manifests(vgpuformats::print_json(*list), option);
    if (!objects) return unexpected(std::move(objects.error()));
    std::ranges::move(*objects, std::back_inserter(made_));
    taken_.push_back(name);
    known_.emplace_back(kind, name);
    return name;
}

} // namespace vgpuops::whatif
