// Shapes: what of the idle capacity more pods of each could have.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "overview_parts.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

/// Pods of one request.
struct shape_pods {
    const kube::snapshot_pod* first = nullptr;
    std::int64_t run = 0;
    std::int64_t wait = 0;
};
struct points_to_less {
    bool operator()(const vgpualloc::pod_request* left, const vgpualloc::pod_request* right) const {
        return *left < *right;
    }
};
using pods_by_request = std::map<const vgpualloc::pod_request*, shape_pods, points_to_less>;

/// The pods of the nodes that are there, and those that wait.
pods_by_request pods_of(const kube::snapshot& state, const selection& chosen) {
    pods_by_request result;
    const auto entry_of = [&](const kube::snapshot_pod& pod) -> shape_pods* {
        if (pod.failure || !asks_for_devices(pod) || !is_listed(pod, chosen)) return nullptr;
        shape_pods& entry = result[&pod.request];
        if (entry.first == nullptr) entry.first = &pod;
        return &entry;
    };
    for (const kube::bound_pod& runs : state.bound) {
        if (!state.book->is_present(runs.node)) continue;
        if (shape_pods* const entry = entry_of(runs.pod)) ++entry->run;
    }
    for (const kube::snapshot_pod& waits : state.pending) {
        if (shape_pods* const entry = entry_of(waits)) ++entry->wait;
    }
    return result;
}

/// Shapes that would be called the same get their host memory, and then a number, into their names.
void tell_apart(std::vector<shape_row>& rows) {
    std::map<std::string, std::int64_t> times;
    for (const shape_row& row : rows) ++times[row.name];
    for (shape_row& row : rows) {
        if (times[row.name] > 1)
            row.name += ", " + host_memory_words(vgpualloc::to_bytes(vgpualloc::mib{row.memory_mib}));
    }
    times.clear();
    for (shape_row& row : rows) {
        if (const std::int64_t number = ++times[row.name]; number > 1) row.name += fmt::format(" #{}", number);
    }
}

bool has_model_refusal(rejection_code code) {
    return code == rejection_code::model_not_accepted || code == rejection_code::type_not_accepted ||
           code == rejection_code::uuid_not_accepted;
}

} // namespace

std::map<std::string, std::int64_t> resources_of(const kube::snapshot& state,
                                                 const vgpualloc::kubernetes::pod& object) {
    std::map<std::string, std::int64_t> result;
    const auto is_read = [&](const std::string& resource) {
        return std::ranges::any_of(state.dialects,
                                   [&](const auto& spoken) { return spoken->reads_resource(resource); });
    };
    for (const auto& [resource, amount] : kube::extended_requests(object)) {
        if (amount > 0 && is_read(resource)) result[resource] = amount;
    }
    return result;
}

bool asks_for_devices(const kube::snapshot_pod& pod) {
    const auto& containers = pod.request.containers;
    return pod.failure.has_value() ||
           std::ranges::any_of(containers, [](const auto& container) { return container.count > 0; });
}

bool asks_for_unread(const kube::snapshot& state, const kube::snapshot_pod& pod) {
    if (asks_for_devices(pod)) return false;
    const auto is_read = [&](const std::string& resource) {
        return std::ranges::any_of(state.dialects,
                                   [&](const auto& spoken) { return spoken->reads_resource(resource); });
    };
    return !pod.object.claims.empty() || !std::ranges::all_of(pod.request.rules.resources, is_read);
}

wrong_kinds split_wrong_kind(const kube::snapshot& state, const vgpualloc::pod_request& request,
                             std::int64_t wrong_milli) {
    const vgpualloc::cluster& nodes = state.nodes();
    std::vector<std::optional<bool>> other_model(nodes.kinds.size()); // by kind, whether its model is what excludes it
    const auto excludes_model = [&](std::uint32_t kind) {
        if (other_model[kind]) return *other_model[kind];
        other_model[kind] = std::ranges::any_of(request.containers, [&](const auto& container) {
            return container.count > 0 && has_model_refusal(vgpualloc::why_never(nodes.kinds[kind], container));
        });
        return *other_model[kind];
    };
    const auto excludes_uuid = [&](const std::string& uuid) {
        return std::ranges::none_of(request.containers, [&](const auto& container) {
            return container.count > 0 && vgpualloc::accepts_uuid(container, uuid);
        });
    };
    vgpualloc::host_rules rules = request.rules;
    rules.resources.clear(); // that a node does not offer what the pod names is its layout, and no rule of the pod's
    wrong_kinds result;
    for (std::size_t n = 0; n < nodes.nodes.size(); ++n) {
        if (!state.book->is_present(node_index{n})) continue;
        const vgpualloc::node& node = nodes.nodes[n];
        if (!node.host.ready || node.host.unschedulable) continue;
        const bool is_excluded = vgpualloc::why_not_host(rules, node.host, node.name) != rejection_code::none;
        const auto states = state.book->devices(node_index{n});
        const auto services = state.book->services(node_index{n});
        for (std::size_t d = 0; d < states.size(); ++d) {
            if (services[d] != vgpualloc::service_state::in_service) continue;
            const vgpualloc::device_spec& spec = nodes.spec_of(node_index{n}, device_index{d});
            const std::int64_t idle = (vgpualloc::whole_gpu - spec.mode->used(spec, states[d])).count();
            if (is_excluded) {
                result.rules += idle;
            } else if (excludes_model(node.devices[d].kind) || excludes_uuid(node.devices[d].uuid)) {
                result.model += idle;
            }
        }
    }
    result.rules = std::min(result.rules, wrong_milli);
    result.model = std::min(result.model, wrong_milli - result.rules);
    result.layout = wrong_milli - result.rules - result.model;
    return result;
}

