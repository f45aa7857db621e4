// The recorded families: the dialect that each is read in, and what its recordings say in words of their own.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "native.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace vgpuconformance {

namespace {

namespace dialects = vgpualloc::dialects;
using vgpualloc::device_registration;
using vgpualloc::device_request;
using vgpualloc::device_share;
using vgpualloc::device_spec;
using vgpualloc::device_state;
using vgpualloc::dialect;
using vgpualloc::kubernetes::pod;

booked_use all_of(const device_state& state) {
    return {.slots = state.slots, .memory = state.memory.count(), .cores = state.cores.count()};
}

// --- vGPU

std::shared_ptr<const dialect> vgpu_dialect(const volcano::device_config& config,
                                            const volcano::plugin_options& arguments) {
    dialects::volcano_vgpu::options configured;
    configured.count_name = config.count_name;
    configured.memory_name = config.memory_name;
    configured.cores_name = config.core_name;
    if (!config.percent_name.empty()) configured.memory_percentage_name = config.percent_name;
    configured.memory_factor = std::max<std::int64_t>(1, config.gpu_memory_factor);
    configured.exclusive_rules = arguments.exclusive_rules;
    configured.unknown_as_hami_core = true; // recorded configurations often have no geometry for a card
    for (const volcano::mig_geometry& recorded : config.mig_geometries) {
        auto& geometry = configured.geometries.emplace_back();
        geometry.models = recorded.models;
        for (const volcano::mig_group& recorded_group : recorded.groups) {
            auto& group = geometry.groups.emplace_back();
            group.name = recorded_group.name;
            for (const auto& kind : recorded_group.instances) {
                group.kinds.push_back({.name = kind.name, .memory = vgpualloc::mib{kind.memory}, .count = kind.count});
            }
        }
    }
    return dialects::volcano_vgpu::make(std::move(configured));
}

class vgpu final : public native_family {
public:
    using native_family::native_family;

    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& card,
                                     const device_request& request) const override {
        taken_part part{.cut = {}, .cores = request.cores.count()};
        if (const auto* some = std::get_if<vgpualloc::slice>(&share.part)) part.memory = some->memory.count();
        if (const auto* instance = std::get_if<vgpualloc::mig_instance>(&share.part)) {
            part.cut = slot_name(*instance, card);
        }
        return part;
    }
    /// An instance has the compute that it has: nothing is booked on the card beside it, which is what recordings
    /// count.
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration& card) const override {
        booked_use use = all_of(state);
        if (card.mode == "mig") use.cores = 0;
        return use;
    }

private:
    /// `group-position`, where the position counts the slots of the group's kinds before this one.
    [[nodiscard]] static std::string slot_name(const vgpualloc::mig_instance& instance,
                                               const device_registration& card) {
        std::uint32_t kind_number = 0;
        for (const vgpualloc::mig_group& group : card.geometry) {
            std::int64_t position = 0;
            for (const vgpualloc::mig_kind& kind : group.kinds) {
                if (kind_number++ == instance.profile) {
                    return fmt::format("{}-{}", group.name, position + instance.start);
                }
                position += kind.count;
            }
        }
        throw std::logic_error{"an instance is one of its card's geometry"};
    }
};

// --- gpushare

class gpushare final : public native_family {
public:
    gpushare(std::shared_ptr<const dialect> spoken, const recorded_case& recorded, bool by_memory)
        : native_family{std::move(spoken), recorded}, by_memory_{by_memory} {}

    [[nodiscard]] taken_part part_of(const device_share&, const device_registration&,
                                     const device_request&) const override {
        return {};
    }
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration&) const override {
        return {.slots = state.slots, .memory = by_memory_ ? state.memory.count() : 0, .cores = 0};
    }

private:
    bool by_memory_;
};

// --- Ascend in HAMi mode

std::shared_ptr<const dialect> ascend_dialect(const volcano::device_config& config) {
    dialects::ascend_hami::options configured;
    configured.soft_by_default = config.hami_vnpu_core;
    for (const volcano::vnpu_kind& recorded : config.vnpus) {
        auto& kind = configured.kinds.emplace_back();
        kind.resource = recorded.resource_name;
        kind.resource_memory = recorded.resource_memory_name;
        kind.npu = {.name = recorded.common_word,
                    .memory_allocatable = vgpualloc::mib{recorded.memory_allocatable},
                    .memory_capacity = vgpualloc::mib{recorded.memory_capacity},
                    .ai_core = recorded.ai_core,
                    .ai_cpu = recorded.ai_cpu,
                    .templates = {}};
        for (const auto& cut : recorded.templates) {
            kind.npu.templates.push_back(
                {.name = cut.name, .memory = vgpualloc::mib{cut.memory}, .ai_core = cut.ai_core, .ai_cpu = cut.ai_cpu});
        }
    }
    return dialects::ascend_hami::make(std::move(configured));
}

