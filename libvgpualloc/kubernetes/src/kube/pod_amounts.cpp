// What a pod comes to of a resource.
#include "pod_amounts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "vgpualloc/kube/policies.hpp"

namespace vgpualloc::kube {

namespace {

constexpr std::int64_t pods_amount_max = std::numeric_limits<std::int64_t>::max() / 2;

const kubernetes::host_resource* host_of(const kubernetes::container& container, const std::string& resource) {
    if (resource == "cpu") return &container.cpu;
    return resource == "memory" ? &container.memory : nullptr;
}

std::optional<std::int64_t> unless_absent(std::int64_t amount) {
    return amount < 0 ? std::nullopt : std::optional<std::int64_t>{amount};
}

std::optional<std::int64_t> entry_of(const kubernetes::amount_map& amounts, const std::string& resource) {
    const auto entry = amounts.find(resource);
    return entry == amounts.end() ? std::nullopt : std::optional<std::int64_t>{entry->second};
}

/// What the pod says of itself of CPU or memory, and its overhead.
std::pair<kubernetes::host_resource, std::int64_t> own_of(const manifest& object, const std::string& resource) {
    if (!object.pod_level) return {};
    if (resource == "cpu") return {object.pod_level->cpu, object.pod_level->overhead_cpu_milli};
    if (resource == "memory") return {object.pod_level->memory, object.pod_level->overhead_memory_bytes};
    return {};
}

} // namespace

std::optional<std::int64_t> amount_at_once(const kubernetes::pod& pod, const container_amount& amount_of,
                                           std::int64_t most) {
    bool is_said = false;
    const auto amount = [&](const kubernetes::container& container) {
        const auto of_one = amount_of(container);
        is_said = is_said || of_one;
        return std::min(of_one.value_or(0), most);
    };
    std::int64_t running = 0;
    for (const kubernetes::container& container : pod.containers) running = std::min(running + amount(container), most);
    std::int64_t sidecars = 0;
    std::int64_t most_at_init = 0;
    for (const kubernetes::container& container : pod.init_containers) {
        const std::int64_t own = amount(container);
        if (container.stays) {
            running = std::min(running + own, most);
            sidecars = std::min(sidecars + own, most);
        }
        most_at_init = std::max(most_at_init, container.stays ? sidecars : std::min(sidecars + own, most));
    }
    if (!is_said) return std::nullopt;
    return std::max(running, most_at_init);
}

std::int64_t with_pod_level(const kubernetes::host_resource& own, std::int64_t of_containers, std::int64_t overhead) {
    return std::max(own.request, of_containers) + overhead;
}

std::optional<std::int64_t> request_of(const kubernetes::container& container, const std::string& resource) {
    const auto* const host = host_of(container, resource);
    return host != nullptr ? unless_absent(host->request) : entry_of(container.requests, resource);
}

std::optional<std::int64_t> limit_of(const kubernetes::container& container, const std::string& resource) {
    const auto* const host = host_of(container, resource);
    return host != nullptr ? unless_absent(host->limit) : entry_of(container.limits, resource);
}

std::optional<std::int64_t> request_of(const manifest& object, const std::string& resource) {
    const auto [own, overhead] = own_of(object, resource);
    const auto of_containers = amount_at_once(
        *object.pod, [&](const auto& container) { return request_of(container, resource); }, pods_amount_max);
    if (!of_containers && own.request < 0 && overhead == 0) return std::nullopt;
    return with_pod_level(own, of_containers.value_or(0), overhead);
}

std::optional<std::int64_t> limit_of(const manifest& object, const std::string& resource) {
    const auto [own, overhead] = own_of(object, resource);
    auto limit = unless_absent(own.limit);
    if (!limit) {
        limit = amount_at_once(
            *object.pod, [&](const auto& container) { return limit_of(container, resource); }, pods_amount_max);
    }
    if (!limit) return std::nullopt;
    return *limit + (*limit > 0 ? overhead : 0); // no limit stays none
}

std::string amount_words(const std::string& resource, std::int64_t amount) {
    constexpr std::int64_t milli = 1000;
    if (resource == "cpu") {
        return amount % milli == 0 ? std::to_string(amount / milli) : std::to_string(amount) + "m";
    }
    if (resource != "memory" || amount == 0) return std::to_string(amount);
    constexpr std::array<std::pair<int, const char*>, 4> units{{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}}};
    for (const auto& [bits, unit] : units) {
        if (amount % (std::int64_t{1} << bits) == 0) return std::to_string(amount >> bits) + unit;
    }
    return std::to_string(amount);
}

std::optional<std::int64_t> amount_from(const std::string& resource, const std::string& quantity,
                                        kubernetes::rounding rest) {
    const auto unit = resource == "cpu" ? kubernetes::quantity_unit::thousandth : kubernetes::quantity_unit::one;
    const auto amount = kubernetes::parse_quantity(quantity, unit, rest);
    if (!amount) return std::nullopt;
    return std::min(*amount, pods_amount_max);
}

} // namespace vgpualloc::kube
