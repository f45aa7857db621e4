// Quotas of Kueue.
#include "vgpualloc/kube/cluster_queues.hpp"

#include <algorithm>
#include <tuple>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

namespace {

/// What is written for a resource of a flavor; none: nothing, or no amount.
std::optional<std::int64_t> written_amount(const std::vector<flavor_amounts>& flavors, const std::string& flavor,
                                           const std::string& resource) {
    const auto entry = std::ranges::find(flavors, flavor, &flavor_amounts::flavor);
    if (entry == flavors.end()) return std::nullopt;
    const auto written = entry->amounts.find(resource);
    if (written == entry->amounts.end() || written->second.empty()) return std::nullopt;
    const auto amount = amount_of(resource, written->second);
    return amount ? std::optional{*amount} : std::nullopt;
}

quota_tree::quotas quotas_of(const queue_facts& facts) {
    quota_tree::quotas result;
    for (const flavor_amounts& flavor : facts.quota) {
        for (const auto& [resource, text] : flavor.amounts) {
            result[{flavor.flavor, resource}] = {
                .nominal = written_amount(facts.quota, flavor.flavor, resource).value_or(0),
                .borrowing = written_amount(facts.borrowing_limits, flavor.flavor, resource),
                .lending = written_amount(facts.lending_limits, flavor.flavor, resource)};
        }
    }
    return result;
}

/// The rules with what they say of these labels alone. A term of which nothing is left matches every flavor.
host_rules with_labels(const host_rules& rules, const std::set<std::string>& labels) {
    host_rules result;
    std::ranges::copy_if(rules.node_selector, std::back_inserter(result.node_selector),
                         [&](const auto& entry) { return labels.contains(entry.first); });
    for (const node_selector_term& term : rules.affinity) {
        node_selector_term known;
        std::ranges::copy_if(term.labels, std::back_inserter(known.labels),
                             [&](const label_requirement& entry) { return labels.contains(entry.key); });
        if (known.labels.empty()) {
            result.affinity.clear();
            break;
        }
        result.affinity.push_back(std::move(known));
    }
    result.has_affinity = !result.affinity.empty();
    return result;
}

std::string taint_words(const taint& of) {
    const std::string effect = of.effect == taint_effect::no_execute ? "NoExecute" : "NoSchedule";
    return of.key + (of.value.empty() ? "" : "=" + of.value) + ":" + effect;
}

} // namespace

cluster_queues::cluster_queues(std::span<const manifest> objects) {
    for (const manifest& object : objects) {
        if (object.kind == "Namespace") namespaces_[object.name] = object.data;
        if (!object.queueing) continue;
        if (object.kind == "LocalQueue") local_.emplace(full_name_of(object), &object);
        if (object.kind == "ResourceFlavor") flavors_.emplace(object.name, &object);
    }
    read_queues(objects);
    read_usage();
    read_waiting(objects);
}

/// Cohorts that are no object have no quota of their own.
void cluster_queues::read_queues(std::span<const manifest> objects) {
    std::map<std::string, std::size_t> cohorts;
    for (const manifest& object : objects) {
        if (object.kind != "Cohort" || !object.queueing || cohorts.contains(object.name)) continue;
        cohorts[object.name] = tree_.add(quotas_of(*object.queueing));
    }
    const auto cohort_at = [&](const std::string& name) {
        const auto [entry, is_new] = cohorts.try_emplace(name, 0);
        if (is_new) entry->second = tree_.add({});
        return entry->second;
    };
    std::set<std::size_t> in_circle;
    std::set<std::string> read;
    for (const manifest& object : objects) {
        if (object.kind != "Cohort" || !object.queueing || object.queueing->cohort.empty()) continue;
        if (!read.insert(object.name).second) continue;
        const std::size_t place = cohorts.at(object.name);
        if (!tree_.put_under(place, cohort_at(object.queueing->cohort))) in_circle.insert(place);
    }
    for (const manifest& object : objects) {
        if (object.kind != "ClusterQueue" || !object.queueing || queues_.contains(object.name)) continue;
        queue& of = queues_[object.name];
        of = {
            .object = &object, .groups = groups_of(*object.queueing), .place = tree_.add(quotas_of(*object.queueing))};
        if (object.queueing->cohort.empty()) continue;
        static_cast<void>(tree_.put_under(of.place, cohort_at(object.queueing->cohort)));
        of.is_in_circle = in_circle.contains(tree_.root_of(of.place));
    }
    tree_.sum_up();
}

void cluster_queues::read_usage() {
    for (const auto& [name, of] : queues_) {
        for (const flavor_amounts& flavor : of.object->queueing->reserved) {
            for (const auto& [resource, text] : flavor.amounts) {
                if (const auto amount = amount_of(resource, text)) {
                    tree_.use(of.place, {flavor.flavor, resource}, *amount);
                }
            }
        }
    }
}

