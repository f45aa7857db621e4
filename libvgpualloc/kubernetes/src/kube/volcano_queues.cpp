// Which jobs the Queues of Volcano let in. Source: pkg/scheduler of Volcano 1.14.1, plugins proportion and overcommit.
#include "vgpualloc/kube/volcano_queues.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

namespace {

using amount_numbers = std::map<std::string, double>;

constexpr double overcommit_factor = 1.2;
constexpr double unlimited = std::numeric_limits<double>::infinity();

double number_of(const amount_numbers& from, const std::string& resource) {
    const auto entry = from.find(resource);
    return entry == from.end() ? 0 : entry->second;
}

bool is_of_host(const std::string& resource) { return resource == "cpu" || resource == "memory"; }

/// Volcano leaves the number of pods to the nodes, and the memory of shared NPUs to its plugin deviceshare.
bool counts_in_queues(const std::string& resource) {
    return resource != "pods" && !(resource.starts_with("huawei.com/") && resource.ends_with("-memory"));
}

template <class From>
void add_numbers(const From& from, double times, amount_numbers& to) {
    for (const auto& [resource, amount] : from) to[resource] += static_cast<double>(amount) * times;
}

/// What of `from` is beyond `least`.
amount_numbers numbers_beyond(const amount_numbers& from, const amount_numbers& least) {
    amount_numbers result;
    for (const auto& [resource, amount] : from) result[resource] = std::max(amount - number_of(least, resource), 0.0);
    return result;
}

amount_numbers numbers_of(const resource_amounts& from) {
    amount_numbers result;
    add_numbers(from, 1, result);
    return result;
}

/// Volcano compares thousandths with a tolerance of a tenth: bytes are whole.
double tolerance_of(const std::string& resource) { return is_of_host(resource) ? 0.1 : 0.0001; }

bool are_at_most(const amount_numbers& left, const amount_numbers& right) {
    return std::ranges::all_of(left, [&](const auto& entry) {
        const double most = number_of(right, entry.first);
        return entry.second < most || std::abs(entry.second - most) < tolerance_of(entry.first);
    });
}

std::string rounded_words(const std::string& resource, double amount) {
    constexpr double most = 1e18;
    return queue_amount_words(resource, std::llround(std::clamp(amount, -most, most)));
}

/// "nvidia.com/gpu 8 of 8 used, 2 more needed". Nobody can have a part of a limit that is no whole amount.
std::string shortage_words(const std::string& resource, double used, double limit, double more) {
    const double rest = tolerance_of(resource);
    return resource + " " + rounded_words(resource, used) + " of " + rounded_words(resource, std::floor(limit + rest)) +
           " used, " + rounded_words(resource, std::ceil(more - rest)) + " more needed";
}

} // namespace

volcano_queues::volcano_queues(std::span<const manifest> objects) {
    bool is_use_said = true;
    for (const manifest& object : objects) {
        if (object.node) {
            knows_nodes_ = true;
            add_numbers(amounts_of(object.node->allocatable), 1, total_);
        }
        if (!object.queueing || object.kind != "Queue") continue;
        const queue_facts& facts = *object.queueing;
        queue entry{.object = &object,
                    .capability = numbers_of(amounts_of(facts.amounts)),
                    .guarantee = numbers_of(amounts_of(facts.guaranteed)),
                    .allocated = numbers_of(amounts_of(facts.used))};
        // CPU and memory of nothing are no limit.
        std::erase_if(entry.capability, [](const auto& limit) { return is_of_host(limit.first) && limit.second <= 0; });
        add_numbers(entry.guarantee, 1, guaranteed_);
        add_numbers(entry.allocated, 1, entry.requested);
        is_use_said = is_use_said && !facts.used.empty();
        queues_.emplace(object.name, std::move(entry));
    }
    if (queues_.empty()) return;
    read_pods(objects);
    for (const manifest& object : objects) {
        if (object.queueing && object.kind == "PodGroup") read_group(object, !is_use_said);
    }
}

void volcano_queues::read_pods(std::span<const manifest> objects) {
    for (const manifest& object : objects) {
        if (object.kind != "Pod" || !object.pod) continue;
        if (has_ended(object)) {
            const std::string group = pod_group_of(namespace_of(object), *object.pod);
            if (!group.empty() && object.phase == "Succeeded") ++groups_[group].succeeded_count;
            continue;
        }
        resource_amounts needs;
        add_pods(object, 1, needs);
        if (!object.node_name.empty()) add_numbers(needs, 1, used_);
        const std::string name = pod_group_of(namespace_of(object), *object.pod);
        if (name.empty() || object.terminating) continue;
        group_pods& group = groups_[name];
        if (!object.node_name.empty()) {
            add_numbers(needs, 1, group.running);
            ++group.running_count;
            continue;
        }
        add_pods(object, 1, group.waiting);
        if (object.gates.empty()) ++group.waiting_alike[needs];
        if (!object.gates.empty()) add_numbers(needs, 1, group.gated);
    }
}