class ascend final : public native_family {
public:
    using native_family::native_family;

    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& card,
                                     const device_request& request) const override {
        taken_part part{.cut = {}, .cores = request.cores.count()};
        if (const auto* some = std::get_if<vgpualloc::slice>(&share.part)) part.memory = some->memory.count();
        if (const auto* cut = std::get_if<vgpualloc::vir_template>(&share.part)) {
            part.memory = cut->memory.count();
            auto sorted = card.npu.templates;
            std::ranges::stable_sort(sorted, {}, &vgpualloc::npu_template::memory);
            if (cut->index < sorted.size()) part.cut = sorted[cut->index].name;
        }
        return part;
    }
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration&) const override {
        return all_of(state);
    }
};

// --- Ascend 310P in MindCluster mode

class npu_310p final : public native_family {
public:
    explicit npu_310p(const recorded_case& recorded) : native_family{dialects::mindcluster::make({}), recorded} {
        for (const recorded_node& node : recorded.nodes) infos_.push_back(node.npu);
    }

    /// With the status of NodeD, which is in no ConfigMap that the dialect reads.
    [[nodiscard]] dialects::node_reading read_node(std::size_t position,
                                                   std::span<const pod* const> bound) const override {
        return dialects::mindcluster::read_node(
            node(position),
            {.device_list = infos_[position].device_list, .noded_status = infos_[position].noded_status}, bound,
            configured_);
    }
    /// For chips of 8 and of 10 AI cores: which cores make whole chips depends on the node.
    [[nodiscard]] std::vector<vgpualloc::pod_request> read_pod(const pod& asking) const override {
        auto requests = dialects::mindcluster::readings(asking, configured_);
        if (!requests) return {};
        for (auto& request : *requests) request.memory = vgpualloc::bytes{spoken().extended_of(asking)};
        return *std::move(requests);
    }
    [[nodiscard]] bool has_cache() const override { return false; }
    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& chip,
                                     const device_request&) const override {
        taken_part part{.cut = {}};
        if (const auto* cut = std::get_if<vgpualloc::vir_template>(&share.part)) {
            part.cut = chip.npu.templates[cut->index].name;
        }
        return part;
    }
    [[nodiscard]] booked_use use_of(const device_spec& spec, const device_state& state,
                                    const device_registration&) const override {
        const vgpualloc::use_vector use = spec.mode->use(spec, state);
        return {.slots = 0, .memory = use.ai_cpus, .cores = use.compute.count()};
    }

private:
    dialects::mindcluster::options configured_; ///< as they are by default
    std::vector<volcano::npu_node_info> infos_;
};

} // namespace

native_family::native_family(std::shared_ptr<const dialect> spoken, const recorded_case& recorded)
    : spoken_{std::move(spoken)} {
    ranking_ = {.policy = recorded.options.policy, .weight = recorded.options.weight};
    for (const recorded_node& node : recorded.nodes) {
        nodes_.push_back(node.node);
        ranking_.extended.push_back(spoken_->extended_of(nodes_.back()));
    }
}

dialects::node_reading native_family::read_node(std::size_t position, std::span<const pod* const> bound) const {
    return spoken_->read_node({.object = nodes_[position], .pods = bound});
}

std::vector<vgpualloc::pod_request> native_family::read_pod(const pod& asking) const {
    auto request = spoken_->read_pod(asking);
    return request ? std::vector{*std::move(request)} : std::vector<vgpualloc::pod_request>{};
}

std::unique_ptr<vgpualloc::policy> native_family::make_policy() const {
    return vgpualloc::explaining::make_deviceshare_policy(spoken_->deviceshare({}).ranking, ranking_);
}

std::unique_ptr<native_family> make_native_family(const recorded_case& recorded) {
    const volcano::plugin_options& arguments = recorded.options;
    if (recorded.family == "gpushare") {
        auto spoken = dialects::gpushare::make(
            {.memory_enabled = arguments.gpushare_memory, .number_enabled = arguments.gpushare_number});
        return std::make_unique<gpushare>(std::move(spoken), recorded, arguments.gpushare_memory);
    }
    if (recorded.family == "ascend-hami") return std::make_unique<ascend>(ascend_dialect(recorded.config), recorded);
    if (recorded.family == "ascend-mindcluster-310p") return std::make_unique<npu_310p>(recorded);
    return std::make_unique<vgpu>(vgpu_dialect(recorded.config, arguments), recorded); // read_case() knows the others
}

} // namespace vgpuconformance
