// Changes of MIG layouts.
#include "vgpuops/whatif/cut_nodes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/dialect/nvidia_layouts.hpp"
#include "vgpualloc/plan/mig_group_change.hpp"

namespace vgpuops::whatif {

namespace nvidia = vgpualloc::dialects::nvidia;
namespace plan = vgpualloc::plan;

namespace {

constexpr std::string_view nvidia_dialect = "nvidia";

error at_option(error problem) {
    problem.where = "--set-mode: " + problem.where;
    return problem;
}

/// The instances of the GPUs of a node.
std::string instances_words(const std::vector<nvidia::layout_part>& parts, std::int64_t gpus) {
    if (parts.empty()) return fmt::format("{} whole {}", gpus, gpus == 1 ? "GPU" : "GPUs");
    std::string words;
    for (const nvidia::layout_part& part : parts) {
        words += fmt::format("{}{} x {}", words.empty() ? "" : ", ", part.instances * gpus, part.profile);
    }
    return words;
}

/// What all devices of a node are cut into together, and one of them.
struct node_parts {
    std::vector<nvidia::layout_part> of_node{};
    std::vector<nvidia::layout_part> of_first{};
    bool are_alike = true;
};

node_parts parts_of(const std::vector<kube::snapshot_device>& devices) {
    node_parts result{.of_first = nvidia::parts_of(devices.front().registered)};
    for (const kube::snapshot_device& device : devices) {
        const auto parts = nvidia::parts_of(device.registered);
        result.are_alike = result.are_alike && parts == result.of_first;
        for (const nvidia::layout_part& part : parts) {
            const auto known = std::ranges::find(result.of_node, part.profile, &nvidia::layout_part::profile);
            if (known == result.of_node.end()) {
                result.of_node.push_back(part);
            } else {
                known->instances += part.instances;
            }
        }
    }
    return result;
}

/// Instances on one GPU from one layout to another; none where nothing can tell.
std::optional<vgpualloc::ticks> time_of_cut(const vgpualloc::mig_model& model,
                                            const std::vector<nvidia::layout_part>& before,
                                            const std::vector<nvidia::layout_part>& after) {
    const auto states = plan::gpu_layouts::make(model);
    const auto slots = nvidia::places_of(model, before);
    if (!states || !slots) return std::nullopt;
    plan::mig_live_state live;
    for (const vgpualloc::mig_slot& slot : *slots) {
        const auto place = states->place_of(slot);
        if (!place) return std::nullopt;
        live.instances |= plan::mig_places{1} << *place;
    }
    vgpualloc::mig_group group;
    for (const nvidia::layout_part& part : after)
        group.kinds.push_back({.name = part.profile, .memory = {}, .count = part.instances});
    const auto change = plan::change_group(*states, plan::mig_step_costs{}, live, group);
    return change && *change ? std::optional{(*change)->cost} : std::nullopt;
}

/// Goes through the changes node by node.
class layout_reader {
public:
    layout_reader(const std::vector<kube::manifest>& objects, const kube::snapshot& cluster)
        : objects_{&objects}, cluster_{&cluster}, options_{nvidia::options_of(cluster.dialects.config())} {}

    expected<void> read(const mode_change& wanted) {
        const auto nodes = nodes_named(*cluster_, wanted.node, "--set-mode");
        if (!nodes) return unexpected(nodes.error());
        for (const node_index where : *nodes) {
            const bool has_devices = !cluster_->devices[where.at()].empty();
            if (!has_devices && nodes->size() > 1) continue;
            mode_change entry = wanted;
            entry.node = cluster_->nodes().nodes[where.at()].name;
            auto read = read_node(where, std::move(entry));
            if (!read) return read;
        }
        return {};
    }

    [[nodiscard]] cut_changes take() { return std::move(result_); }

private:
    [[nodiscard]] bool is_of_nvidia(node_index where) const {
        const auto& devices = cluster_->devices[where.at()];
        return !devices.empty() && std::ranges::all_of(devices, [](const kube::snapshot_device& device) {
            return device.dialect == nvidia_dialect;
        });
    }

