// Reading Kubernetes objects: pod specifications and node states.
#include <algorithm>
#include <set>

#include "objects_parts.hpp"
#include "pod_amounts.hpp"
#include "vgpualloc/kube/queue_book.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::kube {
namespace {

/// What a pod or a node has of the host.
struct host_amount {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
};

/// The most that a node or pod can have (model/limits.hpp), in milli-CPUs or bytes.
std::int64_t most_of(quantity_unit unit) {
    return unit == quantity_unit::thousandth ? host_cpu_max.count() : host_memory_max.count();
}

std::int64_t host_quantity(const object_cursor& from, quantity_unit unit, rounding rest) {
    const std::int64_t value = from.quantity(unit, rest).value_or(0);
    if (value <= most_of(unit)) return value;
    from.fail(error_code::out_of_range, from.scalar(), "at most " + std::to_string(most_of(unit))); // as it is written
    return 0;
}

/// Milli-CPUs and bytes of a list of amounts.
host_amount host_amounts(const object_cursor& amounts, rounding rest) {
    return {.cpu_milli = host_quantity(amounts.at("cpu"), quantity_unit::thousandth, rest),
            .memory_bytes = host_quantity(amounts.at("memory"), quantity_unit::one, rest)};
}

/// What the containers of a pod come to, which may be too much although each amount is not.
std::int64_t host_total(const object_cursor& containers, std::int64_t total, quantity_unit unit) {
    if (total <= most_of(unit)) return total;
    // The sum itself is not known: adding ends at twice the limit.
    containers.fail(error_code::out_of_range, "more than " + std::to_string(most_of(unit)),
                    "amounts that together are at most " + std::to_string(most_of(unit)));
    return most_of(unit);
}

/// CPU or memory of a container; a limit stands in for a request that is not given.
kubernetes::host_resource host_from(const object_cursor& resources, const char* name, quantity_unit unit) {
    const auto request = resources.at("requests").at(name);
    const auto limit = resources.at("limits").at(name);
    kubernetes::host_resource result;
    if (!request.present()) {
        if (limit.present()) result.request = result.limit = host_quantity(limit, unit, rounding::up);
        return result;
    }
    result.request = host_quantity(request, unit, rounding::up);
    if (!limit.present() || limit.value()->is_map() || limit.value()->is_list()) return result;
    // The request is what is placed by: a limit beyond all hosts is one.
    const auto amount = kubernetes::parse_quantity(limit.value()->text, unit, rounding::up);
    if (amount) result.limit = std::min(*amount, most_of(unit));
    return result;
}

void read_containers(const object_cursor& spec, kubernetes::pod& target) {
    const auto read = [](const object_cursor& from, bool at_init) {
        kubernetes::container result = read_container(from, at_init);
        const auto resources = from.at("resources");
        result.cpu = host_from(resources, "cpu", quantity_unit::thousandth);
        result.memory = host_from(resources, "memory", quantity_unit::one);
        return result;
    };
    for (const auto& container : spec.at("containers").items()) target.containers.push_back(read(container, false));
    for (const auto& container : spec.at("initContainers").items()) {
        target.init_containers.push_back(read(container, true));
    }
}

/// What the containers of a pod need of the host at once. Amounts stay at twice the most that can be had, however many
/// are added.
host_amount host_at_once(const kubernetes::pod& pod) {
    const auto amount = [&pod](const char* name, std::int64_t most) {
        return amount_at_once(pod, [name](const auto& of_one) { return request_of(of_one, name); }, 2 * most);
    };
    return {.cpu_milli = amount("cpu", host_cpu_max.count()).value_or(0),
            .memory_bytes = amount("memory", host_memory_max.count()).value_or(0)};
}

/// What the pod says of itself (spec.resources, Kubernetes 1.34) counts instead of what its containers come to. Without
/// a request there, its limit does where no container says anything.
std::int64_t pod_level(const object_cursor& resources, const char* name, quantity_unit unit, std::int64_t total) {
    const auto request = resources.at("requests").at(name);
    const auto limit = resources.at("limits").at(name);
    if (!request.present() && (!limit.present() || total > 0)) return total;
    const std::int64_t amount = host_quantity(request.present() ? request : limit, unit, rounding::up);
    if (request.present() && amount < total) {
        request.fail(error_code::mismatch, request.scalar(),
                     std::string{"at least what the pod's containers ask for of "} + name + " together");
    }
    if (request.present() && limit.present() && amount > host_quantity(limit, unit, rounding::up)) {
        request.fail(error_code::mismatch, request.scalar(), "no more than the limit, " + limit.scalar());
    }
    return std::max(amount, total);
}

void read_pod_level(const object_cursor& spec, host_amount& needs, manifest& target) {
    const auto resources = spec.at("resources");
    for (const char* list : {"requests", "limits"}) {
        for (const auto& [name, entry] : resources.at(list).entries()) {
            if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) continue;
            entry.fail(error_code::unsupported, name, "cpu, memory or hugepages; other resources are of containers");
        }
    }
    const auto own_amounts = [&resources](const char* name, quantity_unit unit, std::int64_t& total) {
        total = pod_level(resources, name, unit, total);
        kubernetes::host_resource own = host_from(resources, name, unit);
        if (own.request >= 0) own.request = total;
        return own;
    };
    const host_amount overhead = host_amounts(spec.at("overhead"), rounding::up);
    const pod_level_resources own{.cpu = own_amounts("cpu", quantity_unit::thousandth, needs.cpu_milli),
                                  .memory = own_amounts("memory", quantity_unit::one, needs.memory_bytes),
                                  .overhead_cpu_milli = overhead.cpu_milli,
                                  .overhead_memory_bytes = overhead.memory_bytes};
    if (own != pod_level_resources{}) target.pod_level = std::make_shared<const pod_level_resources>(own);
    needs.cpu_milli = with_pod_level(own.cpu, needs.cpu_milli, overhead.cpu_milli);
    needs.memory_bytes = with_pod_level(own.memory, needs.memory_bytes, overhead.memory_bytes);
}

