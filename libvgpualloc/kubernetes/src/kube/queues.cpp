// Amounts that queues count, and the PodGroups that Volcano's queues have not let in.
#include "vgpualloc/kube/queues.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "pod_amounts.hpp"
#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/volcano_queues.hpp"

namespace vgpualloc::kube {

namespace {

constexpr std::int64_t amount_max = std::int64_t{1} << 60; // sums stay below twice that

std::int64_t capped(std::int64_t amount, std::int64_t count) {
    return count > 0 && amount > amount_max / count ? amount_max : amount * count;
}

void add(const std::string& resource, std::int64_t amount, resource_amounts& to) {
    if (amount == 0) return;
    std::int64_t& sum = to[resource];
    sum = std::min(sum + amount, amount_max);
}

bool is_volcano_group(const manifest& object) { return object.kind == "PodGroup" && object.queueing != nullptr; }

/// " is closed", ": nvidia.com/gpu 8 of 8 used, 2 more needed": what follows the name of a queue.
std::string short_of(const std::string& because) {
    constexpr std::string_view of_queue = "it is ";
    return because.starts_with(of_queue) ? because.substr(2) : ": " + because;
}

/// What a PodGroup needs at the least.
resource_amounts least_of(const manifest& group, const volcano_queues& queues) {
    return group.queueing->has_amounts ? amounts_of(group.queueing->amounts) : queues.waiting(full_name_of(group));
}

/// Why a PodGroup waits for its queue, in words.
std::string hold_words(const manifest& group, const volcano_queues& queues) {
    const std::string& name = group.queueing->queue;
    const std::string words = "queue " + name;
    const std::string not_in = words + " has not let PodGroup " + group.name + " in";
    if (!queues.has(name)) return not_in + "; it is not among the objects";
    const std::string because = queues.why_not(name, least_of(group, queues));
    if (because.empty()) return not_in;
    return words + short_of(because);
}

} // namespace

resource_amounts amounts_of(const kubernetes::text_map& written) {
    resource_amounts amounts;
    for (const auto& [resource, text] : written) {
        if (const auto amount = amount_of(resource, text)) amounts[resource] = *amount;
    }
    return amounts;
}

std::string stopped_words(const manifest& queue) {
    const std::string& state = queue.queueing->stopped;
    return state == "Closed" || state == "Closing" ? "it is closed" : "it is in state " + state;
}

std::string pod_group_of(const std::string& ns, const kubernetes::pod& pod) {
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        const std::string& group = kubernetes::value_of(pod.annotations, key);
        if (!group.empty()) return ns + "/" + group;
    }
    return {};
}

resource_amounts extended_requests(const kubernetes::pod& pod) {
    std::set<std::string> resources;
    for (const auto* const list : {&pod.containers, &pod.init_containers}) {
        for (const kubernetes::container& container : *list) {
            for (const auto* const amounts : {&container.requests, &container.limits}) {
                for (const auto& [resource, amount] : *amounts) resources.insert(resource);
            }
        }
    }
    resource_amounts result;
    for (const std::string& resource : resources) {
        const auto of_container = [&](const kubernetes::container& container) {
            const auto request = request_of(container, resource);
            return request ? request : limit_of(container, resource);
        };
        add(resource, amount_at_once(pod, of_container, amount_max).value_or(0), result);
    }
    return result;
}

void add_pods(const manifest& object, std::int64_t count, resource_amounts& to) {
    if (!object.pod || count == 0) return;
    for (const auto& [resource, amount] : extended_requests(*object.pod)) add(resource, capped(amount, count), to);
    add("cpu", capped(object.cpu.count(), count), to);
    add("memory", capped(object.memory.count(), count), to);
    add("pods", count, to);
}

expected<std::int64_t> amount_of(const std::string& resource, std::string_view written) {
    const auto unit = resource == "cpu" ? kubernetes::quantity_unit::thousandth : kubernetes::quantity_unit::one;
    return kubernetes::parse_quantity(written, unit, kubernetes::rounding::up);
}

std::string queue_amount_words(const std::string& resource, std::int64_t amount) {
    constexpr std::int64_t thousand = 1000;
    constexpr std::int64_t kibi = 1024;
    constexpr std::int64_t mebi = kibi * kibi;
    if (resource == "cpu") {
        const std::string rest = std::to_string(thousand + amount % thousand).substr(1);
        std::string words = std::to_string(amount / thousand) + "." + rest;
        words.erase(words.find_last_not_of('0') + 1);
        if (words.ends_with('.')) words.pop_back();
        return words;
    }
    if (resource != "memory") return std::to_string(amount);
    const std::int64_t whole = (amount + mebi - 1) / mebi;
    return whole % kibi == 0 ? std::to_string(whole / kibi) + " GiB" : std::to_string(whole) + " MiB";
}

std::vector<std::string> devices_first(const resource_amounts& amounts) {
    std::vector<std::string> resources;
    for (const auto& [resource, amount] : amounts) resources.push_back(resource);
    std::ranges::stable_partition(resources,
                                  [](const std::string& resource) { return resource.find('/') != std::string::npos; });
    return resources;
}

void add_flavor_rules(const host_rules& of_flavor, host_rules& to) {
    for (const auto& entry : of_flavor.node_selector) {
        const auto place =
            std::ranges::lower_bound(to.node_selector, entry.first, {}, &std::pair<std::string, std::string>::first);
        if (place == to.node_selector.end() || place->first != entry.first) to.node_selector.insert(place, entry);
    }
    for (const toleration& tolerated : of_flavor.tolerations) {
        const bool is_known = std::ranges::find(to.tolerations, tolerated) != to.tolerations.end();
        if (!is_known) to.tolerations.push_back(tolerated);
    }
}

std::map<std::string, group_hold> groups_held_back(std::span<const manifest> objects) {
    std::map<std::string, group_hold> result;
    if (std::ranges::none_of(objects, is_volcano_group)) return result;
    const volcano_queues queues{objects};
    for (const manifest& object : objects) {
        if (!is_volcano_group(object)) continue;
        const std::string& queue = object.queueing->queue;
        const bool is_known = queues.has(queue);
        const bool is_new = object.phase.empty() && is_known && !queues.runs(full_name_of(object)) &&
                            !queues.why_not(queue, least_of(object, queues)).empty();
        if (object.phase == "Pending" || is_new) {
            result.emplace(full_name_of(object), group_hold{.because = hold_words(object, queues)});
            continue;
        }
        if (!is_known) continue;
        const group_start start = queues.start_of_group(object);
        if (start.because.empty()) continue;
        result.emplace(full_name_of(object), group_hold{.because = "queue " + queue + short_of(start.because),
                                                        .is_let_in = true,
                                                        .starting = start.pods});
    }
    return result;
}

} // namespace vgpualloc::kube
