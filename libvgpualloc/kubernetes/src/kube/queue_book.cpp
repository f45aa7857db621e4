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

bool is_volcano_batch_job(const manifest& object) { return group_of(object.api_version).starts_with("batch.volcano"); }

std::string local_queue_of(const manifest& object) {
    if (is_volcano_batch_job(object)) return {};
    if (object.kind != "Pod") return object.queue;
    return kubernetes::value_of(object.pod->labels, local_queue_label);
}

/// What the first pods of a workload need, those of higher priority first, as Volcano's controller writes it into a
/// PodGroup.
resource_amounts least_of(std::vector<std::pair<const manifest*, std::int64_t>> parts, std::int64_t minimum) {
    std::ranges::stable_sort(parts, std::ranges::greater{}, [](const auto& part) { return part.first->priority; });
    resource_amounts result;
    for (const auto& [part, pods] : parts) {
        const std::int64_t counted = std::min(pods, minimum);
        add_pods(*part, counted, result);
        minimum -= counted;
    }
    return result;
}

} // namespace

queue_book::queue_book(std::span<const manifest> objects, std::span<const manifest> added)
    : added_{added}, kueue_{objects}, volcano_{objects} {
    for (const auto list : {objects, added}) {
        for (const manifest& object : list) {
            if (object.queueing && object.kind == "PodGroup") groups_.emplace(full_name_of(object), &object);
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
    if (is_volcano_batch_job(object)) return object.queue.empty() ? "default" : object.queue;
    if (object.scheduler_name != "volcano") return {};
    if (const manifest* const group = group_of(object)) return group->queueing->queue;
    const std::string& named = kubernetes::value_of(object.pod->annotations, "scheduling.volcano.sh/queue-name");
    return named.empty() ? "default" : named;
}

const manifest* queue_book::group_of(const manifest& object) const {
    if (!object.pod || is_volcano_batch_job(object)) return nullptr;
    const auto group = groups_.find(pod_group_of(namespace_of(object), *object.pod));
    return group == groups_.end() ? nullptr : group->second;
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
    if (!volcano_.has(name)) {
        if (name == "default") return {}; // Volcano makes it itself
        if (volcano_.empty()) {
            not_looked_at_.insert("Queue " + name + ", which is not among the objects");
            return {};
        }
        result.because = "it is not among the objects";
        for (const auto& [part, pods] : parts) result.pods[part->name] = 0;
        return result;
    }
    const manifest& first = *parts.front().first;
    volcano_job job{.queue = name};
    std::int64_t wanted = 0;
    for (const auto& [part, pods] : parts) {
        add_pods(*part, 1, job.pods.emplace_back(resource_amounts{}, pods).first);
        wanted += pods;
    }
    job.minimum = !starts_together(first) ? 1 : first.min_available > 0 ? first.min_available : wanted;
    const manifest* const group = group_of(first);
    const std::string group_name = group == nullptr ? std::string{} : full_name_of(*group);
    if (group == nullptr) {
        job.least = least_of(parts, job.minimum);
    } else {
        const bool waits = group->phase.empty() || group->phase == "Pending";
        job.is_in = !waits || groups_in_.contains(group_name);
        if (group->queueing->has_amounts) job.least = amounts_of(group->queueing->amounts);
        // Of a pod alone, others of its group may be added beside it.
        if (first.kind != "Pod" && !job.is_in) job.minimum = std::max(job.minimum, group->min_available);
    }
    volcano_answer answer = volcano_.take(job);
    if (answer.is_in && !volcano_.knows_nodes()) not_looked_at_.insert("shares of all nodes in Queue " + name);
    if (answer.is_in && group != nullptr) groups_in_.insert(group_name);
    result.because = std::move(answer.because);
    for (std::size_t i = 0; i < parts.size(); ++i) result.pods[parts[i].first->name] = answer.pods[i];
    return result;
}

std::vector<std::string> queue_book::not_looked_at() const { return {not_looked_at_.begin(), not_looked_at_.end()}; }

} // namespace vgpualloc::kube