/// The pod's claims, of which its containers name some.
std::vector<std::string> claims_of(const object_cursor& spec) {
    std::vector<std::string> names;
    for (const auto& claim : spec.at("resourceClaims").items()) names.push_back(claim.at("name").text());
    const std::set<std::string> known{names.begin(), names.end()};
    for (const char* const list : {"initContainers", "containers"}) {
        for (const object_cursor& container : spec.at(list).items()) {
            for (const object_cursor& claim : container.at("resources").at("claims").items()) {
                const auto name = claim.at("name");
                if (known.contains(name.text())) continue;
                name.fail(error_code::unknown_name, name.text(), "a name that spec.resourceClaims has");
            }
        }
    }
    return names;
}

/// Containers that are put into a pod that runs. They have no resources of their own.
void check_ephemeral_containers(const object_cursor& spec) {
    for (const object_cursor& container : spec.at("ephemeralContainers").items()) {
        const auto resources = container.at("resources");
        for (const char* const list : {"limits", "requests"}) {
            for (const auto& [name, amount] : resources.at(list).entries()) {
                amount.fail(error_code::unsupported, amount.scalar(),
                            "no " + name + ": Kubernetes refuses resources of ephemeral containers");
            }
        }
    }
}

/// The two classes that every cluster has are known by their names (pkg/apis/scheduling). What the API server would
/// refuse of a priority says nothing of devices and is told nowhere.
void read_priority(const object_cursor& spec, manifest& target) {
    constexpr std::int64_t system_critical = 2'000'000'000;
    target.priority_class = spec.at("priorityClassName").scalar();
    target.never_preempts = spec.at("preemptionPolicy").scalar() == "Never";
    if (target.priority_class == "system-node-critical") target.priority = system_critical + 1'000;
    if (target.priority_class == "system-cluster-critical") target.priority = system_critical;
    const auto written = spec.at("priority");
    const auto number = written.present() ? written.value()->integer() : std::nullopt;
    if (number) target.priority = *number;
}

} // namespace

void read_pod_spec(const object_cursor& spec, manifest& target) {
    const auto containers = spec.at("containers");
    if (!containers.present()) {
        containers.fail(error_code::missing, "", "a list of containers");
    } else if (containers.items().empty()) {
        containers.fail(error_code::missing, "", "at least one container");
    }
    read_containers(spec, *target.pod);
    host_amount needs = host_at_once(*target.pod);
    check_container_names(spec);
    check_ephemeral_containers(spec);
    target.pod->claims = claims_of(spec);
    read_pod_level(spec, needs, target);
    target.cpu = milli_cpu{host_total(containers, needs.cpu_milli, quantity_unit::thousandth)};
    target.memory = bytes{host_total(containers, needs.memory_bytes, quantity_unit::one)};
    target.scheduler_name = spec.at("schedulerName").text();
    target.node_name = spec.at("nodeName").text();
    target.has_deadline = spec.at("activeDeadlineSeconds").present();
    read_priority(spec, target);
    read_host_rules(spec, target);
}

void read_template(const object_cursor& from, manifest& target) {
    target.pod.emplace();
    target.pod->name = target.name;
    target.pod->ns = target.ns;
    target.pod->labels = from.at("metadata").at("labels").texts();
    target.pod->annotations = from.at("metadata").at("annotations").texts();
    read_pod_spec(from.at("spec"), target);
}

void read_node_status(const object_cursor& status, manifest& target) {
    target.node->allocatable = status.at("allocatable").scalars();
    target.node->capacity = status.at("capacity").scalars();
    const host_amount has = host_amounts(status.at("allocatable"), rounding::down);
    target.cpu = milli_cpu{has.cpu_milli};
    target.memory = bytes{has.memory_bytes};
}

void read_controller(const object_cursor& metadata, manifest& target) {
    for (const object_cursor& owner : metadata.at("ownerReferences").items()) {
        if (!owner.at("controller").truth(false)) continue;
        target.controller = owner.at("kind").text();
        target.controller_name = owner.at("name").text();
        return;
    }
}

void read_maker(const object_cursor& object, manifest& target) {
    read_controller(object.at("metadata"), target);
    target.queue = object.at("metadata").at("labels").at(local_queue_label).text();
    if (target.kind != "Job") return;
    if (object.at("spec").at("suspend").truth(false)) target.phase = "Suspended";
    target.completions = object.at("spec").at("completions").integer(0, replicas_max, 0);
    target.succeeded = object.at("status").at("succeeded").integer(0, replicas_max, 0);
    for (const object_cursor& condition : object.at("status").at("conditions").items()) {
        const std::string type = condition.at("type").text();
        const bool is_end = type == "Complete" || type == "Failed";
        if (is_end && condition.at("status").text() == "True") target.phase = type;
    }
}

void read_readiness(const object_cursor& status, manifest& target) {
    for (const object_cursor& condition : status.at("conditions").items()) {
        if (condition.at("type").text() == "Ready") target.is_unready = condition.at("status").text() != "True";
    }
}

} // namespace vgpualloc::kube