void cluster_queues::read_waiting(std::span<const manifest> objects) {
    for (const manifest& object : objects) {
        if (object.kind != "Workload" || !object.queueing || object.terminating) continue;
        const queue_facts& facts = *object.queueing;
        if (facts.has_quota || facts.has_ended || !facts.stopped.empty()) continue;
        const auto local = local_.find(namespace_of(object) + "/" + facts.queue);
        if (local == local_.end() || !local->second->queueing->stopped.empty()) continue;
        const auto entry = queues_.find(local->second->queueing->queue);
        if (entry == queues_.end() || !entry->second.object->queueing->is_strict) continue;
        if (!serves(entry->second, namespace_of(object))) continue; // Kueue puts it aside
        lines_[entry->first].push_back({object.priority, object.created, object.name});
    }
}

std::vector<cluster_queues::resource_group> cluster_queues::groups_of(const queue_facts& facts) const {
    std::vector<resource_group> groups;
    for (const flavor_amounts& flavor : facts.quota) {
        std::vector<std::string> resources;
        for (const auto& [resource, text] : flavor.amounts) resources.push_back(resource);
        // A resource is in one group, whose flavors all have the same.
        auto group = std::ranges::find(groups, resources, &resource_group::resources);
        if (group == groups.end()) group = groups.insert(group, {.resources = std::move(resources)});
        group->flavors.push_back(flavor.flavor);
        const auto known = flavors_.find(flavor.flavor);
        if (known == flavors_.end()) continue;
        for (const auto& [label, value] : known->second->queueing->of_nodes.labels) group->labels.insert(label);
    }
    return groups;
}

bool cluster_queues::serves(const queue& of, const std::string& ns) const {
    const label_selector& selector = of.object->queueing->namespaces;
    if (!selector.is_there) return false;
    const auto entry = namespaces_.find(ns);
    if (entry == namespaces_.end()) return true; // not_told() says so
    kubernetes::text_map labels = entry->second;
    labels.try_emplace("kubernetes.io/metadata.name", ns);
    return std::ranges::all_of(selector.labels, [&](const label_requirement& requirement) {
        const auto label = labels.find(requirement.key);
        return is_met(requirement, label == labels.end() ? nullptr : &label->second);
    });
}

std::string cluster_queues::closed(const queue& of) const {
    const std::string beginning = "ClusterQueue " + of.object->name;
    const queue_facts& facts = *of.object->queueing;
    if (!facts.stopped.empty()) return beginning + " is stopped (" + facts.stopped + ")";
    if (of.is_in_circle) return beginning + " is inactive: cohort " + facts.cohort + " is below itself";
    if (flavors_.empty()) return {}; // not_told() says so
    for (const flavor_amounts& flavor : facts.quota) {
        if (flavors_.contains(flavor.flavor)) continue;
        return beginning + " is inactive: ResourceFlavor " + flavor.flavor + " is not among the objects";
    }
    return {};
}

std::string cluster_queues::mismatch(const resource_group& group, const std::string& flavor,
                                     const host_rules& rules) const {
    const auto known = flavors_.find(flavor);
    if (known == flavors_.end()) return {};
    const queue_facts& facts = *known->second->queueing;
    host_rules tolerant{.tolerations = rules.tolerations};
    std::ranges::copy(facts.for_pods.tolerations, std::back_inserter(tolerant.tolerations));
    if (const taint* const repelling = repelling_taint(tolerant, facts.of_nodes)) {
        return "untolerated taint " + taint_words(*repelling) + " in flavor " + flavor;
    }
    const bool differs = why_not_labels(with_labels(rules, group.labels), facts.of_nodes, "") != rejection_code::none;
    return differs ? "flavor " + flavor + " doesn't match node affinity" : std::string{};
}

std::string cluster_queues::assign_group(const queue& of, const resource_group& group, const queued_pods& pods,
                                         quota_tree& tree, host_rules& rules) const {
    std::vector<std::string> resources = devices_first(pods.requests);
    std::erase_if(resources, [&](const std::string& resource) {
        return pods.requests.at(resource) == 0 || std::ranges::find(group.resources, resource) == group.resources.end();
    });
    if (resources.empty()) return {};
    std::string reasons;
    const std::string* best = nullptr;
    int best_height = 0;
    for (const std::string& flavor : group.flavors) {
        std::string reason = mismatch(group, flavor, pods.rules);
        int height = 0;
        for (const std::string& resource : resources) {
            if (!reason.empty()) break;
            const quota_name name{flavor, resource};
            const std::int64_t needed = pods.requests.at(resource);
            height = std::max(height, tree.borrowing_height(of.place, name, needed));
            const std::string words = " for " + resource + " in flavor " + flavor + ", ";
            if (const std::int64_t most = tree_.capacity(of.place, name); needed > most) {
                reason = "insufficient quota" + words + "request > maximum capacity (" +
                         queue_amount_words(resource, needed) + " > " + queue_amount_words(resource, most) + ")";
            } else if (const std::int64_t left = tree.available(of.place, name); needed > left) {
                reason =
                    "insufficient unused quota" + words + queue_amount_words(resource, needed - left) + " more needed";
            }
        }
        if (!reason.empty()) {
            reasons += (reasons.empty() ? "" : ", ") + reason;
            continue;
        }
        if (best == nullptr || height < best_height) std::tie(best, best_height) = std::pair{&flavor, height};
        if (height == 0 || !of.object->queueing->avoids_borrowing) break;
    }
    if (best == nullptr) return reasons;
    for (const std::string& resource : resources) tree.use(of.place, {*best, resource}, pods.requests.at(resource));
    const auto known = flavors_.find(*best);
    if (known != flavors_.end()) add_flavor_rules(known->second->queueing->for_pods, rules);
    return {};
}

