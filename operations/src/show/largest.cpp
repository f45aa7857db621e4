// The largest parts that are free.
#include "vgpuops/show/largest.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/cce.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpuops::show {

namespace {

using vgpualloc::device_request;
using vgpualloc::device_spec;
using vgpualloc::device_state;

/// One device, as it is now.
struct device_now {
    const kube::snapshot_device* read = nullptr;
    const device_spec* spec = nullptr;
    device_state state;
    std::string node{};
};

/// The most that is on one node, `amount_max` at most: of equal ones the first, and how many there are.
std::vector<largest_part> most_on_a_node(const std::string& part, std::span<const device_now> devices,
                                         std::int64_t (*amount_of)(const device_now&), std::int64_t amount_max) {
    std::vector<std::pair<std::string, std::int64_t>> nodes;
    for (const device_now& device : devices) {
        const std::int64_t amount = amount_of(device);
        if (nodes.empty() || nodes.back().first != device.node) nodes.emplace_back(device.node, 0);
        nodes.back().second = std::min(nodes.back().second + amount, amount_max);
    }
    using node_amount = std::pair<std::string, std::int64_t>;
    const auto most = std::ranges::max_element(nodes, {}, &node_amount::second);
    if (most == nodes.end() || most->second == 0) return {};
    const auto equal = std::ranges::count(nodes, most->second, &node_amount::second);
    return {{.part = part, .amount = most->second, .node = most->first, .nodes = equal}};
}

std::int64_t one_if_empty(const device_now& device) { return device.state == device_state{} ? 1 : 0; }

std::int64_t free_slots(const device_now& device) {
    return std::max<std::int64_t>(device.spec->slots - device.state.slots, 0);
}

/// Profiles of a MIG GPU with the memory of an instance, 0 where it is not known: of its geometry groups, else those
/// that its driver told, else the catalog's.
std::map<std::string, std::int64_t> profiles_of(const kube::snapshot& state, const kube::snapshot_device& device) {
    std::map<std::string, std::int64_t> profiles;
    for (const vgpualloc::mig_group& group : device.registered.geometry) {
        for (const vgpualloc::mig_kind& cut : group.kinds) profiles.emplace(cut.name, cut.memory.count());
    }
    for (const vgpualloc::mig_offer& offer : device.registered.offers) {
        profiles.emplace(offer.name, offer.memory.count());
    }
    if (!profiles.empty()) return profiles;
    const auto model = vgpualloc::find_model(*state.dialects.config().mig, device.registered.model);
    if (!model) return profiles;
    for (const vgpualloc::mig_profile& profile : (*model)->profiles) {
        if (profile.kind != vgpualloc::mig_profile_kind::core) continue;
        profiles.emplace(profile.name, profile.memory.value_or(vgpualloc::mib{0}).count());
    }
    return profiles;
}

std::vector<largest_part> instances(const kube::snapshot& state, std::span<const device_now> devices) {
    constexpr std::int64_t instances_max = 64; // of one GPU
    std::map<std::string, largest_part> by_profile;
    std::map<std::string, std::string> last_node; // by profile
    for (const device_now& device : devices) {
        for (const auto& [profile, memory] : profiles_of(state, *device.read)) {
            const device_request request{.count = 1, .memory = {}, .cores = {}, .profile = profile};
            const auto free = device.spec->mode->further(*device.spec, device.state, request, instances_max);
            if (free == 0) continue;
            largest_part& entry = by_profile[profile];
            entry.part = profile;
            entry.amount += free;
            entry.memory_mib = memory;
            if (std::exchange(last_node[profile], device.node) != device.node) ++entry.nodes;
        }
    }
    std::vector<largest_part> result;
    for (auto& [profile, entry] : by_profile) result.push_back(std::move(entry));
    std::ranges::stable_sort(result, std::ranges::greater{}, &largest_part::memory_mib);
    return result;
}

/// The most memory that the device gives, with the compute that is left; amount 0: nothing.
largest_part free_slice(const device_now& device) {
    const vgpualloc::use_vector used = device.spec->mode->use(*device.spec, device.state);
    const vgpualloc::core_percent cores = device.spec->cores - used.compute;
    const vgpualloc::mib free = device.spec->memory - used.memory;
    constexpr std::int64_t unit_mib = vgpualloc::modes::cce::unit.count(); // pods of CCE can ask for no other amounts
    std::vector<vgpualloc::mib> amounts{free, vgpualloc::mib{free.count() / unit_mib * unit_mib}};
    for (const vgpualloc::npu_template& cut : device.read->registered.npu.templates) amounts.push_back(cut.memory);
    std::ranges::sort(amounts, std::ranges::greater{});
    for (const vgpualloc::mib memory : amounts) {
        if (memory <= vgpualloc::mib{0} || memory > device.spec->memory) continue;
        for (const vgpualloc::core_percent wanted : {cores, vgpualloc::core_percent{0}}) {
            const device_request request{.count = 1, .memory = memory, .cores = wanted};
            if (wanted < vgpualloc::core_percent{0}) continue;
            if (device.spec->mode->why_not(*device.spec, device.state, request).code != rejection_code::none) continue;
            return {.part = "slice",
                    .amount = 1,
                    .memory_mib = memory.count(),
                    .cores = std::max<std::int64_t>(wanted.count(), 0),
                    .node = device.node};
        }
    }
    return {};
}

std::vector<largest_part> largest_slice(std::span<const device_now> devices) {
    largest_part largest;
    std::string last_node; // where a slice of that size is
    const auto size = [](const largest_part& part) {
        return std::tuple{part.amount, part.cores > 0, part.memory_mib, part.cores};
    };
    for (const device_now& device : devices) {
        largest_part slice = free_slice(device);
        if (size(slice) == size(largest) && last_node != device.node) ++largest.nodes;
        if (size(slice) > size(largest)) {
            largest = std::move(slice);
            largest.nodes = 1;
        }
        if (size(slice) >= size(largest)) last_node = device.node;
    }
    if (largest.amount == 0) return {};
    return {std::move(largest)};
}

} // namespace