rooms rooms_of_waiting(kube::snapshot& state, const selection& chosen, const stop_signal& stop) {
    rooms result;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!pod.failure && asks_for_devices(pod) && is_listed(pod, chosen)) result.try_emplace(pod.request);
    }
    std::vector<const vgpualloc::pod_request*> requests;
    for (const auto& [request, available] : result) requests.push_back(&request);
    headroom spare{state};
    const std::vector<bool> alone = spare.fit_alone(requests, stop);
    const vgpualloc::idle_splitter splitter{*state.book};
    std::size_t position = 0;
    stop_signal end = stop;
    for (auto& [request, available] : result) {
        if (end.poll()) return result;
        const headroom::filling filled = spare.filled_with(request, splitter, stop);
        available = {.fits_alone = alone[position++],
                     .more = filled.more,
                     .more_alone = filled.more_alone,
                     .asked_milli = asked_by(state, request),
                     .idle = filled.idle,
                     .kept_idle = filled.kept_idle};
        if (filled.more_alone == 0) available.in_sum = idle_for_one(state, request);
    }
    return result;
}

namespace {

/// The mean over pods of what is of the wrong kind, in parts that add up to `wrong_milli`.
wrong_kinds mean_of(const std::vector<shape_row>& rows, std::int64_t wrong_milli) {
    std::array<double, 3> sums{};
    for (const shape_row& row : rows) {
        const auto pods = static_cast<double>(row.run + row.wait);
        sums[0] += pods * static_cast<double>(row.wrong.model);
        sums[1] += pods * static_cast<double>(row.wrong.layout);
        sums[2] += pods * static_cast<double>(row.wrong.rules);
    }
    const double all = sums[0] + sums[1] + sums[2];
    if (all <= 0) return {.layout = wrong_milli};
    for (double& sum : sums) sum *= static_cast<double>(wrong_milli) / all;
    std::array<std::int64_t, 3> parts{};
    vgpualloc::round_to_total(std::span<const double>{sums}, 1, wrong_milli, parts);
    return {.model = parts[0], .layout = parts[1], .rules = parts[2]};
}

} // namespace

void add_shapes(kube::snapshot& state, const selection& chosen, const rooms& known, const first_verdicts& verdicts,
                overview& to, const stop_signal& stop) {
    constexpr auto wrong_kind = static_cast<std::size_t>(vgpualloc::idle_cause::wrong_kind);
    headroom spare{state};
    const vgpualloc::idle_splitter splitter{*state.book};
    idle_mean mean;
    stop_signal end = stop;
    for (const auto& [request, pods] : pods_of(state, chosen)) {
        if (end.poll()) return;
        const auto available = known.find(*request);
        const headroom::filling filled = available == known.end()
                                             ? spare.filled_with(*request, splitter, stop)
                                             : headroom::filling{.more = available->second.more,
                                                                 .idle = available->second.idle,
                                                                 .kept_idle = available->second.kept_idle};
        shape_row row{.name = shape_name(*pods.first),
                      .asks = resources_of(state, pods.first->object),
                      .cpu_milli = request->cpu.count(),
                      .memory_mib = vgpualloc::mib_up(request->memory),
                      .rules = shape_rules(*request),
                      .run = pods.run,
                      .wait = pods.wait,
                      .more = filled.more,
                      .idle = filled.idle};
        row.wrong = split_wrong_kind(state, *request, row.idle[wrong_kind] - filled.kept_idle);
        row.wrong.rules += filled.kept_idle;
        mean.add(*request, pods.run + pods.wait, filled.kept_idle);
        if (const auto entry = verdicts.find(*request); entry != verdicts.end()) row.first_verdict = entry->second;
        to.shapes.push_back(std::move(row));
        to.mean_run += pods.run;
        to.mean_wait += pods.wait;
    }
    tell_apart(to.shapes);
    to.mean = mean.over(splitter, stop);
    to.mean_wrong = mean_of(to.shapes, to.mean[wrong_kind]);
    std::ranges::stable_sort(to.shapes, {}, [](const shape_row& row) {
        return std::tuple{row.wait == 0, -row.wait, row.first_verdict, -row.run, std::string_view{row.name}};
    });
}

} // namespace vgpuops::show
