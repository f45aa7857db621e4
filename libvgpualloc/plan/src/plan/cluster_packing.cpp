#include "vgpualloc/plan/cluster_packing.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "vgpualloc/packing/mode_packing.hpp"
#include "vgpualloc/packing/next_states.hpp"

namespace vgpualloc::plan {

namespace {

/// Devices of one kind on one node.
using kind_count = std::pair<std::uint32_t, std::int64_t>;

/// What nodes of a group have in common.
struct node_form {
    std::vector<double> host;
    std::vector<kind_count> kinds; ///< devices in service, in order of first appearance

    auto operator<=>(const node_form&) const = default;
};

/// What pods of a type have in common.
struct type_form {
    std::vector<double> host; ///< of the whole pod
    device_request part;      ///< of one container; count 0 for pods without devices
    std::int64_t parts = 1;   ///< of the whole pod
    bool alone = true;        ///< the pod has no other container that wants other devices
    double value = 0.0;       ///< of one part, where the objective is given
    host_rules rules{};       ///< where every node is a group

    auto operator<=>(const type_form&) const = default;
};

/// What one part of a type is on a kind of device.
struct part_on_kind {
    std::vector<device_state> states{}; ///< that it makes of an idle device
    double value = 0.0;
    bool whole = false; ///< nothing else goes onto the device
};

bool wants_devices(const device_request& container) { return container.count > 0; }

class builder {
public:
    builder(const cluster& cluster, std::span<const packing_demand> demand, const cluster_packing_options& options)
        : cluster_{cluster}, demand_{demand}, options_{options} {}

    expected<cluster_packing> build() {
        for (const packing_demand& pods : demand_) result_.types_of_demand.push_back(add_types(pods));
        for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) add_node(cluster_.nodes[i], i);
        for (const device_spec& device : cluster_.kinds) add_kind(device);
        for (std::uint32_t group = 0; group < forms_.size(); ++group) {
            if (auto added = add_group(group); !added) return unexpected(std::move(added.error()));
        }
        for (const type_form& type : types_) result_.part_of_type.push_back(type.part);
        if (options_.objective == packing_objective::pods) result_.total = lp_infinity;
        return std::move(result_);
    }

private:
    [[nodiscard]] std::vector<double> host_of(milli_cpu cpu, bytes memory) const {
        if (options_.pooled) return {};
        std::vector<double> host{static_cast<double>(cpu.count())};
        if (options_.host_memory) host.push_back(static_cast<double>(memory.count()));
        return host;
    }

    /// Whether the pod wants the same of each of its devices, be they of one container or several.
    [[nodiscard]] bool are_parts_alike(const packing_demand& pods) const {
        const auto& containers = pods.request->containers;
        const auto first = std::ranges::find_if(containers, wants_devices);
        const bool are_equal = std::all_of(first, containers.end(), [&](const device_request& container) {
            return !wants_devices(container) || container == *first;
        });
        const bool have_values = options_.objective == packing_objective::given;
        return are_equal && (!have_values || std::ranges::adjacent_find(pods.value_of_part, std::not_equal_to{}) ==
                                                 pods.value_of_part.end());
    }

    std::vector<std::uint32_t> add_types(const packing_demand& pods) {
        const pod_request& request = *pods.request;
        type_form form{.host = host_of(request.cpu, request.memory), .part = {}, .parts = 0};
        std::size_t containers = 0;
        for (const device_request& container : request.containers) {
            form.parts += container.count;
            containers += container.count > 0 ? 1 : 0;
        }
        form.alone = are_parts_alike(pods);
        if (options_.by_node) form.rules = request.rules;
        if (containers == 0) {
            form.parts = 1;
            return {add_type(form, 1, pods)};
        }
        std::vector<std::uint32_t> types;
        for (const device_request& container : request.containers) {
            if (container.count == 0) continue;
            form.part = options_.any_model ? without_models(container) : container;
            form.part.uuids_allowed.clear();
            form.part.uuids_denied.clear();
            if (options_.objective == packing_objective::given) form.value = pods.value_of_part[types.size()];
            types.push_back(add_type(form, container.count, pods));
        }
        // Units of one resource may be as many equal containers: the pod is that many entries of the one type.
        for (const std::uint32_t type : types) {
            if (form.alone) result_.parts_of_type[type] = static_cast<double>(form.parts);
        }
        return types;
    }

