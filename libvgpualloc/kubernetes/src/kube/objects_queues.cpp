// Reading Kubernetes objects: what those of Kueue and Volcano say of queues.
#include <algorithm>
#include <array>

#include "objects_parts.hpp"
#include "vgpualloc/kube/queues.hpp"

namespace vgpualloc::kube {

namespace {

bool is_of(const manifest& object, std::string_view domain) {
    const std::string_view group = group_of(object.api_version);
    return group.empty() || group == domain;
}

constexpr std::int64_t queue_weight_max = 2'147'483'647; // a field of 32 bits

bool is_true(const object_cursor& condition) { return condition.at("status").text() == "True"; }

/// Whether Kueue lets the workload's pods be made, and otherwise what it says of that.
void read_admission(const object_cursor& status, queue_facts& facts) {
    bool has_quota = false;
    bool is_admitted = false;
    for (const object_cursor& condition : status.at("conditions").items()) {
        const std::string type = condition.at("type").text();
        if (type == "Finished") facts.has_ended = facts.has_ended || is_true(condition);
        if (type != "QuotaReserved" && type != "Admitted") continue;
        (type == "Admitted" ? is_admitted : has_quota) = is_true(condition);
        // Of one without quota, that it is not admitted says nothing new.
        const bool is_reason = type == "QuotaReserved" ? !has_quota : has_quota && !is_admitted;
        if (is_reason) facts.message = condition.at("message").text();
    }
    facts.has_quota = has_quota || is_admitted;
    facts.is_let_in = is_admitted;
    for (const object_cursor& check : status.at("admissionChecks").items()) {
        if (check.at("state").text() != "Ready") facts.checks_open.push_back(check.at("name").text());
    }
}

/// The pods of a Kueue Workload, as manifests that make them.
void read_pod_sets(const object_cursor& spec, manifest& target, queue_facts& facts) {
    for (const object_cursor& set : spec.at("podSets").items()) {
        manifest& pods = facts.pod_sets.emplace_back();
        pods.kind = "PodSet";
        pods.name = target.name + "/" + set.at("name").text();
        pods.ns = target.ns;
        pods.place = target.place;
        pods.replicas = set.at("count").integer(0, replicas_max, 1);
        read_template(set.at("template"), pods);
    }
}

/// Amounts of flavors; `amount` is the field that has one.
std::vector<flavor_amounts> flavors_of(const object_cursor& list, std::string_view amount) {
    std::vector<flavor_amounts> flavors;
    for (const object_cursor& flavor : list.items()) {
        flavors.push_back({.flavor = flavor.at("name").text()});
        for (const object_cursor& resource : flavor.at("resources").items()) {
            flavors.back().amounts[resource.at("name").text()] = resource.at(amount).scalar();
        }
    }
    return flavors;
}

/// Quotas of a ClusterQueue or a Cohort.
void read_quotas(const object_cursor& spec, queue_facts& facts) {
    for (const object_cursor& group : spec.at("resourceGroups").items()) {
        const auto flavors = group.at("flavors");
        const auto add_to = [&](std::vector<flavor_amounts>& list, std::string_view amount) {
            for (flavor_amounts& flavor : flavors_of(flavors, amount)) list.push_back(std::move(flavor));
        };
        add_to(facts.quota, "nominalQuota");
        add_to(facts.borrowing_limits, "borrowingLimit");
        add_to(facts.lending_limits, "lendingLimit");
    }
}

void read_stop_policy(const object_cursor& spec, queue_facts& facts) {
    facts.stopped = spec.at("stopPolicy").text();
    if (facts.stopped == "None") facts.stopped.clear();
}

/// What is reserved counts, as Kueue counts it, and where that is not said, what is used.
void read_cluster_queue(const object_cursor& object, queue_facts& facts) {
    const auto spec = object.at("spec");
    read_quotas(spec, facts);
    const auto status = object.at("status");
    const auto reserved = status.at("flavorsReservation");
    facts.reserved = flavors_of(reserved.present() ? reserved : status.at("flavorsUsage"), "total");
    facts.cohort = spec.at("cohortName").text(); // v1beta2
    if (facts.cohort.empty()) facts.cohort = spec.at("cohort").text();
    facts.namespaces = selector_from(spec.at("namespaceSelector"));
    facts.is_strict = spec.at("queueingStrategy").text() == "StrictFIFO";
    facts.avoids_borrowing = spec.at("flavorFungibility").at("whenCanBorrow").text() == "TryNextFlavor";
    read_stop_policy(spec, facts);
}

void read_flavor(const object_cursor& spec, queue_facts& facts) {
    for (auto& [label, value] : spec.at("nodeLabels").texts()) facts.of_nodes.labels.emplace_back(label, value);
    facts.for_pods.node_selector = facts.of_nodes.labels;
    facts.of_nodes.taints = taints_from(spec.at("nodeTaints"));
    facts.for_pods.tolerations = tolerations_from(spec.at("tolerations"));
}

} // namespace

void read_queue_facts(const object_cursor& object, manifest& target) {
    const auto spec = object.at("spec");
    const auto status = object.at("status");
    const auto metadata = object.at("metadata");
    queue_facts facts;
    if (target.kind == "PodGroup") {
        target.min_available = spec.at("minMember").integer(0, replicas_max, 0);
        if (!is_of(target, "scheduling.volcano.sh")) return; // no queue lets it in
        target.phase = status.at("phase").text();
        read_controller(metadata, target);
        facts.queue = spec.at("queue").text();
        if (facts.queue.empty()) facts.queue = "default";
        facts.amounts = spec.at("minResources").scalars();
        facts.has_amounts = spec.at("minResources").present();
    } else if (target.kind == "Queue" && is_of(target, "scheduling.volcano.sh")) {
        facts.amounts = spec.at("capability").scalars();
        facts.used = status.at("allocated").scalars();
        facts.guaranteed = spec.at("guarantee").at("resource").scalars();
        facts.weight = spec.at("weight").integer(0, queue_weight_max, 1);
        // Without a state nobody has looked at it yet, and then it becomes open.
        facts.stopped = status.at("state").text();
        if (facts.stopped == "Open") facts.stopped.clear();
    } else if (target.kind == "Workload" && is_of(target, "kueue.x-k8s.io")) {
        read_controller(metadata, target);
        target.created = metadata.at("creationTimestamp").text();
        for (const object_cursor& owner : metadata.at("ownerReferences").items()) {
            facts.is_of_pods = facts.is_of_pods || owner.at("kind").text() == "Pod";
        }
        facts.queue = spec.at("queueName").text();
        target.priority = spec.at("priority").integer(-priority_max, priority_max, 0);
        if (!spec.at("active").truth(true)) facts.stopped = "inactive";
        read_admission(status, facts);
        if (!facts.is_let_in && !facts.has_ended) read_pod_sets(spec, target, facts);
    } else if (target.kind == "LocalQueue" && is_of(target, "kueue.x-k8s.io")) {
        facts.queue = spec.at("clusterQueue").text();
        read_stop_policy(spec, facts);
    } else if (target.kind == "ClusterQueue" && is_of(target, "kueue.x-k8s.io")) {
        read_cluster_queue(object, facts);
    } else if (target.kind == "Cohort" && is_of(target, "kueue.x-k8s.io")) {
        read_quotas(spec, facts);
        facts.cohort = spec.at("parentName").text();
    } else if (target.kind == "ResourceFlavor" && is_of(target, "kueue.x-k8s.io")) {
        read_flavor(spec, facts);
    } else {
        return;
    }
    target.queueing = std::make_shared<const queue_facts>(std::move(facts));
}

bool is_queue_kind(std::string_view kind) {
    constexpr std::array<std::string_view, 7> kinds{"ClusterQueue", "Cohort",         "LocalQueue", "PodGroup",
                                                    "Queue",        "ResourceFlavor", "Workload"};
    return std::ranges::find(kinds, kind) != kinds.end();
}

bool same_queue_facts(const manifest& left, const manifest& right) {
    const queue_facts* const one = left.queueing.get();
    const queue_facts* const other = right.queueing.get();
    if (one == nullptr || other == nullptr) return one == other;
    const auto same_pods = [](const manifest& pods, const manifest& more) { return pods.says_the_same_as(more); };
    return one->facts() == other->facts() && std::ranges::equal(one->pod_sets, other->pod_sets, same_pods);
}

} // namespace vgpualloc::kube
