// Reasons of nodes.
#include "vgpuops/why/reasons.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::why {

bool is_of_units(const explaining::refusal& refused) {
    return refused.unit == "units" || refused.unit == "unit" || refused.unit == "devices" || refused.unit == "device";
}

namespace {

/// A node without devices has too few of them whatever else runs.
node_reason word_of(rejection_code code, bool has_devices) {
    switch (code) {
    case rejection_code::none:
        return node_reason::fits;
    case rejection_code::too_many_pods:
    case rejection_code::insufficient_cpu:
    case rejection_code::insufficient_memory:
        return node_reason::host_full;
    case rejection_code::node_gone:
    case rejection_code::node_unschedulable:
    case rejection_code::node_not_ready:
    case rejection_code::device_unhealthy:
    case rejection_code::device_draining:
    case rejection_code::device_reconfiguring:
        return node_reason::out_of_service;
    case rejection_code::taint_not_tolerated:
    case rejection_code::node_selector_differs:
    case rejection_code::node_affinity_differs:
    case rejection_code::topology_spread:
    case rejection_code::pod_affinity_differs:
    case rejection_code::pod_anti_affinity:
        return node_reason::not_allowed;
    case rejection_code::resource_not_offered:
    case rejection_code::family_not_offered:
    case rejection_code::model_not_accepted:
    case rejection_code::type_not_accepted:
    case rejection_code::uuid_not_accepted:
    case rejection_code::mode_not_offered:
    case rejection_code::request_not_valid:
        return node_reason::wrong_kind;
    case rejection_code::too_few_devices:
        return has_devices ? node_reason::too_few_free : node_reason::wrong_kind;
    default:
        return node_reason::too_few_free;
    }
}

/// The taint that keeps the pod away if it says what Kubernetes found out about the node, such as its cordon; else
/// null.
const vgpualloc::taint* state_taint(const vgpualloc::pod_request& request, const vgpualloc::node& node,
                                    const explaining::refusal& refused) {
    if (refused.code != rejection_code::taint_not_tolerated) return nullptr;
    const vgpualloc::taint* const repelling = vgpualloc::repelling_taint(request.rules, node.host);
    return repelling != nullptr && vgpualloc::is_state_taint(repelling->key) ? repelling : nullptr;
}

/// "gpu", "mig-3g.40gb": what a pod counts, or that container of it.
std::string counted_word(const vgpualloc::pod_request& request, std::optional<std::size_t> refused) {
    for (std::size_t i = refused.value_or(0); i < request.containers.size(); ++i) {
        const vgpualloc::device_request& container = request.containers[i];
        if (container.count > 0 && !container.profile.empty()) return "mig-" + container.profile;
        if (refused) break;
    }
    return "gpu";
}

/// A refusal says what the container finds that does not fit, after those before it have theirs. Where units are
/// counted, all alike containers are: "gpu 1/2" of a pod with two containers of a GPU each.
explaining::refusal of_the_pod(const kube::snapshot& state, const vgpualloc::pod_request& request, node_index where,
                               explaining::refusal refused) {
    if (!refused.container || *refused.container >= request.containers.size() || !is_of_units(refused)) return refused;
    const vgpualloc::device_request& container = request.containers[*refused.container];
    for (const vgpualloc::device_request& devices : show::asked_devices(request)) {
        if (!show::are_alike(devices, container)) continue;
        const auto units = show::free_units(state, where, devices);
        if (!units || *units >= devices.count) continue;
        refused.available = *units;
        refused.wanted = devices.count;
    }
    return refused;
}

/// "type not accepted" of a code that has no rule and no amount.
std::string words_of(rejection_code code) {
    std::string words{vgpualloc::to_string(code)};
    std::ranges::replace(words, '_', ' ');
    return words;
}

/// What the node has of what is wanted, and how much is wanted.
std::string amount_text(const vgpualloc::pod_request& request, const explaining::refusal& refused) {
    switch (refused.code) {
    case rejection_code::insufficient_cpu:
        return fmt::format("cpu {}/{}", show::thousandths(refused.available), show::thousandths(refused.wanted));
    case rejection_code::insufficient_memory:
        return fmt::format("host memory {}/{} {}", refused.available, refused.wanted, refused.unit);
    case rejection_code::too_many_pods:
        return "pod limit reached";
    case rejection_code::no_free_instance:
        if (refused.available > 0 && is_of_units(refused)) break;
        return fmt::format("no {} free", counted_word(request, refused.container));
    default:
        break;
    }
    if (refused.wanted == 0) return words_of(refused.code);
    if (is_of_units(refused)) {
        return fmt::format("{} {}/{}", counted_word(request, refused.container), refused.available, refused.wanted);
    }
    const std::string amount = fmt::format("{}/{} {}", refused.available, refused.wanted, refused.unit);
    const bool names_it = refused.container && *refused.container < request.containers.size() &&
                          vgpualloc::names_uuids(request.containers[*refused.container]);
    return names_it && !refused.device.empty() ? amount + " on " + refused.device : amount;
}

bool refuses_the_kind(rejection_code code) {
    return code == rejection_code::family_not_offered || code == rejection_code::model_not_accepted ||
           code == rejection_code::type_not_accepted || code == rejection_code::uuid_not_accepted;
}

/// Where most devices of a node are of a kind that the pod refuses, and one that it accepts has too little, that one's
/// answer: of these the device that comes closest.
explaining::refusal of_accepted_device(const explaining::explained_node& answer, explaining::refusal refused) {
    if (!refuses_the_kind(refused.code)) return refused;
    const std::size_t container = refused.container.value_or(0);
    const explaining::explained_device* closest = nullptr;
    const auto answer_of = [&](const explaining::explained_device& device) -> const explaining::refusal& {
        return device.containers[container].refused;
    };
    for (const explaining::explained_device& device : answer.devices) {
        if (container >= device.containers.size()) continue;
        const explaining::refusal& own = answer_of(device);
        if (own.fits() || word_of(own.code, true) == node_reason::wrong_kind) continue;
        const auto share = [](const explaining::refusal& of) { // of what is wanted; none where it is about no amount
            return of.wanted > 0 ? static_cast<double>(of.available) / static_cast<double>(of.wanted) : -1.0;
        };
        const bool is_closer = closest == nullptr || share(own) > share(answer_of(*closest));
        if (is_closer) closest = &device;
    }
    if (closest == nullptr) return refused;
    explaining::refusal result = answer_of(*closest);
    result.device = closest->uuid;
    result.container = container;
    return result;
}

/// Devices of the node that the pod asks for, of which the node offers none because none is healthy: their plugin has
/// registered none with the kubelet, or only such. 0: that is not so.
std::int64_t devices_unregistered(const kube::snapshot& state, const vgpualloc::pod_request& request,
                                  node_index where) {
    const std::string* const missing = vgpualloc::missing_resource(request.rules, state.nodes().nodes[where.at()].host);
    const auto reads_it = [&](const auto& spoken) { return spoken->reads_resource(*missing); };
    if (missing == nullptr || !std::ranges::any_of(state.dialects, reads_it)) return 0;
    std::int64_t count = 0;
    for (const kube::snapshot_device& device : state.devices[where.at()]) {
        const auto is_asked = [&](const vgpualloc::device_request& container) {
            return container.family == device.registered.family;
        };
        if (std::ranges::none_of(request.containers, is_asked)) continue;
        if (device.registered.healthy) return 0;
        ++count;
    }
    return count;
}

/// Whether the node's device plugin turns the container away because it asks for several replicas.
bool gives_one_replica(const kube::snapshot& state, node_index where, const explaining::refusal& refused) {
    return refused.code == rejection_code::request_not_valid &&
           std::ranges::any_of(state.devices[where.at()], [](const kube::snapshot_device& device) {
               return device.registered.units.one_per_container;
           });
}

std::string text_of(const vgpualloc::pod_request& request, const vgpualloc::node& node, node_reason word,
                    const explaining::refusal& refused) {
    if (word == node_reason::host_full || word == node_reason::too_few_free) return amount_text(request, refused);
    if (word == node_reason::wrong_kind) {
        if (node.devices.empty()) return "no GPU";
        const std::string* const missing = vgpualloc::missing_resource(request.rules, node.host);
        if (missing != nullptr) return "offers no " + *missing;
    }
    const vgpualloc::taint* const of_state = state_taint(request, node, refused);
    const bool has_cordon_taint = of_state != nullptr && of_state->key == "node.kubernetes.io/unschedulable";
    if (refused.code == rejection_code::node_unschedulable || has_cordon_taint) return "cordoned";
    if (refused.code == rejection_code::taint_not_tolerated) return "taint " + refused.rule;
    return refused.rule.empty() ? words_of(refused.code) : refused.rule;
}

} // namespace

