// Queues that let added pods in.
#include "vgpualloc/kube/queue_book.hpp"

#include <algorithm>
#include <utility>

#include "objects_parts.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

namespace {

std::string workload_name(const manifest& object) { return object.name.substr(0, object.name.find('/')); }

std::string key_of(const manifest& object) {
    return object.kind + " " + namespace_of(object) + "/" + workload_name(object);
}

bool is_volcano_job(const manifest& object) { return group_of(object.api_version).starts_with("batch.volcano"); }

std::string local_queue_of(const manifest& object) {
    if (is_volcano_job(object)) return {};
    if (object.kind != "Pod") return object.queue;
    return kubernetes::value_of(object.pod->labels, local_queue_label);
}

/// How many pods like that fit into what a queue has left, and of which resource there is too little for more.
struct room_left {
    std::int64_t pods = 0;
    std::string resource{};
};

room_left room_for(const resource_amounts& needs, std::int64_t pods, const resource_amounts& capability,
                   const resource_amounts& used) {
    room_left result{.pods = pods};
    for (const std::string& resource : devices_first(needs)) {
        const auto most = capability.find(resource);
        if (most == capability.end()) continue;
        const auto taken = used.find(resource);
        const std::int64_t left = most->second - (taken == used.end() ? 0 : taken->second);
        const std::int64_t fitting = std::max<std::int64_t>(left, 0) / needs.at(resource);
        if (fitting < result.pods) result = {.pods = fitting, .resource = resource};
    }
    return result;
}

} // namespace

queue_book::queue_book(std::span<const manifest> objects, std::span<const manifest> added)
    : added_{added}, kueue_{objects} {
    bool is_use_said = true;
    for (const manifest& object : objects) {
        if (!object.queueing || object.kind != "Queue") continue;
        is_use_said = is_use_said && !object.queueing->used.empty();
        volcano_.emplace(object.name, volcano_queue{.object = &object, .used = amounts_of(object.queueing->used)});
    }
    if (!is_use_said) { // then the pods are counted
        for (auto& [name, used] : used_by_queue(objects)) {
            const auto queue = volcano_.find(name);
            if (queue == volcano_.end() || !queue->second.object->queueing->used.empty()) continue;
            queue->second.used = std::move(used);
        }
    }
    for (const auto list : {objects, added}) {
        for (const manifest& object : list) {
            if (!object.queueing || object.kind != "PodGroup") continue;
            queues_of_groups_.emplace(full_name_of(object), object.queueing->queue);
        }
    }
}

queue_book::workload queue_book::parts_of(const manifest& object, std::int64_t pods) const {
    if (!has_roles(object)) return {{&object, pods}};
    workload parts;
    for (const manifest& part : added_) {
        if (part.pod && key_of(part) == key_of(object)) parts.emplace_back(&part, part.replicas);
    }
    if (parts.empty()) parts.emplace_back(&object, pods);
    return parts;
}

std::string queue_book::volcano_queue_of(const manifest& object) const {
    if (is_volcano_job(object)) return object.queue.empty() ? "default" : object.queue;
    if (object.scheduler_name != "volcano") return {};
    const auto group = queues_of_groups_.find(pod_group_of(namespace_of(object), *object.pod));
    if (group != queues_of_groups_.end()) return group->second;
    const std::string& named = kubernetes::value_of(object.pod->annotations, "scheduling.volcano.sh/queue-name");
    return named.empty() ? "default" : named;
}

queue_admission queue_book::admit(const manifest& object, std::int64_t pods) {
    if (pods == 0) return {};
    const std::string local_queue = local_queue_of(object);
    const std::string queue = local_queue.empty() ? volcano_queue_of(object) : std::string{};
    if (local_queue.empty() && queue.empty()) return {.pods = pods};
    const auto [known, is_new] = decisions_.try_emplace(key_of(object));
    if (is_new) {
        const workload parts = parts_of(object, pods);
        known->second = local_queue.empty() ? ask_volcano(queue, parts) : ask_kueue(object, local_queue, parts);
    }
    const decision& answer = known->second;
    const auto admitted = answer.pods.find(object.name);
    const auto rules = answer.rules.find(object.name);
    if (rules != answer.rules.end()) return {.pods = pods, .rules = rules->second};
    if (admitted == answer.pods.end() || admitted->second >= pods) return {.pods = pods};
    return {.pods = admitted->second, .queue = answer.queue, .because = answer.because};
}

queue_book::decision queue_book::ask_kueue(const manifest& object, const std::string& local_queue,
                                           const workload& parts) {
    if (kueue_.empty()) {
        not_looked_at_.insert("LocalQueue " + local_queue + ", which is not among the objects");
        return {};
    }
    queued_workload asking{.ns = namespace_of(object),
                           .local_queue = local_queue,
                           .priority = object.priority,
                           .name = workload_name(object)};
    for (const auto& [part, pods] : parts) {
        queued_pods& of_part = asking.pod_sets.emplace_back(queued_pods{.rules = part->rules});
        add_pods(*part, pods, of_part.requests);
    }
    for (std::string& rule : kueue_.not_told(asking.ns, local_queue)) not_looked_at_.insert(std::move(rule));
    queue_answer answer = kueue_.take(asking);
    decision result{.because = std::move(answer.because)};
    if (result.because.empty()) {
        for (std::size_t i = 0; i < parts.size(); ++i) result.rules[parts[i].first->name] = std::move(answer.rules[i]);
        return result;
    }
    result.queue = "queue " + local_queue;
    for (const auto& [part, pods] : parts) result.pods[part->name] = 0;
    return result;
}

queue_book::decision queue_book::ask_volcano(const std::string& name, const workload& parts) {
    decision result{.queue = "queue " + name};
    const auto entry = volcano_.find(name);
    if (entry == volcano_.end()) {
        if (name == "default") return {}; // Volcano makes it itself
        if (volcano_.empty()) {
            not_looked_at_.insert("Queue " + name + ", which is not among the objects");
            return {};
        }
        result.because = "it is not among the objects";
    } else if (!entry->second.object->queueing->stopped.empty()) {
        result.because = "it is closed";
    }
    for (const auto& [part, pods] : parts) result.pods[part->name] = 0;
    if (!result.because.empty()) return result;
    const resource_amounts capability = amounts_of(entry->second.object->queueing->amounts);
    resource_amounts used = entry->second.used;
    std::int64_t wanted = 0;
    std::int64_t let_in = 0;
    for (const auto& [part, pods] : parts) {
        resource_amounts needs;
        add_pods(*part, 1, needs);
        const room_left room = room_for(needs, pods, capability, used);
        for (const auto& [resource, amount] : needs) used[resource] += amount * room.pods;
        if (room.pods < pods && result.because.empty()) {
            result.because = room.resource + " " + queue_amount_words(room.resource, used[room.resource]) + " of " +
                             queue_amount_words(room.resource, capability.at(room.resource)) + " used, " +
                             queue_amount_words(room.resource, needs.at(room.resource)) + " more needed";
        }
        wanted += pods;
        let_in += room.pods;
        result.pods[part->name] = room.pods;
    }
    const manifest& first = *parts.front().first;
    const std::int64_t minimum = !starts_together(first) ? 1 : first.min_available > 0 ? first.min_available : wanted;
    if (let_in < minimum) {
        for (auto& [part, pods] : result.pods) pods = 0;
        return result;
    }
    entry->second.used = std::move(used);
    return result;
}

std::vector<std::string> queue_book::not_looked_at() const { return {not_looked_at_.begin(), not_looked_at_.end()}; }

} // namespace vgpualloc::kube