std::string cluster_queues::assign_pods(const queue& of, const queued_pods& pods, quota_tree& tree,
                                        host_rules& rules) const {
    for (const std::string& resource : devices_first(pods.requests)) {
        const auto has_it = [&](const resource_group& group) {
            return std::ranges::find(group.resources, resource) != group.resources.end();
        };
        // A queue that says nothing of the number of pods does not limit it.
        if (resource != "pods" && pods.requests.at(resource) > 0 && std::ranges::none_of(of.groups, has_it)) {
            return "resource " + resource + " unavailable in ClusterQueue";
        }
    }
    for (const resource_group& group : of.groups) {
        if (std::string words = assign_group(of, group, pods, tree, rules); !words.empty()) return words;
    }
    return {};
}

queue_answer cluster_queues::assign(const queued_workload& asking, quota_tree& tree) const {
    const auto local = local_.find(asking.ns + "/" + asking.local_queue);
    if (local == local_.end()) return {.because = "LocalQueue " + asking.local_queue + " is not among the objects"};
    const queue_facts& of_local = *local->second->queueing;
    if (!of_local.stopped.empty()) {
        return {.because = "LocalQueue " + asking.local_queue + " is stopped (" + of_local.stopped + ")"};
    }
    const auto entry = queues_.find(of_local.queue);
    if (entry == queues_.end()) return {.because = "ClusterQueue " + of_local.queue + " is not among the objects"};
    const queue& of = entry->second;
    if (std::string words = closed(of); !words.empty()) return {.because = std::move(words)};
    if (!serves(of, asking.ns)) {
        return {.because =
                    "namespace " + asking.ns + " does not match the selector of ClusterQueue " + of.object->name};
    }
    if (const auto line = lines_.find(of_local.queue); line != lines_.end()) {
        const auto is_before = [&](const waiting& other) {
            if (other.priority != asking.priority) return other.priority > asking.priority;
            return asking.created.empty() ||
                   std::tie(other.created, other.name) < std::tie(asking.created, asking.name);
        };
        const auto first = std::ranges::find_if(line->second, is_before);
        if (first != line->second.end()) {
            return {.because = "workload " + first->name + " waits, and nobody overtakes in ClusterQueue " +
                               of.object->name + " (StrictFIFO)",
                    .waits_in_line = true};
        }
    }
    queue_answer result;
    for (const queued_pods& pods : asking.pod_sets) {
        if (std::string words = assign_pods(of, pods, tree, result.rules.emplace_back()); !words.empty()) {
            return {.because = std::move(words), .waits_in_line = true};
        }
    }
    return result;
}

queue_answer cluster_queues::ask(const queued_workload& asking) const {
    quota_tree tree = tree_;
    return assign(asking, tree);
}

queue_answer cluster_queues::take(const queued_workload& asking) {
    quota_tree tree = tree_;
    queue_answer result = assign(asking, tree);
    if (result.because.empty()) {
        tree_ = std::move(tree);
    } else if (result.waits_in_line) {
        const auto entry = queues_.find(cluster_queue_of(asking.ns, asking.local_queue));
        if (entry->second.object->queueing->is_strict) {
            lines_[entry->first].push_back({asking.priority, asking.created, asking.name});
        }
    }
    return result;
}

std::string cluster_queues::cluster_queue_of(const std::string& ns, const std::string& local_queue) const {
    const auto local = local_.find(ns + "/" + local_queue);
    return local == local_.end() ? std::string{} : local->second->queueing->queue;
}

std::vector<std::string> cluster_queues::not_told(const std::string& ns, const std::string& local_queue) const {
    const auto entry = queues_.find(cluster_queue_of(ns, local_queue));
    if (entry == queues_.end()) return {};
    std::vector<std::string> result;
    const queue_facts& facts = *entry->second.object->queueing;
    if (flavors_.empty() && !facts.quota.empty()) {
        result.push_back("flavors of ClusterQueue " + entry->first + ": no object is a ResourceFlavor");
    }
    if (!facts.namespaces.labels.empty() && !namespaces_.contains(ns)) {
        result.push_back("labels of namespace " + ns + ", for which ClusterQueue " + entry->first + " asks");
    }
    return result;
}

} // namespace vgpualloc::kube
