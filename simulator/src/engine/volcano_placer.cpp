#include "vgpusim/engine/volcano_placer.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpusim/engine/empty_cluster.hpp"

namespace vgpusim {

namespace volcano = vgpualloc::compat::volcano;
using vgpualloc::device_share;

namespace {

/// What the model's names of reasons (docs/compat.md) come closest to.
rejection_code code_of(const std::string& reason) {
    static const std::map<std::string_view, rejection_code> codes{
        {"mode_mismatch", rejection_code::mode_not_offered},
        {"not_enough_cards", rejection_code::too_few_devices},
        {"uuid_no_match", rejection_code::uuid_not_accepted},
        {"not_enough_fit", rejection_code::too_few_devices},
        {"not_enough_memory", rejection_code::insufficient_device_memory},
        {"not_enough_number", rejection_code::insufficient_device_slots},
        {"multi_device_partial_memory", rejection_code::request_not_valid},
        {"noded_preseparate", rejection_code::node_not_ready},
        {"no_npu_core_resource", rejection_code::resource_not_offered},
        {"idle_core_insufficient", rejection_code::insufficient_device_cores},
        {"bad_dvpp", rejection_code::request_not_valid},
        {"bad_core_count", rejection_code::request_not_valid},
        {"invalid_vnode", rejection_code::device_unhealthy},
        {"template_not_found_with_busy_node", rejection_code::insufficient_device_cores},
        {"different_template_on_node", rejection_code::isolation_differs},
    };
    const auto known = codes.find(reason);
    return known == codes.end() ? rejection_code::too_few_devices : known->second;
}

/// What most of the candidates say, the first in the order of the codes where several are as many.
rejection_code main_code(const volcano::attempt& attempt, const std::vector<bool>& candidates) {
    if (attempt.allocated) return code_of(attempt.allocated->reason);
    std::array<std::size_t, vgpualloc::rejection_code_count> counts{};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!candidates[i]) continue;
        const volcano::node_answer& answer = attempt.nodes[i];
        ++counts[static_cast<std::size_t>(answer.requested ? code_of(answer.verdict.reason)
                                                           : rejection_code::family_not_offered)];
    }
    return static_cast<rejection_code>(std::ranges::max_element(counts) - counts.begin());
}

} // namespace

expected<void> check_volcano(const simulation_input& input, const vgpualloc::cluster& nodes) {
    if (!input.objects) {
        return unexpected(bad_value(error_code::unsupported, "policy", volcano_policy,
                                    "a policy of vgpualloc for lists of this format: Volcano decides by "
                                    "Kubernetes objects (format kubernetes)"));
    }
    const auto of_device = std::ranges::find_if(input.cluster_events,
                                                [](const cluster_event& change) { return change.device.has_value(); });
    if (of_device == input.cluster_events.end()) return {};
    return unexpected(bad_value(error_code::unsupported, "events",
                                "device " + std::to_string(of_device->device->value()) + " of node " +
                                    nodes.nodes[of_device->node.at()].name,
                                "events of whole nodes with policy compat:volcano"));
}

volcano::device_config volcano_devices(const vgpualloc::dialect_config& config) {
    volcano::device_config result;
    const auto& vgpu = config.devices.vgpu;
    if (config.configured_by.contains(vgpualloc::configured_system::vgpu)) {
        result.count_name = vgpu.count_name;
        result.memory_name = vgpu.memory_name;
        result.core_name = vgpu.cores_name;
        result.percent_name = vgpu.memory_percentage_name;
        result.gpu_memory_factor = vgpu.memory_factor;
    }
    for (const auto& known : vgpu.geometries) {
        volcano::mig_geometry& geometry = result.mig_geometries.emplace_back();
        geometry.models = known.models;
        for (const auto& group : known.groups) {
            volcano::mig_group& instances =
                geometry.groups.emplace_back(volcano::mig_group{.name = group.name, .instances = {}});
            for (const auto& kind : group.kinds) {
                instances.instances.push_back({.name = kind.name, .memory = kind.memory.count(), .count = kind.count});
            }
        }
    }
    result.hami_vnpu_core = config.devices.hami_vnpu_core;
    for (const auto& known : config.devices.vnpus) {
        volcano::vnpu_kind& kind =
            result.vnpus.emplace_back(volcano::vnpu_kind{.common_word = known.kind.name,
                                                         .chip_name = known.chip_name,
                                                         .resource_name = known.resource_name,
                                                         .resource_memory_name = known.resource_memory_name,
                                                         .memory_allocatable = known.kind.memory_allocatable.count(),
                                                         .memory_capacity = known.kind.memory_capacity.count(),
                                                         .ai_core = known.kind.ai_core,
                                                         .ai_cpu = known.kind.ai_cpu,
                                                         .templates = {}});
        for (const auto& cut : known.kind.templates) {
            kind.templates.push_back(
                {.name = cut.name, .memory = cut.memory.count(), .ai_core = cut.ai_core, .ai_cpu = cut.ai_cpu});
        }
    }
    return result;
}