std::vector<largest_part> largest_of(const kube::snapshot& state, std::span<const device_place> devices) {
    std::vector<device_now> open;
    for (const auto& [where, which] : devices) {
        const vgpualloc::node& node = state.nodes().nodes[where.at()];
        const bool takes_pods = node.host.ready && !node.host.unschedulable;
        if (!takes_pods || state.book->services(where)[which.at()] != vgpualloc::service_state::in_service) continue;
        open.push_back({.read = &state.device(where, which),
                        .spec = &state.nodes().spec_of(where, which),
                        .state = state.book->devices(where)[which.at()],
                        .node = node.name});
    }
    if (open.empty()) return {};
    const vgpualloc::device_registration& registered = open.front().read->registered;
    constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    if (registered.mode == "exclusive") return most_on_a_node("gpu", open, one_if_empty, no_limit);
    if (registered.mode == "mig") return instances(state, open);
    if (registered.units.in_units()) {
        return most_on_a_node("replicas", open, free_slots, registered.units.one_per_container ? 1 : no_limit);
    }
    return largest_slice(open);
}

std::string words_of(const largest_part& largest) {
    if (largest.part == "slice") {
        const std::string cores = largest.cores > 0 ? fmt::format(", {} cores", largest.cores) : "";
        return fmt::format("{} MiB{} ({})", largest.memory_mib, cores, largest.node);
    }
    if (largest.node.empty()) return fmt::format("{} ({})", largest.part, largest.amount);
    const std::string where = largest.nodes > 1 ? fmt::format("{} nodes", largest.nodes) : largest.node;
    const bool is_one = largest.part == "replicas" && largest.amount == 1;
    return fmt::format("{} {} ({})", largest.amount, is_one ? "replica" : largest.part, where);
}

} // namespace vgpuops::show