    /// The type of that form, with the pods added to its demand: `parts` of each.
    std::uint32_t add_type(const type_form& form, std::int64_t parts, const packing_demand& pods) {
        const auto [at, added] = type_of_.emplace(form, static_cast<std::uint32_t>(types_.size()));
        if (added) {
            packing_type type;
            for (const double amount : form.host) type.host.push_back(amount / static_cast<double>(form.parts));
            result_.program.types.push_back(std::move(type));
            result_.parts_of_type.push_back(static_cast<double>(parts));
            types_.push_back(form);
        }
        packing_type& type = result_.program.types[at->second];
        type.demand += pods.count * static_cast<double>(parts);
        type.forced += pods.forced * static_cast<double>(parts);
        return at->second;
    }

    void add_node(const node& described, std::size_t index) {
        node_form form{.host = host_of(described.cpu, described.memory), .kinds = {}};
        if (options_.pooled && !forms_.empty()) return add_devices(described, forms_.front());
        add_devices(described, form);
        const auto key = std::pair{options_.by_node ? index : 0, form};
        const auto [at, added] = group_of_.emplace(key, static_cast<std::uint32_t>(forms_.size()));
        if (added) {
            forms_.push_back(form);
            nodes_of_.push_back(0);
            first_node_of_.push_back(index);
        }
        ++nodes_of_[at->second];
    }

    static void add_devices(const node& described, node_form& form) {
        for (const device& device : described.devices) {
            if (device.service != service_state::in_service) continue;
            const auto at = std::ranges::find(form.kinds, device.kind, &kind_count::first);
            if (at == form.kinds.end()) {
                form.kinds.emplace_back(device.kind, 1);
            } else {
                ++at->second;
            }
        }
    }

    [[nodiscard]] double value_on(const device_spec& device, const device_state& state, const type_form& type) const {
        switch (options_.objective) {
        case packing_objective::given:
            return type.value;
        case packing_objective::milli_gpu:
            return static_cast<double>(device.mode->used(device, state).count());
        case packing_objective::memory_mib:
            return static_cast<double>(device.mode->use(device, state).memory.count());
        case packing_objective::pods:
            break;
        }
        return 1.0 / static_cast<double>(type.parts);
    }

    /// What a part of the type is on an idle device of that kind; nothing if it does not fit.
    [[nodiscard]] std::optional<part_on_kind> part_of(const type_form& type, const device_spec& device) const {
        if (type.part.count == 0 || why_never(device, type.part) != rejection_code::none) return std::nullopt;
        part_on_kind result;
        result.states = next_states(device, {}, type.part);
        if (result.states.empty()) return std::nullopt;
        for (const device_state& state : result.states) {
            const double value = value_on(device, state, type);
            const bool counts = options_.least_value ? value < result.value : value > result.value;
            if (counts || &state == result.states.data()) result.value = value;
        }
        return result;
    }

    /// What every type is on devices of that kind. A part is whole if it goes onto no device that has another one, and
    /// no other one onto its device.
    void add_kind(const device_spec& device) {
        std::vector<std::optional<part_on_kind>> parts;
        for (const type_form& type : types_) parts.push_back(part_of(type, device));
        const auto goes_onto = [&](std::size_t t, const std::vector<device_state>& states) {
            return std::ranges::any_of(
                states, [&](const device_state& state) { return !next_states(device, state, types_[t].part).empty(); });
        };
        for (std::size_t t = 0; t < parts.size(); ++t) {
            const bool all_used = parts[t] && std::ranges::all_of(parts[t]->states, [&](const device_state& state) {
                                      return device.mode->used(device, state) >= whole_gpu;
                                  });
            if (!all_used) continue;
            parts[t]->whole = true;
            for (std::size_t other = 0; other < parts.size() && parts[t]->whole; ++other) {
                if (!parts[other]) continue;
                parts[t]->whole = !goes_onto(other, parts[t]->states) && !goes_onto(t, parts[other]->states);
            }
        }
        on_kind_.push_back(std::move(parts));
    }

    /// Whether nodes of that group have what a pod wants. Containers are asked one by one.
    [[nodiscard]] bool takes(std::uint32_t group, std::size_t t) const {
        const node_form& form = forms_[group];
        if (options_.by_node) {
            const node& described = cluster_.nodes[first_node_of_[group]];
            if (why_not_host(types_[t].rules, described.host, described.name) != rejection_code::none) return false;
        }
        for (std::size_t i = 0; i < form.host.size(); ++i) {
            if (types_[t].host[i] > form.host[i]) return false;
        }
        std::int64_t devices = 0;
        for (const auto& [kind, count] : form.kinds) devices += on_kind_[kind][t] ? count : 0;
        return devices >= types_[t].part.count;
    }

    /// Whether a node of that group has enough devices for a pod that takes them whole.
    [[nodiscard]] bool has_devices_for_block(const node_form& form, std::size_t t) const {
        std::int64_t devices = 0;
        for (const auto& [kind, count] : form.kinds) devices += on_kind_[kind][t] ? count : 0;
        return devices >= types_[t].parts;
    }