    expected<void> read_node(node_index where, mode_change entry) {
        const bool is_cut = entry.mode == "mig" || entry.mode == "exclusive";
        if (is_of_nvidia(where) && is_cut) {
            if (entry.mode == "exclusive" && entry.layout.empty()) entry.layout = nvidia::whole_layout;
            return cut(where, std::move(entry));
        }
        if (!entry.layout.empty()) {
            return unexpected(bad_value(error_code::unsupported, "node " + entry.node, entry.mode + ":" + entry.layout,
                                        "a mode without a layout: only GPUs of NVIDIA's own plugin have layouts by "
                                        "name, in mode mig")
                                  .at("--set-mode"));
        }
        result_.modes.push_back(std::move(entry));
        return {};
    }

    expected<void> cut(node_index where, mode_change entry) {
        const kube::manifest& object = object_of(*objects_, entry.node);
        const auto gpus = nvidia::gpus_of(*object.node, options_);
        if (!gpus) return unexpected(at_option(gpus.error()));
        kube::manifest copy = object;
        if (auto done = nvidia::cut_node(*copy.node, entry.layout, options_); !done) {
            return unexpected(at_option(done.error()));
        }
        if (!cut_.insert(entry.node).second) {
            return unexpected(
                bad_value(error_code::duplicate, "", entry.node, "every node once with a layout").at("--set-mode"));
        }
        if (gpus->layout == entry.layout) return {};
        note(where, *gpus, entry.layout);
        entry.cut_as = entry.node + "/" + entry.layout; // no node has such a name
        copy.name = entry.cut_as;
        copy.node->name = entry.cut_as;
        result_.objects.push_back(std::move(copy));
        result_.modes.push_back(std::move(entry));
        return {};
    }

    void note(node_index where, const nvidia::node_gpus& gpus, const std::string& layout) {
        const auto layouts = nvidia::layouts_of(*gpus.model);
        const auto wanted = std::ranges::find(layouts, layout, &nvidia::layout::name);
        const node_parts before = parts_of(cluster_->devices[where.at()]);
        layout_change change{.node = cluster_->nodes().nodes[where.at()].name,
                             .before = instances_words(before.of_node, before.of_node.empty() ? gpus.gpus : 1),
                             .after = instances_words(wanted->parts, gpus.gpus),
                             .gpus = gpus.gpus};
        if (before.are_alike && !before.of_first.empty() && !wanted->parts.empty()) {
            const auto one = known_time_of_cut(*gpus.model, before.of_first, *wanted);
            if (one) change.cut_time = vgpualloc::ticks{one->count() * gpus.gpus};
        }
        result_.layouts.push_back(std::move(change));
    }

    /// Nodes of a set are mostly alike.
    std::optional<vgpualloc::ticks> known_time_of_cut(const vgpualloc::mig_model& model,
                                                      const std::vector<nvidia::layout_part>& before,
                                                      const nvidia::layout& after) {
        const auto [known, is_new] = times_.try_emplace({&model, instances_words(before, 1), after.name});
        if (is_new) known->second = time_of_cut(model, before, after.parts);
        return known->second;
    }

    const std::vector<kube::manifest>* objects_;
    const kube::snapshot* cluster_;
    nvidia::options options_;
    std::set<std::string> cut_; ///< names of nodes
    /// Of one GPU, by its model, what it is cut into and the layout's name.
    std::map<std::tuple<const vgpualloc::mig_model*, std::string, std::string>, std::optional<vgpualloc::ticks>> times_;
    cut_changes result_;
};

} // namespace

expected<cut_changes> by_node(const std::vector<mode_change>& wanted, const std::vector<kube::manifest>& objects,
                              const kube::snapshot& cluster) {
    layout_reader reader{objects, cluster};
    for (const mode_change& entry : wanted) {
        if (auto read = reader.read(entry); !read) return unexpected(read.error());
    }
    return reader.take();
}

} // namespace vgpuops::whatif
