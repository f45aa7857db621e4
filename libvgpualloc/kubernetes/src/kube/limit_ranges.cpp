// LimitRanges.
#include "vgpualloc/kube/limit_ranges.hpp"
#include "vgpualloc/dialect/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "pod_amounts.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/policies.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::kube {

namespace {

using kubernetes::rounding;

bool is_read(const std::string& resource) {
    return resource == "cpu" || resource == "memory" || resource.find('/') != std::string::npos;
}

/// What a pod or one of its containers asks for of a resource, and its limit.
struct asked_and_limit {
    std::optional<std::int64_t> asked{};
    std::optional<std::int64_t> limit{};
};

asked_and_limit request_and_limit_of(const kubernetes::container& container, const std::string& resource) {
    return {.asked = request_of(container, resource), .limit = limit_of(container, resource)};
}

/// Without the overhead, which LimitRanger does not count.
asked_and_limit request_and_limit_of(const manifest& object, const std::string& resource) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    asked_and_limit result{
        .asked = amount_at_once(
            *object.pod, [&](const auto& container) { return request_of(container, resource); }, most),
        .limit =
            amount_at_once(*object.pod, [&](const auto& container) { return limit_of(container, resource); }, most)};
    if (!object.pod_level || (resource != "cpu" && resource != "memory")) return result;
    const auto& own = resource == "cpu" ? object.pod_level->cpu : object.pod_level->memory;
    if (own.request >= 0) result.asked = own.request;
    if (own.limit >= 0) result.limit = own.limit;
    return result;
}

void set(kubernetes::container& container, const std::string& resource, std::int64_t amount, bool is_limit) {
    if (resource != "cpu" && resource != "memory") {
        (is_limit ? container.limits : container.requests).emplace(resource, amount);
        return;
    }
    kubernetes::host_resource& host = resource == "cpu" ? container.cpu : container.memory;
    (is_limit ? host.limit : host.request) = amount;
}

/// The defaults of one range for a container that says nothing; of several entries the last one counts.
void fill_in(const cluster_policy& range, kubernetes::container& container) {
    kubernetes::text_map limits;
    kubernetes::text_map requests;
    for (const limit_range_item& item : range.limits) {
        if (item.type != "Container") continue;
        for (const auto& [resource, amount] : item.default_limits) limits[resource] = amount;
        for (const auto& [resource, amount] : item.default_requests) requests[resource] = amount;
    }
    for (const bool is_limit : {true, false}) {
        for (const auto& [resource, quantity] : is_limit ? limits : requests) {
            const auto amount = is_read(resource) ? amount_from(resource, quantity, rounding::up) : std::nullopt;
            const auto known = is_limit ? limit_of(container, resource) : request_of(container, resource);
            if (amount && !known) set(container, resource, *amount, is_limit);
        }
    }
}

/// "maximum cpu usage per Container is 1, but limit is 2"; empty: within the bounds of a resource.
std::string why_below(const std::string& type, const std::string& resource, const std::string& bound,
                      const asked_and_limit& has) {
    const auto least = amount_from(resource, bound, rounding::up);
    if (!least) return {};
    const std::string rule = "minimum " + resource + " usage per " + type + " is " + bound;
    if (!has.asked) return rule + ". No request is specified";
    if (*has.asked < *least) return rule + ", but request is " + amount_words(resource, *has.asked);
    if (has.limit && *has.limit < *least) return rule + ", but limit is " + amount_words(resource, *has.limit);
    return {};
}

std::string why_above(const std::string& type, const std::string& resource, const std::string& bound,
                      const asked_and_limit& has) {
    const auto most = amount_from(resource, bound, rounding::down);
    if (!most) return {};
    const std::string rule = "maximum " + resource + " usage per " + type + " is " + bound;
    if (!has.limit) return rule + ". No limit is specified";
    if (*has.limit > *most) return rule + ", but limit is " + amount_words(resource, *has.limit);
    if (has.asked && *has.asked > *most) return rule + ", but request is " + amount_words(resource, *has.asked);
    return {};
}

/// "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000".
std::string why_apart(const std::string& type, const std::string& resource, const std::string& bound,
                      const asked_and_limit& has) {
    constexpr double milli = 1000;
    const auto most = kubernetes::parse_quantity(bound, kubernetes::quantity_unit::thousandth, rounding::up);
    if (!most) return {};
    const std::string rule = resource + " max limit to request ratio per " + type + " is " + bound + ", but ";
    if (has.asked.value_or(0) == 0) return rule + "no request is specified or request is 0";
    if (has.limit.value_or(0) == 0) return rule + "no limit is specified or limit is 0";
    const double ratio = static_cast<double>(*has.limit) / static_cast<double>(*has.asked);
    if (ratio * milli <= static_cast<double>(*most)) return {};
    constexpr int digits = 6; // as %f
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio, std::chars_format::fixed, digits);
    return rule + "provided ratio is " + std::string{text.data(), end.ptr};
}

