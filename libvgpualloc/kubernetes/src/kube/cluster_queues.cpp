// Quotas of Kueue.
#include "vgpualloc/kube/cluster_queues.hpp"

#include <algorithm>

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

/// What of a quota no other queue can have.
std::int64_t guaranteed(std::int64_t nominal, const std::optional<std::int64_t>& lending) {
    return lending ? std::max<std::int64_t>(nominal - *lending, 0) : 0;
}

std::int64_t amount_in(const std::map<std::pair<std::string, std::string>, std::int64_t>& amounts,
                       const std::pair<std::string, std::string>& name) {
    const auto entry = amounts.find(name);
    return entry == amounts.end() ? 0 : entry->second;
}

} // namespace

cluster_queues::cluster_queues(std::span<const manifest> objects) {
    for (const manifest& object : objects) {
        if (!object.queueing) continue;
        if (object.kind == "LocalQueue") local_.emplace(full_name_of(object), &object);
        if (object.kind == "ClusterQueue") queues_.emplace(object.name, read(object));
    }
    for (const auto& [name, of] : queues_) {
        for (const flavor_amounts& flavor : of.object->queueing->reserved) {
            for (const auto& [resource, text] : flavor.amounts) {
                if (const auto amount = amount_of(resource, text)) used_[name][{flavor.flavor, resource}] = *amount;
            }
        }
    }
}

cluster_queues::queue cluster_queues::read(const manifest& object) {
    const queue_facts& facts = *object.queueing;
    queue result{.object = &object};
    for (const flavor_amounts& flavor : facts.quota) {
        std::vector<std::string> resources;
        for (const auto& [resource, text] : flavor.amounts) {
            resources.push_back(resource);
            result.quotas[{flavor.flavor, resource}] = {
                .nominal = written_amount(facts.quota, flavor.flavor, resource).value_or(0),
                .borrowing = written_amount(facts.borrowing_limits, flavor.flavor, resource),
                .lending = written_amount(facts.lending_limits, flavor.flavor, resource)};
        }
        // A resource is in one group, whose flavors all have the same.
        const auto group = std::ranges::find(result.groups, resources, &resource_group::resources);
        if (group == result.groups.end()) {
            result.groups.push_back({.resources = std::move(resources), .flavors = {flavor.flavor}});
        } else {
            group->flavors.push_back(flavor.flavor);
        }
    }
    return result;
}

std::pair<std::int64_t, std::int64_t> cluster_queues::shared(const queue& of, const quota_name& name,
                                                             const usage& used) const {
    const std::string& cohort = of.object->queueing->cohort;
    std::int64_t most = 0;
    std::int64_t taken = 0;
    for (const auto& [member_name, member] : queues_) {
        if (member.object->queueing->cohort != cohort) continue;
        const auto known = member.quotas.find(name);
        if (known == member.quotas.end()) continue;
        const std::int64_t own = guaranteed(known->second.nominal, known->second.lending);
        most += known->second.nominal - own;
        const auto of_member = used.find(member_name);
        if (of_member != used.end()) taken += std::max<std::int64_t>(amount_in(of_member->second, name) - own, 0);
    }
    return {most, taken};
}

std::int64_t cluster_queues::available(const queue& of, const quota_name& name, const usage& used) const {
    const quota& limits = of.quotas.at(name);
    const auto entry = used.find(of.object->name);
    const std::int64_t taken = entry == used.end() ? 0 : amount_in(entry->second, name);
    if (of.object->queueing->cohort.empty()) return limits.nominal - taken;
    const std::int64_t own = guaranteed(limits.nominal, limits.lending);
    const auto [most, taken_of_shared] = shared(of, name, used);
    std::int64_t from_others = most - taken_of_shared;
    if (limits.borrowing) {
        const std::int64_t taken_above = std::max<std::int64_t>(taken - own, 0);
        from_others = std::min(from_others, limits.nominal - own - taken_above + *limits.borrowing);
    }
    return std::max<std::int64_t>(own - taken, 0) + from_others;
}

