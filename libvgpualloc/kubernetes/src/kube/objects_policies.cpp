// Reading Kubernetes objects: what the API server decides by when a pod is made or evicted.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>

#include "objects_parts.hpp"
#include "vgpualloc/kube/policies.hpp"

namespace vgpualloc::kube {

namespace {

constexpr std::int64_t pods_max = std::numeric_limits<std::int32_t>::max();

quota_scope scope_from(const object_cursor& from) {
    struct operator_word {
        std::string_view word;
        label_operator op;
    };
    constexpr std::array<operator_word, 4> operators{{{"In", label_operator::in},
                                                      {"NotIn", label_operator::not_in},
                                                      {"Exists", label_operator::exists},
                                                      {"DoesNotExist", label_operator::does_not_exist}}};
    quota_scope result{.name = from.at("scopeName").text()};
    const auto written = from.at("operator");
    const std::string word = written.text();
    const auto known = std::ranges::find(operators, word, &operator_word::word);
    if (known == operators.end()) {
        written.fail(word.empty() ? error_code::missing : error_code::malformed, word,
                     "In, NotIn, Exists or DoesNotExist");
        return result;
    }
    result.op = known->op;
    for (const object_cursor& value : from.at("values").items()) result.values.push_back(value.text());
    return result;
}

/// A whole number, or a text such as "50%".
std::optional<pods_or_percent> pods_from(const object_cursor& from) {
    if (!from.present()) return std::nullopt;
    if (from.value()->kind == value_kind::number) return pods_or_percent{.amount = from.integer(0, pods_max, 0)};
    const std::string text = from.text();
    std::int64_t percent = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), percent);
    const bool is_percent = failure == std::errc{} && percent >= 0 && percent <= pods_max &&
                            std::string_view{text}.substr(static_cast<std::size_t>(end - text.data())) == "%";
    if (is_percent) return pods_or_percent{.amount = percent, .is_percent = true};
    from.fail(error_code::malformed, text, "a number of pods, or a share such as \"50%\"");
    return std::nullopt;
}

std::optional<std::int64_t> count_from(const object_cursor& from) {
    if (!from.present()) return std::nullopt;
    return from.integer(std::numeric_limits<std::int32_t>::min(), pods_max, 0);
}

void keep(cluster_policy policy, manifest& target) {
    if (policy != cluster_policy{}) target.policy = std::make_shared<const cluster_policy>(std::move(policy));
}

} // namespace

void read_quota(const object_cursor& object, manifest& target) {
    const auto spec = object.at("spec");
    target.quota_hard = spec.at("hard").scalars();
    const auto status = object.at("status");
    if (status.at("hard").present()) target.quota_hard = status.at("hard").scalars();
    target.quota_used = status.at("used").scalars();
    cluster_policy policy;
    for (const object_cursor& name : spec.at("scopes").items()) policy.scopes.push_back({.name = name.text()});
    for (const object_cursor& entry : spec.at("scopeSelector").at("matchExpressions").items()) {
        policy.scopes.push_back(scope_from(entry));
    }
    keep(std::move(policy), target);
}

void read_disruption_budget(const object_cursor& object, manifest& target) {
    const auto spec = object.at("spec");
    const auto status = object.at("status");
    disruption_budget budget{.pods = selector_from(spec.at("selector")),
                             .min_available = pods_from(spec.at("minAvailable")),
                             .max_unavailable = pods_from(spec.at("maxUnavailable")),
                             .evicts_unready = spec.at("unhealthyPodEvictionPolicy").text() == "AlwaysAllow",
                             .allowed = count_from(status.at("disruptionsAllowed")),
                             .healthy = count_from(status.at("currentHealthy")),
                             .healthy_min = count_from(status.at("desiredHealthy"))};
    keep({.budget = std::move(budget)}, target);
}

void read_limit_range(const object_cursor& object, manifest& target) {
    cluster_policy policy;
    for (const object_cursor& entry : object.at("spec").at("limits").items()) {
        limit_range_item item{.type = entry.at("type").text(),
                              .min = entry.at("min").scalars(),
                              .max = entry.at("max").scalars(),
                              .default_limits = entry.at("default").scalars(),
                              .default_requests = entry.at("defaultRequest").scalars(),
                              .max_ratio = entry.at("maxLimitRequestRatio").scalars()};
        if (item.type == "Container") { // as SetDefaults_LimitRangeItem does, in its order
            item.default_limits.insert(item.max.begin(), item.max.end());
            item.default_requests.insert(item.default_limits.begin(), item.default_limits.end());
            item.default_requests.insert(item.min.begin(), item.min.end());
        }
        policy.limits.push_back(std::move(item));
    }
    keep(std::move(policy), target);
}

void read_priority_class(const object_cursor& object, manifest& target) {
    target.priority = object.at("value").integer(-priority_max, priority_max, 0);
    target.never_preempts = object.at("preemptionPolicy").scalar() == "Never";
    keep({.is_default = object.at("globalDefault").truth(false)}, target);
}

} // namespace vgpualloc::kube
