// ResourceQuotas. Source: pkg/quota/v1/evaluator/core/pods.go and the admission plugin ResourceQuota.
#include "vgpualloc/kube/resource_quotas.hpp"

#include <algorithm>
#include <string_view>

#include "pod_amounts.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/priority_classes.hpp"

namespace vgpualloc::kube {

namespace {

constexpr std::string_view request_prefix = "requests.";
constexpr std::string_view limit_prefix = "limits.";

bool is_pod_count(const std::string& limited) { return limited == "pods" || limited == "count/pods"; }
bool is_limit(const std::string& limited) { return limited.starts_with(limit_prefix); }

/// The resource of containers that a quota limits: "cpu" of "requests.cpu".
std::string resource_of(const std::string& limited) {
    for (const std::string_view prefix : {request_prefix, limit_prefix}) {
        if (limited.starts_with(prefix)) return limited.substr(prefix.size());
    }
    return limited;
}

/// Whether containers have to say what they need of it.
bool has_to_be_said(const std::string& limited) {
    const std::string resource = resource_of(limited);
    return resource == "cpu" || resource == "memory";
}

/// Whether a pod counts for what is limited, and nothing here reads how much of it.
bool is_not_read(const std::string& limited) {
    const std::string resource = resource_of(limited);
    return resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

/// What one pod counts; none: nothing. Without a prefix, only Kubernetes' own resources are limited.
std::optional<std::int64_t> usage_of(const manifest& pod, const std::string& limited) {
    if (is_pod_count(limited)) return 1;
    const std::string resource = resource_of(limited);
    const bool is_own = resource == "cpu" || resource == "memory";
    if (is_limit(limited)) return is_own ? limit_of(pod, resource) : std::nullopt;
    if (!is_own && !limited.starts_with(request_prefix)) return std::nullopt;
    return request_of(pod, resource);
}

/// Whether the pod says something of itself: then no container has to.
bool says_something(const pod_level_resources* of_pod) {
    if (of_pod == nullptr) return false;
    const auto is_said = [](const kubernetes::host_resource& of) { return of.request >= 0 || of.limit >= 0; };
    return is_said(of_pod->cpu) || is_said(of_pod->memory);
}

/// The first container that does not say what a quota has to know.
std::optional<std::string> silent_container(const manifest& pod, const std::string& limited) {
    if (says_something(pod.pod_level.get())) return std::nullopt;
    const std::string resource = resource_of(limited);
    for (const auto* const list : {&pod.pod->containers, &pod.pod->init_containers}) {
        for (const kubernetes::container& container : *list) {
            const auto amount = is_limit(limited) ? limit_of(container, resource) : request_of(container, resource);
            if (!amount) return container.name;
        }
    }
    return std::nullopt;
}

/// Quality of service class BestEffort: no container, and not the pod, asks for CPU or memory or is limited in them.
bool is_best_effort(const manifest& pod) {
    const auto is_none = [](const auto& one) {
        const auto amount = [](const kubernetes::host_resource& of) { return std::max(of.request, of.limit); };
        return amount(one.cpu) <= 0 && amount(one.memory) <= 0;
    };
    return (!pod.pod_level || is_none(*pod.pod_level)) && std::ranges::all_of(pod.pod->containers, is_none) &&
           std::ranges::all_of(pod.pod->init_containers, is_none);
}

std::string amount_text(const std::string& limited, std::int64_t amount) {
    return amount_words(is_pod_count(limited) ? limited : resource_of(limited), amount);
}

/// A quantity of what is limited; none: it is no quantity.
std::optional<std::int64_t> amount_in(const std::string& limited, const std::string& quantity,
                                      kubernetes::rounding rest) {
    return amount_from(is_pod_count(limited) ? limited : resource_of(limited), quantity, rest);
}

} // namespace

std::string holder_of(const quota_shortage& shortage) {
    return shortage.queue.empty() ? "quota " + shortage.quota : shortage.queue;
}

std::string words_of(const quota_shortage& shortage) {
    if (!shortage.queue.empty()) return shortage.because;
    if (!shortage.container.empty()) {
        return "container " + shortage.container + " says no " + shortage.resource + ", which quota " + shortage.quota +
               " demands";
    }
    return shortage.resource + " " + shortage.used + " of " + shortage.hard + " used, " + shortage.needed +
           " more needed";
}

error error_of(const quota_shortage& shortage, const manifest& pod) {
    return bad_value(error_code::unsupported, "", words_of(shortage),
                     "a pod that " + (shortage.queue.empty() ? "ResourceQuota " + shortage.quota : shortage.queue) +
                         " admits")
        .at(pod.place);
}

resource_quotas::resource_quotas(std::span<const manifest> objects, std::span<const manifest> more)
    : objects_{objects}, default_class_{priority_classes{objects, more}.default_class()} {
    for (const manifest& object : objects) {
        if (object.kind != "ResourceQuota") continue;
        quotas_[namespace_of(object)].push_back({.object = &object, .hard = object.quota_hard});
    }
    for (auto& [ns, of_namespace] : quotas_) {
        std::ranges::sort(of_namespace, {}, [](const known_quota& quota) -> const auto& { return quota.object->name; });
    }
}

void resource_quotas::admit(const manifest& object, quota_admission& admission) {
    if (admission.pods == 0) return;
    const std::vector<known_quota*> counting = quotas_of(object);
    for (known_quota* const quota : counting) limit_by(*quota, object, admission);
    for (known_quota* const quota : counting) {
        for (auto& [limited, used] : quota->used) used += admission.pods * usage_of(object, limited).value_or(0);
    }
}

std::optional<quota_shortage> resource_quotas::shortage_of(const manifest& object) {
    quota_admission one{.pods = 1};
    for (known_quota* const quota : quotas_of(object)) {
        limit_by(*quota, object, one);
        if (one.short_of) return std::move(one.short_of);
    }
    return std::nullopt;
}

std::optional<quota_shortage> resource_quotas::shortage_of_replacement(const manifest& pod,
                                                                       const manifest& replacement) {
    std::vector<std::pair<known_quota*, std::map<std::string, std::int64_t>>> before;
    for (known_quota* const quota : quotas_of(pod)) {
        for (const auto& [limited, hard] : quota->hard) static_cast<void>(used_of(*quota, limited)); // counted once
        before.emplace_back(quota, quota->used);
    }
    forget(pod);
    auto result = shortage_of(replacement);
    for (auto& [quota, used] : before) quota->used = std::move(used);
    return result;
}

std::string resource_quotas::used_words(const manifest& quota, const std::string& limited) {
    if (const auto written = quota.quota_used.find(limited); written != quota.quota_used.end()) return written->second;
    known_quota* const known = known_as(namespace_of(quota), quota.name);
    return known == nullptr ? std::string{} : amount_text(limited, used_of(*known, limited));
}

std::string resource_quotas::counted_words(const quota_shortage& shortage, const manifest& pod) {
    known_quota* const quota = known_as(namespace_of(pod), shortage.quota);
    if (quota == nullptr || !counts(*quota, pod)) return {};
    const std::int64_t amount = usage_of(pod, shortage.resource).value_or(0);
    return amount == 0 ? std::string{} : amount_text(shortage.resource, amount);
}

std::string resource_quotas::raise(const quota_shortage& shortage, const manifest& object) {
    known_quota* const quota = known_as(namespace_of(object), shortage.quota);
    const auto needed = usage_of(object, shortage.resource);
    if (quota == nullptr || !needed) return {};
    return quota->hard[shortage.resource] =
               amount_text(shortage.resource, used_of(*quota, shortage.resource) + *needed);
}

void resource_quotas::forget(const manifest& pod) {
    for (known_quota* const quota : quotas_of(pod)) {
        for (const auto& [limited, hard] : quota->hard) {
            const std::int64_t used = used_of(*quota, limited);
            quota->used[limited] = std::max<std::int64_t>(used - usage_of(pod, limited).value_or(0), 0);
        }
    }
}

std::vector<resource_quotas::known_quota*> resource_quotas::quotas_of(const manifest& pod) {
    std::vector<known_quota*> result;
    const auto of_namespace = quotas_.find(namespace_of(pod));
    if (of_namespace == quotas_.end()) return result;
    for (known_quota& quota : of_namespace->second) {
        if (counts(quota, pod)) result.push_back(&quota);
    }
    return result;
}

resource_quotas::known_quota* resource_quotas::known_as(const std::string& ns, const std::string& name) {
    const auto of_namespace = quotas_.find(ns);
    if (of_namespace == quotas_.end()) return nullptr;
    const auto quota =
        std::ranges::find_if(of_namespace->second, [&](const auto& of) { return of.object->name == name; });
    return quota == of_namespace->second.end() ? nullptr : &*quota;
}

void resource_quotas::limit_by(known_quota& quota, const manifest& object, quota_admission& admission) {
    for (const auto& [limited, hard] : quota.hard) {
        if (!has_to_be_said(limited)) continue;
        const auto silent = silent_container(object, limited);
        if (!silent) continue;
        admission.pods = 0;
        admission.short_of =
            quota_shortage{.quota = quota.object->name, .resource = limited, .hard = hard, .container = *silent};
        return;
    }
    for (const auto& [limited, hard] : quota.hard) {
        if (is_not_read(limited)) {
            not_looked_at_.insert(limited + " of ResourceQuota " + quota.object->name);
            continue;
        }
        const auto needed = usage_of(object, limited);
        if (!needed || *needed == 0) continue;
        const auto most = amount_in(limited, hard, kubernetes::rounding::down);
        if (!most) {
            not_looked_at_.insert(limited + " of ResourceQuota " + quota.object->name);
            continue;
        }
        const std::int64_t used = used_of(quota, limited);
        const std::int64_t fitting = std::max<std::int64_t>(*most - used, 0) / *needed;
        if (fitting >= admission.pods) continue;
        admission.pods = fitting;
        admission.short_of = quota_shortage{.quota = quota.object->name,
                                            .resource = limited,
                                            .used = amount_text(limited, used + fitting * *needed),
                                            .hard = hard,
                                            .needed = amount_text(limited, *needed)};
    }
}

std::int64_t resource_quotas::used_of(known_quota& quota, const std::string& resource) {
    const auto [known, is_new] = quota.used.try_emplace(resource);
    if (!is_new) return known->second;
    if (const auto written = quota.object->quota_used.find(resource); written != quota.object->quota_used.end()) {
        const auto amount = amount_in(resource, written->second, kubernetes::rounding::up);
        if (amount) return known->second = *amount;
    }
    for (const manifest* const pod : pods_in(namespace_of(*quota.object))) {
        if (has_ended(*pod) && resource != "count/pods") continue;
        if (counts(quota, *pod)) known->second += usage_of(*pod, resource).value_or(0);
    }
    return known->second;
}

const std::vector<const manifest*>& resource_quotas::pods_in(const std::string& ns) {
    if (!pods_) {
        pods_.emplace();
        for (const manifest& object : objects_) {
            if (object.kind == "Pod" && object.pod) (*pods_)[namespace_of(object)].push_back(&object);
        }
    }
    return (*pods_)[ns];
}

bool resource_quotas::counts(const known_quota& quota, const manifest& pod) {
    if (!quota.object->policy) return true;
    for (const quota_scope& scope : quota.object->policy->scopes) {
        const auto is_in = is_in_scope(scope, pod);
        if (!is_in) {
            not_looked_at_.insert("ResourceQuota " + quota.object->name + ", whose scope is " + scope.name);
        }
        if (!is_in.value_or(false)) return false;
    }
    return true;
}

std::optional<bool> resource_quotas::is_in_scope(const quota_scope& scope, const manifest& pod) const {
    if (scope.name == "BestEffort") return is_best_effort(pod);
    if (scope.name == "NotBestEffort") return !is_best_effort(pod);
    if (scope.name == "Terminating") return pod.has_deadline;
    if (scope.name == "NotTerminating") return !pod.has_deadline;
    if (scope.name == "VolumeAttributesClass") return false; // of claims, not of pods
    if (scope.name != "PriorityClass") return std::nullopt;
    const std::string& own = pod.priority_class.empty() ? default_class_ : pod.priority_class;
    return is_met({.key = scope.name, .op = scope.op, .values = scope.values}, own.empty() ? nullptr : &own);
}

std::vector<std::string> resource_quotas::not_looked_at() const {
    return {not_looked_at_.begin(), not_looked_at_.end()};
}

} // namespace vgpualloc::kube