volcano::plugin_options volcano_options(const kubernetes_objects& objects) {
    constexpr std::int64_t default_weight = 10;
    volcano::plugin_options result;
    if (!objects.scheduler) {
        result.policy = "binpack";
        result.weight = default_weight;
        result.vgpu = true;
        result.ascend_hami = true;
        result.ascend_mindcluster = true;
        return result;
    }
    const auto& told = objects.scheduler->deviceshare;
    result.policy = told.schedule_policy;
    // Upstream ranks no node where a policy is given without a weight.
    result.weight = told.weight_assumed ? 0 : told.schedule_weight;
    result.gpushare_memory = told.gpu_sharing;
    result.gpushare_number = told.gpu_number;
    result.vgpu = told.vgpu;
    result.ascend_hami = told.hami_vnpu;
    result.ascend_mindcluster = told.mindcluster_vnpu;
    result.exclusive_rules = told.exclusive_rules;
    return result;
}

volcano_placer::volcano_placer(const simulation_input& input, vgpualloc::ledger& book)
    : input_{&input}, ledger_{&book}, scheduler_{make_scheduler()}, candidates_(book.nodes().nodes.size()) {
    for (const auto& pod : input.objects->pods) {
        const auto asked = input.objects->dialects.asked_by(pod);
        spoken_.push_back(asked.empty() ? nullptr : &input.objects->dialects[asked.front()]);
    }
    scheduler_->open_session();
}

std::unique_ptr<volcano_placer::scheduler> volcano_placer::make_scheduler() const {
    const kubernetes_objects& objects = *input_->objects;
    auto made_of = std::make_unique<scheduler>(volcano_devices(objects.dialects.config()), volcano_options(objects));
    for (const kubernetes_node& node : objects.nodes) {
        made_of->add_node(node.object,
                          {.device_list = node.device_list, .device_list_update_time = 0, .noded_status = {}});
    }
    return made_of;
}

/// The pod as it is created: no two of a run have the same uid.
vgpualloc::kubernetes::pod volcano_placer::object_of(std::uint32_t pod) const {
    const arriving_pod& arriving = input_->pods[pod];
    vgpualloc::kubernetes::pod object = input_->objects->pods[arriving.request];
    object.name = input_->name_of(arriving);
    object.uid = object.name;
    if (object.ns.empty()) object.ns = "default";
    return object;
}

bool volcano_placer::asks_for_devices(std::uint32_t pod) const { return spoken_[input_->pods[pod].request] != nullptr; }

/// Fills candidates_; if there are none, the reason of the first node.
rejection_code volcano_placer::find_candidates(std::uint32_t pod) {
    const auto& nodes = ledger_->nodes().nodes;
    const pod_request& request = request_of(pod);
    rejection_code first = nodes.empty() ? rejection_code::no_nodes : rejection_code::none;
    bool any = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        rejection_code code = vgpualloc::why_not_host(request.rules, nodes[i].host, nodes[i].name);
        if (code == rejection_code::none) {
            code = ledger_->why_not_host(node_index{i}, request.cpu, request.memory).code;
        }
        candidates_[i] = code == rejection_code::none;
        any = any || candidates_[i];
        if (i == 0) first = code;
    }
    return any ? rejection_code::none : first;
}

expected<vgpualloc::placed_pod, rejection_code> volcano_placer::place(std::uint32_t pod) {
    if (const auto code = find_candidates(pod); code != rejection_code::none) return unexpected(code);
    if (!asks_for_devices(pod)) {
        const auto first = std::ranges::find(candidates_, true) - candidates_.begin();
        return book({.owner = pod_id{pod},
                     .cpu = request_of(pod).cpu,
                     .memory = request_of(pod).memory,
                     .where = {.node = node_index{static_cast<std::size_t>(first)}, .shares = {}},
                     .tags = {}});
    }
    scheduler_->admit_only(candidates_);
    vgpualloc::kubernetes::pod object = object_of(pod);
    const volcano::attempt attempt = scheduler_->try_in_session(object, false);
    if (!attempt.allocated || !attempt.allocated->ok) return unexpected(main_code(attempt, candidates_));
    for (const auto& [key, value] : attempt.allocated->annotations) object.annotations[key] = value;
    allocated_.push_back({.pod = pod, .bound = object, .node = *attempt.chosen});
    return book(read_back(pod, std::move(object), attempt));
}