void volcano_queues::read_group(const manifest& group, bool counts_pods) {
    const auto entry = queues_.find(group.queueing->queue);
    if (entry == queues_.end()) return;
    queue& target = entry->second;
    target.has_groups = true;
    const group_pods& pods = groups_[full_name_of(group)];
    const amounts least = numbers_of(amounts_of(group.queueing->amounts));
    if (counts_pods && target.object->queueing->used.empty()) {
        add_numbers(pods.running, 1, target.allocated);
        add_numbers(pods.running, 1, target.requested);
    }
    add_numbers(pods.waiting, 1, target.requested);
    add_numbers(numbers_beyond(pods.running, least), 1, target.elastic);
    amounts reserved;
    if (group.phase == "Inqueue") {
        reserved = least;
    } else if (group.phase == "Running" && pods.running_count >= group.min_available) {
        constexpr double thousandth = 0.001;
        for (const auto& [resource, amount] : least) {
            const double running = number_of(pods.running, resource);
            // Volcano takes devices for thousandths here.
            if (is_of_host(resource))
                reserved[resource] = std::max(amount - running, 0.0);
            else if (running == 0)
                reserved[resource] = amount * thousandth;
        }
    }
    reserved = numbers_beyond(reserved, pods.gated);
    add_numbers(reserved, 1, target.reserved);
    add_numbers(reserved, 1, reserved_);
}

double volcano_queues::limit_of(const queue& from, const std::string& resource) const {
    const auto most = from.capability.find(resource);
    const double capability = most == from.capability.end() ? unlimited : most->second;
    if (!knows_nodes_) return capability;
    const double left = std::max(number_of(total_, resource) - number_of(guaranteed_, resource), 0.0);
    return std::min(left + number_of(from.guarantee, resource), capability);
}

std::string volcano_queues::why_not(const std::string& name, const resource_amounts& least) const {
    const queue& target = queues_.at(name);
    if (!target.object->queueing->stopped.empty()) return stopped_words(*target.object);
    for (const std::string& resource : devices_first(least)) {
        const auto needed = static_cast<double>(least.at(resource));
        if (needed <= 0 || !counts_in_queues(resource)) continue;
        const double used = number_of(target.allocated, resource) + number_of(target.reserved, resource) -
                            number_of(target.elastic, resource);
        const double limit = limit_of(target, resource);
        if (used + needed > limit) return shortage_words(resource, used, limit, used + needed - limit);
    }
    if (!knows_nodes_) return {};
    for (const std::string& resource : devices_first(least)) {
        const auto needed = static_cast<double>(least.at(resource));
        if (needed <= 0 || !counts_in_queues(resource)) continue;
        const double used = number_of(used_, resource) + number_of(reserved_, resource);
        const double limit = number_of(total_, resource) * overcommit_factor;
        if (used + needed <= limit) continue;
        return resource + " of all nodes is overused: " + shortage_words(resource, used, limit, used + needed - limit) +
               " (1.2 times what nodes have)";
    }
    return {};
}

std::map<const volcano_queues::queue*, volcano_queues::amounts> volcano_queues::shares() const {
    std::map<const queue*, amounts> shares;
    std::set<const queue*> settled;
    for (const auto& [name, one] : queues_) {
        if (one.has_groups) shares.emplace(&one, amounts{});
    }
    std::set<std::string> resources;
    for (const auto& [resource, amount] : total_) resources.insert(resource);
    for (const auto& [resource, amount] : guaranteed_) resources.insert(resource);
    amounts remaining = total_;
    while (settled.size() < shares.size()) {
        double weights = 0;
        for (const auto& [one, share] : shares) {
            if (!settled.contains(one)) weights += static_cast<double>(one->object->queueing->weight);
        }
        if (weights == 0) break;
        amounts left = remaining;
        for (auto& [one, share] : shares) {
            if (settled.contains(one)) continue;
            const amounts before = share;
            const double part = static_cast<double>(one->object->queueing->weight) / weights;
            for (const std::string& resource : resources) {
                double amount = std::min(number_of(share, resource) + number_of(remaining, resource) * part,
                                         limit_of(*one, resource));
                amount = std::min(amount, number_of(one->requested, resource));
                amount = std::max(amount, number_of(one->guarantee, resource));
                share[resource] = amount;
                left[resource] -= amount - number_of(before, resource);
            }
            if (are_at_most(one->requested, share) || (are_at_most(share, before) && are_at_most(before, share))) {
                settled.insert(one);
            }
        }
        for (auto& [resource, amount] : left) amount = std::max(amount, 0.0);
        if (are_at_most(left, {}) || left == remaining) break;
        remaining = std::move(left);
    }
    return shares;
}