    /// Whether pods of the type are blocks there: of one container, on devices of one kind that each takes whole.
    [[nodiscard]] bool is_block(const node_form& form, std::size_t t) const {
        std::int64_t kinds = 0;
        bool whole = true;
        for (const auto& [kind, count] : form.kinds) {
            if (!on_kind_[kind][t]) continue;
            ++kinds;
            whole = whole && on_kind_[kind][t]->whole;
        }
        // Nodes have devices of one kind as a rule, and all together of several: a pod that takes several then takes
        // them of each kind for itself.
        return types_[t].alone && whole && (kinds == 1 || types_[t].parts == 1 || options_.pooled);
    }

    expected<void> add_group(std::uint32_t group) {
        packing_program& program = result_.program;
        const node_form& form = forms_[group];
        const auto nodes = static_cast<double>(nodes_of_[group]);
        program.groups.emplace_back();
        for (const double amount : form.host) program.groups.back().host.push_back(amount * nodes);
        std::vector<std::uint32_t> blocks;
        std::vector<std::uint32_t> shared;
        for (std::uint32_t t = 0; t < types_.size(); ++t) {
            if (!takes(group, t)) continue;
            if (types_[t].part.count == 0) {
                program.blocks.push_back({.type = t, .group = group, .value = 0.0});
            } else if (is_block(form, t)) {
                if (has_devices_for_block(form, t)) blocks.push_back(t);
            } else {
                shared.push_back(t);
                if (types_[t].parts > 1) result_.pods_are_whole = false;
            }
        }
        for (const auto& [kind, count] : form.kinds) {
            const double devices = static_cast<double>(count) * nodes;
            if (auto added = add_class(group, kind, devices, blocks, shared); !added) return added;
        }
        return {};
    }

    expected<void> add_class(std::uint32_t group, std::uint32_t kind, double devices,
                             const std::vector<std::uint32_t>& blocks, const std::vector<std::uint32_t>& shared) {
        packing_program& program = result_.program;
        const device_spec& device = cluster_.kinds[kind];
        const auto position = static_cast<std::uint32_t>(program.devices.size());
        for (const std::uint32_t t : blocks) {
            const auto& part = on_kind_[kind][t];
            if (!part) continue;
            const auto parts = static_cast<double>(types_[t].parts);
            program.blocks.push_back({.type = t,
                                      .group = group,
                                      .devices = position,
                                      .count = parts,
                                      .pods = parts,
                                      .value = parts * part->value});
        }
        packing_devices of_class{.group = group, .count = devices};
        for (const std::uint32_t t : shared) {
            if (!on_kind_[kind][t]) continue;
            of_class.type_of_part.push_back(t);
            of_class.value_of_part.push_back(on_kind_[kind][t]->value);
        }
        if (!of_class.type_of_part.empty()) {
            auto packing = packing_of(kind, of_class.type_of_part);
            if (!packing) return unexpected(std::move(packing.error()));
            of_class.packing = *std::move(packing);
        }
        const bool memory = options_.objective == packing_objective::memory_mib;
        result_.total += devices * static_cast<double>(memory ? device.memory.count() : whole_gpu.count());
        program.devices.push_back(std::move(of_class));
        result_.kind_of_class.push_back(kind);
        return {};
    }

    /// The packing of those types on devices of that kind, made once.
    expected<std::shared_ptr<const device_packing>> packing_of(std::uint32_t kind,
                                                               const std::vector<std::uint32_t>& types) {
        auto& known = packings_[{kind, types}];
        if (known) return known;
        std::vector<device_request> requests;
        for (const std::uint32_t t : types) requests.push_back(types_[t].part);
        auto packing = packing_of_device(cluster_.kinds[kind], requests, options_.states_max);
        if (packing) known = *packing;
        return packing;
    }

    const cluster& cluster_;
    std::span<const packing_demand> demand_;
    const cluster_packing_options& options_;
    cluster_packing result_;
    std::vector<type_form> types_; ///< of the program's types
    std::map<type_form, std::uint32_t> type_of_;
    std::vector<node_form> forms_; ///< of the program's groups
    std::vector<std::int64_t> nodes_of_;
    std::vector<std::size_t> first_node_of_; ///< position in cluster::nodes
    std::map<std::pair<std::size_t, node_form>, std::uint32_t> group_of_;
    std::vector<std::vector<std::optional<part_on_kind>>> on_kind_; ///< by kind and type
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::shared_ptr<const device_packing>> packings_;
};

} // namespace

expected<cluster_packing> pack_cluster(const cluster& cluster, std::span<const packing_demand> demand,
                                       const cluster_packing_options& options) {
    return builder{cluster, demand, options}.build();
}

} // namespace vgpualloc::plan
