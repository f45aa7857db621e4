// What is refused before anything is decided or counted.
#include "vgpualloc/model/limits.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

namespace {

expected<void> check_range(const std::string& where, const std::string& field, std::int64_t value,
                           std::int64_t largest) {
    if (value >= 0 && value <= largest) return {};
    return unexpected(
        bad_value(error_code::out_of_range, field, std::to_string(value), "0 to " + std::to_string(largest)).at(where));
}

expected<void> check_container(const device_request& container, const std::string& name) {
    if (auto checked = check_range("", name + ".count", container.count, devices_per_node_max); !checked)
        return checked;
    if (auto checked = check_range("", name + ".memory", container.memory.count(), device_memory_max.count());
        !checked) {
        return checked;
    }
    if (container.memory_percent) {
        auto checked = check_range("", name + ".memory_percent", *container.memory_percent, memory_percent_max);
        if (!checked) return checked;
    }
    return check_range("", name + ".cores", container.cores.count(), device_cores_max.count());
}

} // namespace

expected<void> check_request(const pod_request& request) {
    if (auto checked = check_range("", "cpu", request.cpu.count(), host_cpu_max.count()); !checked) return checked;
    if (auto checked = check_range("", "memory", request.memory.count(), host_memory_max.count()); !checked) {
        return checked;
    }
    const auto containers = static_cast<std::int64_t>(request.containers.size());
    if (auto checked = check_range("", "containers", containers, containers_per_pod_max); !checked) return checked;
    for (std::size_t i = 0; i < request.containers.size(); ++i) {
        auto checked = check_container(request.containers[i], "containers[" + std::to_string(i) + "]");
        if (!checked) return checked;
    }
    return {};
}

expected<void> check_node(const node& described) {
    const std::string where = "node " + described.name;
    if (described.name.empty()) {
        return unexpected(bad_value(error_code::missing, "name", "", "a name").at("node"));
    }
    if (auto checked = check_range(where, "cpu", described.cpu.count(), host_cpu_max.count()); !checked) return checked;
    if (auto checked = check_range(where, "memory", described.memory.count(), host_memory_max.count()); !checked) {
        return checked;
    }
    if (auto checked = check_range(where, "pods_max", described.pods_max, pod_index_max); !checked) return checked;
    const auto unsorted = std::ranges::adjacent_find(described.host.labels, std::ranges::greater_equal{},
                                                     [](const auto& label) { return std::string_view{label.first}; });
    if (unsorted != described.host.labels.end()) {
        return unexpected(bad_value(error_code::malformed, "host.labels", std::next(unsorted)->first,
                                    "labels in ascending order, each once; before it stands " + unsorted->first)
                              .at(where));
    }
    const auto devices = static_cast<std::int64_t>(described.devices.size());
    if (auto checked = check_range(where, "devices", devices, devices_per_node_max); !checked) return checked;
    std::vector<std::string_view> uuids;
    for (const device& registered : described.devices) {
        if (!registered.uuid.empty()) uuids.emplace_back(registered.uuid);
    }
    std::ranges::sort(uuids);
    const auto repeated = std::ranges::adjacent_find(uuids);
    if (repeated == uuids.end()) return {};
    return unexpected(bad_value(error_code::duplicate, "uuid", *repeated, "every device of a node once").at(where));
}

expected<void> check_cluster(const cluster& nodes) {
    std::set<std::string_view> names;
    for (const node& described : nodes.nodes) {
        if (auto checked = check_node(described); !checked) return checked;
        if (!names.insert(described.name).second) {
            return unexpected(bad_value(error_code::duplicate, "name", described.name, "every node once"));
        }
        for (const device& registered : described.devices) {
            if (registered.kind < nodes.kinds.size()) continue;
            return unexpected(
                bad_value(error_code::out_of_range, "kind", std::to_string(registered.kind), "a kind of the cluster")
                    .at("node " + described.name));
        }
    }
    return {};
}

} // namespace vgpualloc