template <class Owner>
std::string why_outside(const limit_range_item& item, const Owner& owner) {
    for (const auto& [resource, bound] : item.min) {
        std::string why =
            is_read(resource) ? why_below(item.type, resource, bound, request_and_limit_of(owner, resource)) : "";
        if (!why.empty()) return why;
    }
    for (const auto& [resource, bound] : item.max) {
        std::string why =
            is_read(resource) ? why_above(item.type, resource, bound, request_and_limit_of(owner, resource)) : "";
        if (!why.empty()) return why;
    }
    for (const auto& [resource, bound] : item.max_ratio) {
        std::string why =
            is_read(resource) ? why_apart(item.type, resource, bound, request_and_limit_of(owner, resource)) : "";
        if (!why.empty()) return why;
    }
    return {};
}

std::string why_outside(const limit_range_item& item, const manifest& object) {
    if (item.type == "Pod") return why_outside<manifest>(item, object);
    if (item.type != "Container") return {};
    for (const auto* const list : {&object.pod->containers, &object.pod->init_containers}) {
        for (const kubernetes::container& container : *list) {
            std::string why = why_outside<kubernetes::container>(item, container);
            if (!why.empty()) return why;
        }
    }
    return {};
}

/// The API server refuses a container whose request is above the limit that a default gave it, or differs from it, or
/// has none, where both have to be equal.
std::string why_contradictory(const kubernetes::pod& pod) {
    for (const auto* const list : {&pod.containers, &pod.init_containers}) {
        for (const kubernetes::container& container : *list) {
            for (const char* const resource : {"cpu", "memory"}) {
                const auto [request, limit] = request_and_limit_of(container, resource);
                if (!request || !limit || *request <= *limit) continue;
                return "container " + container.name + " asks for " + amount_words(resource, *request) + " of " +
                       resource + ", above its limit by default, " + amount_words(resource, *limit);
            }
            for (const auto& [resource, limit] : container.limits) {
                const auto request = request_of(container, resource);
                if (request && *request == limit) continue;
                return "container " + container.name + " has another request than limit of " + resource + " by default";
            }
            for (const auto& [resource, request] : container.requests) {
                if (limit_of(container, resource)) continue;
                return "container " + container.name + " has a request of " + resource + " by default, and no limit";
            }
        }
    }
    return {};
}

/// Nor a pod whose containers have more, by default, than the pod says of itself.
std::string why_too_small(const manifest& object) {
    if (!object.pod_level) return {};
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    for (const std::string resource : {"cpu", "memory"}) {
        const auto& own = resource == "cpu" ? object.pod_level->cpu : object.pod_level->memory;
        const auto asked =
            amount_at_once(*object.pod, [&](const auto& container) { return request_of(container, resource); }, most);
        if (own.request >= 0 && asked.value_or(0) > own.request) {
            return "the pod asks for " + amount_words(resource, own.request) + " of " + resource +
                   ", less than its containers by default, " + amount_words(resource, *asked);
        }
        for (const auto* const list : {&object.pod->containers, &object.pod->init_containers}) {
            for (const kubernetes::container& container : *list) {
                const auto limit = limit_of(container, resource);
                if (own.limit < 0 || limit.value_or(0) <= own.limit) continue;
                return "container " + container.name + " has limit " + amount_words(resource, *limit) + " of " +
                       resource + " by default, above that of the pod, " + amount_words(resource, own.limit);
            }
        }
    }
    return {};
}

} // namespace

limit_ranges::limit_ranges(std::span<const manifest> objects) {
    for (const manifest& object : objects) {
        if (object.kind == "LimitRange" && object.policy) ranges_[namespace_of(object)].push_back(&object);
    }
    for (auto& [ns, of_namespace] : ranges_) std::ranges::sort(of_namespace, {}, &manifest::name);
}

std::optional<error> limit_ranges::admit(manifest& object) {
    const auto of_namespace = ranges_.find(namespace_of(object));
    if (of_namespace == ranges_.end()) return std::nullopt;
    const auto refusal = [&object](const std::string& why, const std::string& admitter) {
        return error{.code = error_code::out_of_range, .expected = "a pod that " + admitter + " admits", .problem = why}
            .at(object.place);
    };
    for (const manifest* const range : of_namespace->second) {
        for (auto* const list : {&object.pod->containers, &object.pod->init_containers}) {
            for (kubernetes::container& container : *list) fill_in(*range->policy, container);
        }
    }
    std::string contradiction = why_contradictory(*object.pod);
    if (contradiction.empty()) contradiction = why_too_small(object);
    if (!contradiction.empty()) return refusal(contradiction, "the API server");
    object.cpu = std::min(milli_cpu{request_of(object, "cpu").value_or(0)}, host_cpu_max);
    object.memory = std::min(bytes{request_of(object, "memory").value_or(0)}, host_memory_max);
    for (const manifest* const range : of_namespace->second) {
        for (const limit_range_item& item : range->policy->limits) {
            if (item.type == "PersistentVolumeClaim") continue;
            for (const auto* const bounds : {&item.min, &item.max, &item.max_ratio}) {
                for (const auto& [resource, bound] : *bounds) {
                    if (!is_read(resource)) not_looked_at_.insert(resource + " of LimitRange " + range->name);
                }
            }
            std::string why = why_outside(item, object);
            if (!why.empty()) return refusal(why, "LimitRange " + range->name);
        }
    }
    return std::nullopt;
}

std::vector<std::string> limit_ranges::not_looked_at() const { return {not_looked_at_.begin(), not_looked_at_.end()}; }

} // namespace vgpualloc::kube