std::int64_t cluster_queues::capacity(const queue& of, const quota_name& name) const {
    const quota& limits = of.quotas.at(name);
    if (of.object->queueing->cohort.empty()) return limits.nominal;
    const std::int64_t most = guaranteed(limits.nominal, limits.lending) + shared(of, name, {}).first;
    return limits.borrowing ? std::min(most, limits.nominal + *limits.borrowing) : most;
}

std::string cluster_queues::assign_group(const queue& of, const resource_group& group, const resource_amounts& requests,
                                         usage& used) const {
    const std::vector<std::string> resources = devices_first(requests);
    const auto is_asked = [&](const std::string& resource) {
        return std::ranges::find(group.resources, resource) != group.resources.end() && requests.at(resource) > 0;
    };
    const auto first_short = [&](const std::string& flavor) {
        return std::ranges::find_if(resources, [&](const std::string& resource) {
            return is_asked(resource) && requests.at(resource) > available(of, {flavor, resource}, used);
        });
    };
    for (const std::string& flavor : group.flavors) {
        if (first_short(flavor) != resources.end()) continue;
        for (const std::string& resource : resources) {
            if (is_asked(resource)) used[of.object->name][{flavor, resource}] += requests.at(resource);
        }
        return {};
    }
    const std::string& flavor = group.flavors.front();
    const std::string& resource = *first_short(flavor);
    const std::int64_t needed = requests.at(resource);
    const std::string words = " for " + resource + " in flavor " + flavor + ", ";
    if (const std::int64_t most = capacity(of, {flavor, resource}); needed > most) {
        return "insufficient quota" + words + "request > maximum capacity (" + queue_amount_words(resource, needed) +
               " > " + queue_amount_words(resource, most) + ")";
    }
    return "insufficient unused quota" + words +
           queue_amount_words(resource, needed - available(of, {flavor, resource}, used)) + " more needed";
}

std::string cluster_queues::assign(const std::string& ns, const std::string& local_queue,
                                   const std::vector<resource_amounts>& pod_sets, usage& used) const {
    const auto local = local_.find(ns + "/" + local_queue);
    if (local == local_.end()) return "LocalQueue " + local_queue + " is not among the objects";
    const queue_facts& of_local = *local->second->queueing;
    if (!of_local.stopped.empty()) return "LocalQueue " + local_queue + " is stopped (" + of_local.stopped + ")";
    const auto entry = queues_.find(of_local.queue);
    if (entry == queues_.end()) return "ClusterQueue " + of_local.queue + " is not among the objects";
    const queue& of = entry->second;
    const std::string& stopped = of.object->queueing->stopped;
    if (!stopped.empty()) return "ClusterQueue " + of_local.queue + " is stopped (" + stopped + ")";
    for (const resource_amounts& requests : pod_sets) {
        for (const std::string& resource : devices_first(requests)) {
            const auto has_it = [&](const resource_group& group) {
                return std::ranges::find(group.resources, resource) != group.resources.end();
            };
            // A queue that says nothing of the number of pods does not limit it.
            if (resource != "pods" && std::ranges::none_of(of.groups, has_it)) {
                return "resource " + resource + " unavailable in ClusterQueue";
            }
        }
        for (const resource_group& group : of.groups) {
            if (std::string words = assign_group(of, group, requests, used); !words.empty()) return words;
        }
    }
    return {};
}

std::string cluster_queues::shortage_of(const std::string& ns, const std::string& local_queue,
                                        const std::vector<resource_amounts>& pod_sets) const {
    usage used = used_;
    return assign(ns, local_queue, pod_sets, used);
}

std::string cluster_queues::take(const std::string& ns, const std::string& local_queue,
                                 const std::vector<resource_amounts>& pod_sets) {
    usage used = used_;
    std::string words = assign(ns, local_queue, pod_sets, used);
    if (words.empty()) used_ = std::move(used);
    return words;
}

std::string cluster_queues::cluster_queue_of(const std::string& ns, const std::string& local_queue) const {
    const auto local = local_.find(ns + "/" + local_queue);
    return local == local_.end() ? std::string{} : local->second->queueing->queue;
}

} // namespace vgpualloc::kube