std::vector<node_reasons> reasons_of(const kube::snapshot& state, const explaining::explanation& explained) {
    std::vector<node_reasons> result;
    for (std::size_t n = 0; n < explained.nodes.size(); ++n) {
        const explaining::explained_node& answer = explained.nodes[n];
        const vgpualloc::node& node = state.nodes().nodes[n];
        node_reasons entry{.node = answer.name};
        const std::int64_t unregistered = devices_unregistered(state, explained.pod.request, node_index{n});
        const auto add = [&](const explaining::refusal& of_container) {
            if (of_container.fits()) return;
            const explaining::refusal refused =
                of_the_pod(state, explained.pod.request, node_index{n}, of_accepted_device(answer, of_container));
            if (unregistered > 0 && refused.code == rejection_code::device_unhealthy) return;
            const bool is_unregistered = unregistered > 0 && refused.code == rejection_code::resource_not_offered;
            const bool is_of_state = is_unregistered || state_taint(explained.pod.request, node, refused) != nullptr;
            const node_reason word =
                is_of_state ? node_reason::out_of_service : word_of(refused.code, !node.devices.empty());
            std::string text = text_of(explained.pod.request, node, word, refused);
            if (is_unregistered) {
                text = fmt::format("the device plugin registers 0 of {} GPU{}", unregistered,
                                   unregistered == 1 ? "" : "s");
            } else if (gives_one_replica(state, node_index{n}, refused)) {
                text = fmt::format("its device plugin gives a container one replica, not {}", refused.wanted);
            }
            const auto is_same = [&](const failed_check& known) { return known.text == text; };
            if (std::ranges::any_of(entry.checks, is_same)) return;
            entry.checks.push_back({.word = word, .refused = refused, .text = std::move(text)});
        };
        add(answer.refused);
        if (!answer.refused.fits()) std::ranges::for_each(answer.also, add);
        std::ranges::stable_sort(entry.checks, std::ranges::greater{}, &failed_check::word);
        if (!entry.checks.empty()) entry.word = entry.checks.front().word;
        result.push_back(std::move(entry));
    }
    return result;
}

std::string device_words(const kube::snapshot_pod& pod) {
    kube::snapshot_pod devices_alone = pod;
    devices_alone.request.cpu = vgpualloc::milli_cpu{0};
    devices_alone.request.rules = {};
    return show::shape_name(devices_alone);
}

expected<explaining::explanation> explain_waiting(const kube::snapshot& state, const kube::snapshot_pod& pod,
                                                  const stop_signal& stop) {
    return explaining::explain(state, pod, {.policy = "best_fit", .is_scheduler = true, .stop = stop});
}

} // namespace vgpuops::why