/// What the annotations of a bound pod say that it has, as the node's devices are numbered in the ledger.
vgpualloc::booking volcano_placer::read_back(std::uint32_t pod, vgpualloc::kubernetes::pod bound,
                                             const volcano::attempt& attempt) {
    const node_index where{*attempt.chosen};
    const auto& devices = input_->objects->nodes[where.at()].devices;
    const vgpualloc::dialect& spoken = *spoken_[input_->pods[pod].request];
    std::vector<vgpualloc::device_registration> registered;
    std::vector<device_index> positions;
    for (std::size_t d = 0; d < devices.size(); ++d) {
        if (devices[d].dialect != spoken.name()) continue;
        registered.push_back(devices[d].registered);
        positions.emplace_back(d);
    }
    const pod_request& request = request_of(pod);
    auto assignment = spoken.read_assignment(bound, registered);
    vgpualloc::booking given{.owner = pod_id{pod},
                             .cpu = request.cpu,
                             .memory = request.memory,
                             .where = {.node = where, .shares = {}},
                             .tags = spoken.tags_of(bound, request, assignment.shares)};
    for (device_share& share : assignment.shares) {
        share.device = positions[share.device.at()];
        given.where.shares.push_back(share);
    }
    given_beyond_.not_counted.erase(pod); // of an earlier start
    if (assignment.problems.empty()) return given;
    // An assignment that the dialect does not read, such as memory of a card that the node registers as cut by MIG.
    auto& unread = given_beyond_.not_counted[pod];
    for (const auto& container : attempt.allocated->containers) {
        for (const volcano::picked_card& card : container) {
            const auto device = std::ranges::find(
                registered, card.uuid, [](const vgpualloc::device_registration& known) { return known.uuid; });
            if (device == registered.end()) continue;
            const device_index position = positions[static_cast<std::size_t>(device - registered.begin())];
            const bool is_counted = std::ranges::any_of(
                given.where.shares, [position](const device_share& share) { return share.device == position; });
            if (!is_counted) unread.push_back(position);
        }
    }
    if (unread.empty()) given_beyond_.not_counted.erase(pod);
    return given;
}

vgpualloc::placed_pod volcano_placer::book(vgpualloc::booking given) {
    auto adopted = ledger_->adopt(given);
    if (!adopted) {
        auto& devices = given_beyond_.not_counted[static_cast<std::uint32_t>(given.owner.at())];
        for (const device_share& share : given.where.shares) devices.push_back(share.device);
        given.where.shares.clear();
        adopted = ledger_->adopt(given);
    }
    VGA_ASSERT(adopted.has_value(), "the host part of a candidate's pod can be counted");
    for (const device_share& share : given.where.shares) {
        if (ledger_->is_overcommitted(given.where.node, share.device)) {
            overcommitted_.emplace(given.where.node, share.device);
        }
    }
    vgpualloc::placed_pod placed;
    static_cast<vgpualloc::placement&>(placed) = std::move(given.where);
    placed.booking = *adopted;
    return placed;
}

/// Called when an instant is over for good, and not within one: a gang may be taken back again.
void volcano_placer::count_overcommitted() {
    std::erase_if(overcommitted_,
                  [this](const auto& device) { return !ledger_->is_overcommitted(device.first, device.second); });
    given_beyond_.devices_last = static_cast<std::int64_t>(overcommitted_.size());
    given_beyond_.devices_max = std::max(given_beyond_.devices_max, given_beyond_.devices_last);
}

/// Jobs that are complete are bound; a session that is open does not see the cache.
void volcano_placer::bind_allocated() {
    for (allocated_pod& whole : allocated_) scheduler_->restore(std::move(whole.bound), whole.node);
    allocated_.clear();
}

void volcano_placer::begin_pass() {
    bind_allocated();
    scheduler_->open_session();
}

void volcano_placer::discard(std::uint32_t pod) {
    const auto here = std::ranges::find(allocated_, pod, &allocated_pod::pod);
    if (here == allocated_.end()) return; // it asks for no device
    scheduler_->discard(object_of(pod), here->node);
    allocated_.erase(here);
}

void volcano_placer::release(std::uint32_t pod) {
    bind_allocated();
    count_overcommitted();
    // A pod without devices was never told to the model.
    if (asks_for_devices(pod)) static_cast<void>(scheduler_->remove(input_->name_of(input_->pods[pod])));
}

rejection_code volcano_placer::why_never(std::span<const std::uint32_t> pods, std::uint32_t minimum) {
    vgpualloc::ledger idle_book{all_in_service(ledger_->nodes())};
    volcano_placer idle{*input_, idle_book};
    std::uint32_t placed = 0;
    rejection_code first_refusal = rejection_code::none;
    for (const std::uint32_t pod : pods) {
        if (const auto where = idle.place(pod)) {
            ++placed;
        } else if (first_refusal == rejection_code::none) {
            first_refusal = where.error();
        }
    }
    return placed >= minimum ? rejection_code::none : first_refusal;
}

overcommitment volcano_placer::given_beyond() {
    count_overcommitted();
    return given_beyond_;
}

} // namespace vgpusim
