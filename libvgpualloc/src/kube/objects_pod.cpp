// Reading Kubernetes objects: pod specifications and node states.
#include <algorithm>

#include "objects_parts.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::kube {
namespace {

struct host_amount {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;

    /// Stays at twice the most that can be had, however many containers there are.
    void add(const host_amount& more);
};

constexpr std::int64_t bytes_per_mib = to_bytes(mib{1}).count();

/// The most that a node or pod can have (model/limits.hpp), in milli-CPUs or MiB.
std::int64_t most_of(quantity_unit unit) {
    return unit == quantity_unit::thousandth ? host_cpu_max.count() : host_memory_max.count() / bytes_per_mib;
}

void host_amount::add(const host_amount& more) {
    cpu_milli = std::min(cpu_milli + more.cpu_milli, 2 * most_of(quantity_unit::thousandth));
    memory_mib = std::min(memory_mib + more.memory_mib, 2 * most_of(quantity_unit::mebi));
}

std::int64_t host_quantity(const object_cursor& from, quantity_unit unit, rounding rest) {
    const std::int64_t value = from.quantity(unit, rest).value_or(0);
    if (value <= most_of(unit)) return value;
    from.fail(error_code::out_of_range, std::to_string(value), "at most " + std::to_string(most_of(unit)));
    return 0;
}

/// What the containers of a pod come to, which may be too much although each amount is not.
std::int64_t host_total(const object_cursor& containers, std::int64_t total, quantity_unit unit) {
    if (total <= most_of(unit)) return total;
    containers.fail(error_code::out_of_range, std::to_string(total),
                    "amounts that together are at most " + std::to_string(most_of(unit)));
    return most_of(unit);
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
        sum.add(read.host);
        target.pod->containers.push_back(std::move(read.container));
    }
    for (const auto& container : spec.at("initContainers").items()) {
        auto read = container_from(container);
        largest_init.cpu_milli = std::max(largest_init.cpu_milli, read.host.cpu_milli);
        largest_init.memory_mib = std::max(largest_init.memory_mib, read.host.memory_mib);
        target.pod->init_containers.push_back(std::move(read.container));
    }
    const auto overhead = spec.at("overhead");
    const std::int64_t cpu = std::max(sum.cpu_milli, largest_init.cpu_milli) +
                             host_quantity(overhead.at("cpu"), quantity_unit::thousandth, rounding::up);
    const std::int64_t memory = std::max(sum.memory_mib, largest_init.memory_mib) +
                                host_quantity(overhead.at("memory"), quantity_unit::mebi, rounding::up);
    target.cpu = milli_cpu{host_total(containers, cpu, quantity_unit::thousandth)};
    target.memory = mib{host_total(containers, memory, quantity_unit::mebi)};
    target.scheduler_name = spec.at("schedulerName").text();
    target.node_name = spec.at("nodeName").text();
    read_host_rules(spec, target);
}

void read_node_status(const object_cursor& status, manifest& target) {
    target.node->allocatable = status.at("allocatable").scalars();
    target.node->capacity = status.at("capacity").scalars();
    const auto allocatable = status.at("allocatable");
    target.cpu = milli_cpu{host_quantity(allocatable.at("cpu"), quantity_unit::thousandth, rounding::down)};
    target.memory = mib{host_quantity(allocatable.at("memory"), quantity_unit::mebi, rounding::down)};
}

} // namespace vgpualloc::kube
