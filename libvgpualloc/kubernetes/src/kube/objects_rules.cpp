// Reading Kubernetes objects: which nodes a pod may go to, and what of a node that is compared with. What the API
// server would refuse is a problem (pkg/apis/core/validation).
#include <algorithm>
#include <array>
#include <initializer_list>

#include "objects_parts.hpp"

namespace vgpualloc::kube {
namespace {

template <class Value>
struct word {
    std::string_view text;
    Value value;
};

constexpr std::array<word<label_operator>, 6> operators{{{"In", label_operator::in},
                                                         {"NotIn", label_operator::not_in},
                                                         {"Exists", label_operator::exists},
                                                         {"DoesNotExist", label_operator::does_not_exist},
                                                         {"Gt", label_operator::greater},
                                                         {"Lt", label_operator::less}}};
constexpr std::array<word<taint_effect>, 3> effects{{{"NoSchedule", taint_effect::no_schedule},
                                                     {"PreferNoSchedule", taint_effect::prefer_no_schedule},
                                                     {"NoExecute", taint_effect::no_execute}}};
constexpr std::array<word<bool>, 2> matching_of_values{{{"Exists", true}, {"Equal", false}}};

/// What a text stands for; a problem if it is none of `words`.
template <class Value, std::size_t Count>
std::optional<Value> value_of(const object_cursor& from, const std::array<word<Value>, Count>& words) {
    const std::string written = from.text();
    const auto known = std::ranges::find(words, written, &word<Value>::text);
    if (known != words.end()) return known->value;
    std::string list;
    for (std::size_t i = 0; i < Count; ++i) {
        list += (i == 0 ? "" : i + 1 < Count ? ", " : " or ") + std::string{words[i].text};
    }
    from.fail(from.present() ? error_code::malformed : error_code::missing, written, list);
    return std::nullopt;
}

/// A text that has to be there.
std::string required_text(const object_cursor& from, const std::string& expected_text) {
    std::string written = from.text();
    if (written.empty()) from.fail(error_code::missing, "", expected_text);
    return written;
}

/// Whether an operator has the values that it needs.
void check_values(const object_cursor& from, const label_requirement& requirement) {
    const auto& values = requirement.values;
    const std::string written = values.size() == 1 ? values.front() : std::to_string(values.size()) + " values";
    switch (requirement.op) {
    case label_operator::in:
    case label_operator::not_in:
        if (values.empty()) from.fail(error_code::missing, "", "a list of at least one value");
        break;
    case label_operator::exists:
    case label_operator::does_not_exist:
        if (!values.empty()) from.fail(error_code::malformed, written, "no values");
        break;
    case label_operator::greater:
    case label_operator::less:
        if (values.size() != 1 || !whole_number(values.front())) {
            from.fail(error_code::malformed, written, "one whole number, as a text");
        }
        break;
    }
}

} // namespace

label_requirement requirement_from(const object_cursor& from) {
    label_requirement result{.key = required_text(from.at("key"), "the name of a label")};
    const auto op = value_of(from.at("operator"), operators);
    const auto values = from.at("values");
    for (const object_cursor& value : values.items()) result.values.push_back(value.text());
    if (!op) return result;
    result.op = *op;
    check_values(values, result);
    return result;
}

namespace {

/// Of matchFields: the node's name is the only field that there is.
label_requirement name_requirement_from(const object_cursor& from) {
    label_requirement result = requirement_from(from);
    if (result.key != "metadata.name") from.at("key").fail(error_code::unsupported, result.key, "metadata.name");
    if (result.op != label_operator::in && result.op != label_operator::not_in) {
        from.at("operator").fail(error_code::unsupported, from.at("operator").text(), "In or NotIn");
    } else if (result.values.size() != 1) {
        from.at("values").fail(error_code::malformed, std::to_string(result.values.size()) + " values", "one name");
    }
    return result;
}

void read_affinity(const object_cursor& required, host_rules& rules) {
    if (!required.present()) return;
    rules.has_affinity = true;
    const auto terms = required.at("nodeSelectorTerms");
    for (const object_cursor& term : terms.items()) {
        node_selector_term& added = rules.affinity.emplace_back();
        for (const auto& entry : term.at("matchExpressions").items()) added.labels.push_back(requirement_from(entry));
        for (const auto& entry : term.at("matchFields").items()) added.names.push_back(name_requirement_from(entry));
    }
    if (rules.affinity.empty()) terms.fail(error_code::missing, "", "a list of at least one term");
}

/// tolerationSeconds says how long a pod stays that runs already, and nothing of where it may go.
std::optional<toleration> toleration_from(const object_cursor& from) {
    toleration result{.key = from.at("key").text(), .value = from.at("value").text()};
    const auto op = from.at("operator");
    const auto matching = op.present() && !op.scalar().empty() ? value_of(op, matching_of_values) : false;
    if (!matching) return std::nullopt;
    result.any_value = *matching;
    if (result.key.empty() && !result.any_value) {
        op.fail(error_code::mismatch, op.text(), "Exists, where there is no key");
        return std::nullopt;
    }
    if (result.any_value && !result.value.empty()) {
        from.at("value").fail(error_code::mismatch, result.value, "no value, where the operator is Exists");
        return std::nullopt;
    }
    const auto effect = from.at("effect");
    result.any_effect = !effect.present() || effect.scalar().empty();
    if (result.any_effect) return result;
    const auto named = value_of(effect, effects);
    if (!named) return std::nullopt;
    result.effect = *named;
    return result;
}

std::optional<taint> taint_from(const object_cursor& from) {
    taint result{.key = required_text(from.at("key"), "the taint's key"), .value = from.at("value").text()};
    const auto effect = value_of(from.at("effect"), effects);
    if (result.key.empty() || !effect) return std::nullopt;
    result.effect = *effect;
    return result;
}

/// Whether one of the lists has an entry.
bool has_entries(const object_cursor& from, std::initializer_list<std::string_view> lists) {
    return std::ranges::any_of(lists, [&](std::string_view name) { return !from.at(name).items().empty(); });
}

/// Volumes that not every node has: those of claims, and of drivers.
void name_ignored_volumes(const object_cursor& spec, std::vector<std::string>& names) {
    const auto volumes = spec.at("volumes").items();
    const bool bound_to_nodes = std::ranges::any_of(volumes, [](const object_cursor& volume) {
        return volume.at("persistentVolumeClaim").present() || volume.at("ephemeral").present() ||
               volume.at("csi").present();
    });
    if (bound_to_nodes) names.emplace_back("volumes of claims and drivers (spec.volumes)");
}

void name_ignored_ports(const object_cursor& spec, std::vector<std::string>& names) {
    const bool on_host = std::ranges::any_of(spec.at("containers").items(), [](const object_cursor& container) {
        return std::ranges::any_of(container.at("ports").items(),
                                   [](const object_cursor& port) { return port.at("hostPort").present(); });
    });
    if (on_host) names.emplace_back("host ports (spec.containers[].ports[].hostPort)");
}

/// Kubernetes counts them on every node; here nobody does.
void name_ignored_amounts(const object_cursor& spec, std::vector<std::string>& names) {
    bool has_storage = false;
    bool has_pages = false;
    for (const object_cursor& container : spec.at("containers").items()) {
        const auto resources = container.at("resources");
        for (const char* const amounts : {"requests", "limits"}) {
            for (const auto& [resource, amount] : resources.at(amounts).scalars()) {
                if (amount == "0") continue;
                has_storage = has_storage || resource == "ephemeral-storage";
                has_pages = has_pages || resource.starts_with("hugepages-");
            }
        }
    }
    if (has_storage) names.emplace_back("ephemeral storage (spec.containers[].resources)");
    if (has_pages) names.emplace_back("huge pages (spec.containers[].resources)");
}

void name_what_is_ignored(const object_cursor& spec, manifest& target) {
    constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const auto affinity = spec.at("affinity");
    auto& names = target.rules_ignored;
    if (has_entries(affinity.at("nodeAffinity"), {preferred})) {
        names.push_back("preferred node affinity (spec.affinity.nodeAffinity." + std::string{preferred} + ")");
    }
    if (has_entries(spec, {"resourceClaims"})) names.emplace_back("resource claims (spec.resourceClaims)");
    for (const object_cursor& gate : spec.at("schedulingGates").items()) {
        const std::string name = gate.at("name").present() ? gate.at("name").text() : std::string{};
        target.gates.push_back(name.empty() ? "gate" : name);
    }
    // The API server writes the number of the class, and 0 where nobody asks for one: 0 is as without a class.
    const std::string priority = spec.at("priority").scalar();
    const bool has_class = !spec.at("priorityClassName").scalar().empty();
    if (priority.empty() ? has_class : priority != "0") {
        names.emplace_back("priority (spec.priorityClassName)");
    }
    if (spec.at("runtimeClassName").present()) names.emplace_back("the runtime class (spec.runtimeClassName)");
    name_ignored_volumes(spec, names);
    name_ignored_ports(spec, names);
    name_ignored_amounts(spec, names);
}

} // namespace

std::vector<taint> taints_from(const object_cursor& list) {
    std::vector<taint> result;
    for (const object_cursor& entry : list.items()) {
        if (auto repelling = taint_from(entry)) result.push_back(*std::move(repelling));
    }
    return result;
}

std::vector<toleration> tolerations_from(const object_cursor& list) {
    std::vector<toleration> result;
    for (const object_cursor& entry : list.items()) {
        if (auto tolerated = toleration_from(entry)) result.push_back(*std::move(tolerated));
    }
    return result;
}

void read_host_rules(const object_cursor& spec, manifest& target) {
    for (auto& [label, value] : spec.at("nodeSelector").texts()) target.rules.node_selector.emplace_back(label, value);
    const auto of_nodes = spec.at("affinity").at("nodeAffinity");
    read_affinity(of_nodes.at("requiredDuringSchedulingIgnoredDuringExecution"), target.rules);
    target.rules.tolerations = tolerations_from(spec.at("tolerations"));
    name_what_is_ignored(spec, target);
    read_peer_terms(spec, target);
}

// As pkg/controller/daemon/util adds them.
void tolerate_as_daemons_do(const object_cursor& spec, manifest& target) {
    const auto add = [&target](const char* key, taint_effect effect) {
        target.rules.tolerations.push_back({.key = std::string{"node.kubernetes.io/"} + key,
                                            .any_value = true,
                                            .any_effect = false,
                                            .effect = effect});
    };
    for (const char* key : {"not-ready", "unreachable"}) add(key, taint_effect::no_execute);
    for (const char* key : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) {
        add(key, taint_effect::no_schedule);
    }
    if (spec.at("hostNetwork").truth(false)) add("network-unavailable", taint_effect::no_schedule);
}

void read_host_facts(const object_cursor& node, manifest& target) {
    const auto is_of = [](const object_cursor& from, value_kind kind) {
        return !from.present() || from.value()->kind == kind;
    };
    const auto fail_closed = [&target](bool readable, const char* field) {
        if (!readable && target.host.unreadable.empty()) target.host.unreadable = field;
    };
    const auto spec = node.at("spec");
    fail_closed(is_of(spec, value_kind::map), "spec");
    const auto cordon = spec.at("unschedulable");
    fail_closed(!cordon.present() || cordon.value()->truth().has_value(), "spec.unschedulable");
    target.host.unschedulable = cordon.truth(false);
    const auto taints = spec.at("taints");
    fail_closed(is_of(taints, value_kind::list), "spec.taints");
    for (const object_cursor& entry : taints.items()) {
        auto repelling = taint_from(entry);
        fail_closed(repelling.has_value(), "spec.taints");
        if (repelling) target.host.taints.push_back(*std::move(repelling));
    }
    enum class readiness : std::uint8_t { yes, no, not_known };
    constexpr std::array<word<readiness>, 3> states{
        {{"True", readiness::yes}, {"False", readiness::no}, {"Unknown", readiness::not_known}}};
    const auto conditions = node.at("status").at("conditions");
    fail_closed(is_of(node.at("status"), value_kind::map) && is_of(conditions, value_kind::list), "status.conditions");
    for (const object_cursor& condition : conditions.items()) {
        if (condition.at("type").text() != "Ready") continue;
        const auto state = value_of(condition.at("status"), states);
        fail_closed(state.has_value(), "condition Ready");
        target.host.ready = state == readiness::yes;
        target.host.unreachable = state == readiness::not_known;
    }
}

} // namespace vgpualloc::kube