volcano_queues::start volcano_queues::start_of(const queue& in,
                                               const std::vector<std::pair<resource_amounts, std::int64_t>>& pods,
                                               const std::function<double(const std::string&)>& most_of) const {
    start result{.taken = in.allocated};
    for (const auto& [needs, count] : pods) {
        std::int64_t room = count;
        std::string lacking;
        for (const std::string& resource : devices_first(needs)) {
            const auto needed = static_cast<double>(needs.at(resource));
            if (needed <= 0 || !counts_in_queues(resource)) continue;
            const double left =
                std::max(most_of(resource) - number_of(result.taken, resource), 0.0) + tolerance_of(resource) / 2;
            const double fitting = std::floor(left / needed);
            if (fitting >= static_cast<double>(room)) continue;
            room = static_cast<std::int64_t>(fitting);
            lacking = resource;
        }
        add_numbers(needs, static_cast<double>(room), result.taken);
        if (!lacking.empty() && result.because.empty()) {
            result.because = shortage_words(lacking, number_of(result.taken, lacking), most_of(lacking),
                                            static_cast<double>(needs.at(lacking)));
        }
        result.pods.push_back(room);
    }
    return result;
}

group_start volcano_queues::start_of_group(const manifest& group) const {
    const auto entry = groups_.find(full_name_of(group));
    if (entry == groups_.end() || entry->second.waiting_alike.empty()) return {};
    const queue& target = queues_.at(group.queueing->queue);
    if (!target.object->queueing->stopped.empty()) return {.because = stopped_words(*target.object)};
    const auto most_of = [&target](const std::string& resource) {
        const auto most = target.capability.find(resource);
        return most == target.capability.end() ? unlimited : most->second;
    };
    const group_pods& pods = entry->second;
    const start begun = start_of(target, {pods.waiting_alike.begin(), pods.waiting_alike.end()}, most_of);
    const std::int64_t started = std::accumulate(begun.pods.begin(), begun.pods.end(), std::int64_t{0});
    const std::int64_t minimum =
        std::max<std::int64_t>(group.min_available - pods.running_count - pods.succeeded_count, 1);
    if (begun.because.empty() || started >= minimum) return {.pods = started, .because = begun.because};
    amounts least;
    std::int64_t left = minimum;
    for (const auto& [needs, count] : pods.waiting_alike) {
        add_numbers(needs, static_cast<double>(std::min(count, left)), least);
        left -= std::min(count, left);
    }
    for (const bool of_host : {false, true}) { // devices first
        for (const auto& [resource, needed] : least) {
            const double used = number_of(target.allocated, resource);
            const double limit = most_of(resource);
            if (is_of_host(resource) != of_host || !counts_in_queues(resource)) continue;
            if (used + needed <= limit + tolerance_of(resource)) continue;
            return {.because = shortage_words(resource, used, limit, used + needed - limit)};
        }
    }
    return {.because = begun.because};
}

volcano_answer volcano_queues::take(const volcano_job& job) {
    volcano_answer answer{.pods = std::vector<std::int64_t>(job.pods.size(), 0)};
    queue& target = queues_.at(job.queue);
    if (!target.object->queueing->stopped.empty()) {
        answer.because = stopped_words(*target.object);
        return answer;
    }
    if (!job.is_in && job.least) answer.because = why_not(job.queue, *job.least);
    if (!answer.because.empty()) return answer;
    answer.is_in = true;
    target.has_groups = true;
    amounts least;
    if (!job.is_in && job.least) least = numbers_of(*job.least);
    for (const auto& [needs, count] : job.pods) add_numbers(needs, static_cast<double>(count), target.requested);
    const std::map<const queue*, amounts> shares = knows_nodes_ ? this->shares() : std::map<const queue*, amounts>{};
    const auto share = shares.find(&target);
    start begun = start_of(target, job.pods, [&](const std::string& resource) {
        return share == shares.end() ? limit_of(target, resource) : number_of(share->second, resource);
    });
    answer.because = std::move(begun.because);
    const std::int64_t let_in = std::accumulate(begun.pods.begin(), begun.pods.end(), std::int64_t{0});
    if (let_in < job.minimum) { // it stays let in, and what it needs at the least stays reserved
        add_numbers(least, 1, target.reserved);
        add_numbers(least, 1, reserved_);
        return answer;
    }
    answer.pods = std::move(begun.pods);
    const amounts more = numbers_beyond(begun.taken, target.allocated);
    add_numbers(more, 1, used_);
    add_numbers(numbers_beyond(more, least), 1, target.elastic);
    target.allocated = std::move(begun.taken);
    return answer;
}

bool volcano_queues::runs(const std::string& group) const {
    const auto entry = groups_.find(group);
    return entry != groups_.end() && entry->second.running_count > 0;
}

resource_amounts volcano_queues::waiting(const std::string& group) const {
    const auto entry = groups_.find(group);
    return entry == groups_.end() ? resource_amounts{} : entry->second.waiting;
}

} // namespace vgpualloc::kube
