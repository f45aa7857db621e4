// Reading Kubernetes objects: pod specifications and node states.
#include <algorithm>

#include "objects_parts.hpp"

namespace vgpualloc::kube {
namespace {

struct host_amount {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
};

/// Sums stay far below 2^63: one amount is at most 2^53 of its unit.
constexpr std::int64_t host_amount_max = std::int64_t{1} << 53U;

std::int64_t host_quantity(const object_cursor& from, quantity_unit unit, rounding rest) {
    const std::int64_t value = from.quantity(unit, rest).value_or(0);
    if (value <= host_amount_max) return value;
    from.fail(error_code::out_of_range, std::to_string(value), "less than 2^53");
    return 0;
}

/// Amounts of extended resources, which are whole and have a '/' in their names; host amounts are read apart.
kubernetes::amount_map read_amounts(const object_cursor& from) {
    kubernetes::amount_map amounts;
    for (const auto& [name, entry] : from.entries()) {
        if (name.find('/') == std::string::npos) continue;
        const auto amount = entry.quantity(quantity_unit::one, rounding::refuse);
        if (amount) amounts[name] = *amount;
    }
    return amounts;
}

struct read_container {
    kubernetes::container container;
    host_amount host;
};

read_container container_from(const object_cursor& from) {
    read_container result;
    result.container.name = from.at("name").text();
    const auto resources = from.at("resources");
    result.container.limits = read_amounts(resources.at("limits"));
    result.container.requests = read_amounts(resources.at("requests"));
    // As the API server sets them.
    for (const auto& [name, amount] : result.container.limits) result.container.requests.try_emplace(name, amount);
    const auto host = [&resources](const char* name, quantity_unit unit) {
        const auto request = resources.at("requests").at(name);
        return host_quantity(request.present() ? request : resources.at("limits").at(name), unit, rounding::up);
    };
    result.host = {.cpu_milli = host("cpu", quantity_unit::thousandth),
                   .memory_mib = host("memory", quantity_unit::mebi)};
    return result;
}

} // namespace

void read_pod_spec(const object_cursor& spec, manifest& target) {
    host_amount sum;
    host_amount largest_init;
    const auto containers = spec.at("containers");
    if (!containers.present()) containers.fail(error_code::missing, "", "a list of containers");
    for (const auto& container : containers.items()) {
        auto read = container_from(container);
        sum.cpu_milli += read.host.cpu_milli;
        sum.memory_mib += read.host.memory_mib;
        target.pod->containers.push_back(std::move(read.container));
    }
    for (const auto& container : spec.at("initContainers").items()) {
        auto read = container_from(container);
        largest_init.cpu_milli = std::max(largest_init.cpu_milli, read.host.cpu_milli);
        largest_init.memory_mib = std::max(largest_init.memory_mib, read.host.memory_mib);
        target.pod->init_containers.push_back(std::move(read.container));
    }
    const auto overhead = spec.at("overhead");
    target.cpu = milli_cpu{std::max(sum.cpu_milli, largest_init.cpu_milli) +
                           host_quantity(overhead.at("cpu"), quantity_unit::thousandth, rounding::up)};
    target.memory = mib{std::max(sum.memory_mib, largest_init.memory_mib) +
                        host_quantity(overhead.at("memory"), quantity_unit::mebi, rounding::up)};
    target.scheduler_name = spec.at("schedulerName").text();
    target.node_name = spec.at("nodeName").text();
}

void read_node_status(const object_cursor& status, manifest& target) {
    target.node->allocatable = status.at("allocatable").scalars();
    target.node->capacity = status.at("capacity").scalars();
    const auto allocatable = status.at("allocatable");
    target.cpu = milli_cpu{host_quantity(allocatable.at("cpu"), quantity_unit::thousandth, rounding::down)};
    target.memory = mib{host_quantity(allocatable.at("memory"), quantity_unit::mebi, rounding::down)};
}

} // namespace vgpualloc::kube
