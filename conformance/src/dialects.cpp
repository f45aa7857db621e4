// The dialects of the recorded families, as native reads them.
#include <charconv>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "native.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/explain/deviceshare.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"

namespace vgpusim::conformance {

namespace {

namespace dialect = vgpualloc::dialect;
using vgpualloc::device_registration;
using vgpualloc::device_request;
using vgpualloc::device_share;
using vgpualloc::device_spec;
using vgpualloc::device_state;
using vgpualloc::kubernetes::pod;
using registrations = std::span<const device_registration>;

/// What every family has: the nodes as recorded, policy and weight.
class recorded_dialect : public native_dialect {
public:
    explicit recorded_dialect(const json& recorded)
        : arguments_{options_from(recorded)}, config_{config_from(recorded)} {
        for (const json& each : recorded.at("nodes")) {
            nodes_.push_back(node_from(each));
            infos_.push_back(npu_info_from(each));
        }
    }

protected:
    [[nodiscard]] deviceshare_ranking ranking() const {
        return {.policy = arguments_.policy, .weight = arguments_.weight};
    }
    [[nodiscard]] const volcano::plugin_options& arguments() const { return arguments_; }
    [[nodiscard]] const volcano::device_config& config() const { return config_; }
    [[nodiscard]] const vgpualloc::kubernetes::node& node(std::size_t i) const { return nodes_[i]; }
    [[nodiscard]] const volcano::npu_node_info& info(std::size_t i) const { return infos_[i]; }

private:
    volcano::plugin_options arguments_;
    volcano::device_config config_;
    std::vector<vgpualloc::kubernetes::node> nodes_;
    std::vector<volcano::npu_node_info> infos_;
};

/// A pod that cannot be read fits nowhere.
std::vector<vgpualloc::pod_request> one_or_none(vgpualloc::expected<vgpualloc::pod_request> read) {
    return read ? std::vector{*std::move(read)} : std::vector<vgpualloc::pod_request>{};
}

booked_use all_of(const device_state& state) {
    return {.slots = state.slots, .memory = state.memory.count(), .cores = state.cores.count()};
}

class vgpu final : public recorded_dialect {
public:
    explicit vgpu(const json& recorded) : recorded_dialect{recorded} {
        with_.count_name = config().count_name;
        with_.memory_name = config().memory_name;
        with_.cores_name = config().core_name;
        if (!config().percent_name.empty()) with_.memory_percentage_name = config().percent_name;
        with_.memory_factor = std::max<std::int64_t>(1, config().gpu_memory_factor);
        with_.exclusive_rules = arguments().exclusive_rules;
        with_.mps_as_hami_core = true;
        for (const volcano::mig_geometry& each : config().mig_geometries) {
            auto& to = with_.geometries.emplace_back();
            to.models = each.models;
            for (const volcano::mig_group& group : each.groups) {
                auto& made = to.groups.emplace_back();
                made.name = group.name;
                for (const auto& kind : group.instances) {
                    made.kinds.push_back(
                        {.name = kind.name, .memory = vgpualloc::mib{kind.memory}, .count = kind.count});
                }
            }
        }
    }
    [[nodiscard]] dialect::node_reading read_node(std::size_t i, std::span<const pod* const>) const override {
        return dialect::volcano_vgpu::read_node(node(i), with_);
    }
    [[nodiscard]] bool requests(const pod& asked) const override {
        return dialect::volcano_vgpu::requests(asked, with_);
    }
    [[nodiscard]] std::vector<vgpualloc::pod_request> read_pod(const pod& asked) const override {
        return one_or_none(dialect::volcano_vgpu::read_pod(asked, with_));
    }
    [[nodiscard]] dialect::assignment_reading read_assignment(const pod& bound, registrations on) const override {
        return dialect::volcano_vgpu::read_assignment(bound, on, with_);
    }
    [[nodiscard]] std::vector<std::string> tags_of(const pod& bound, std::span<const device_share> has) const override {
        return dialect::volcano_vgpu::tags_of(bound, has, with_);
    }
    [[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy() const override {
        return make_deviceshare_policy("volcano_vgpu", ranking());
    }
    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& on,
                                     const device_request& wanted) const override {
        taken_part part{.cut = {}, .cores = wanted.cores.count()};
        if (const auto* some = std::get_if<vgpualloc::slice>(&share.part)) part.memory = some->memory.count();
        if (const auto* given = std::get_if<vgpualloc::mig_instance>(&share.part)) part.cut = slot_name(*given, on);
        return part;
    }
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration&) const override {
        return all_of(state);
    }

private:
    /// `group-position`, where the position counts the slots of the group's kinds before this one.
    [[nodiscard]] static std::string slot_name(const vgpualloc::mig_instance& given, const device_registration& on) {
        std::uint32_t kind = 0;
        for (const vgpualloc::mig_group& group : on.geometry) {
            std::int64_t position = 0;
            for (const vgpualloc::mig_kind& each : group.kinds) {
                if (kind++ == given.profile) return fmt::format("{}-{}", group.name, position + given.start);
                position += each.count;
            }
        }
        throw std::logic_error{"an instance is one of its card's geometry"};
    }

    dialect::volcano_vgpu::options with_;
};

class gpushare final : public recorded_dialect {
public:
    explicit gpushare(const json& recorded) : recorded_dialect{recorded} {
        with_.memory_enabled = arguments().gpushare_memory;
        with_.number_enabled = arguments().gpushare_number;
    }
    [[nodiscard]] dialect::node_reading read_node(std::size_t i, std::span<const pod* const>) const override {
        return dialect::gpushare::read_node(node(i), with_);
    }
    [[nodiscard]] bool requests(const pod& asked) const override { return dialect::gpushare::requests(asked, with_); }
    [[nodiscard]] std::vector<vgpualloc::pod_request> read_pod(const pod& asked) const override {
        return one_or_none(dialect::gpushare::read_pod(asked, with_));
    }
    [[nodiscard]] dialect::assignment_reading read_assignment(const pod& bound, registrations on) const override {
        return dialect::gpushare::read_assignment(bound, on, with_);
    }
    [[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy() const override {
        return make_deviceshare_policy("gpushare", ranking());
    }
    [[nodiscard]] taken_part part_of(const device_share&, const device_registration&,
                                     const device_request&) const override {
        return {};
    }
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration&) const override {
        return {.slots = state.slots, .memory = with_.memory_enabled ? state.memory.count() : 0, .cores = 0};
    }

private:
    dialect::gpushare::options with_;
};

class ascend final : public recorded_dialect {
public:
    explicit ascend(const json& recorded) : recorded_dialect{recorded} {
        with_.soft_by_default = config().hami_vnpu_core;
        for (const volcano::vnpu_kind& each : config().vnpus) {
            auto& to = with_.kinds.emplace_back();
            to.resource = each.resource_name;
            to.resource_memory = each.resource_memory_name;
            to.npu = {.name = each.common_word,
                      .memory_allocatable = vgpualloc::mib{each.memory_allocatable},
                      .memory_capacity = vgpualloc::mib{each.memory_capacity},
                      .ai_core = 0, // Volcano counts neither
                      .ai_cpu = 0,
                      .templates = {}};
            for (const auto& one : each.templates) {
                to.npu.templates.push_back({.name = one.name,
                                            .memory = vgpualloc::mib{one.memory},
                                            .ai_core = one.ai_core,
                                            .ai_cpu = one.ai_cpu});
            }
        }
    }
    [[nodiscard]] dialect::node_reading read_node(std::size_t i, std::span<const pod* const>) const override {
        return dialect::ascend_hami::read_node(node(i), with_);
    }
    [[nodiscard]] bool requests(const pod& asked) const override {
        return dialect::ascend_hami::requests(asked, with_);
    }
    [[nodiscard]] std::vector<vgpualloc::pod_request> read_pod(const pod& asked) const override {
        return one_or_none(dialect::ascend_hami::read_pod(asked, with_));
    }
    [[nodiscard]] dialect::assignment_reading read_assignment(const pod& bound, registrations on) const override {
        return dialect::ascend_hami::read_assignment(bound, on, with_);
    }
    [[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy() const override {
        return make_deviceshare_policy("ascend_hami", ranking());
    }
    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& on,
                                     const device_request& wanted) const override {
        taken_part part{.cut = {}, .cores = wanted.cores.count()};
        if (const auto* some = std::get_if<vgpualloc::slice>(&share.part)) part.memory = some->memory.count();
        if (const auto* given = std::get_if<vgpualloc::vir_template>(&share.part)) {
            part.memory = given->memory.count();
            auto sorted = on.npu.templates;
            std::ranges::stable_sort(sorted, {}, &vgpualloc::npu_template::memory);
            if (given->index < sorted.size()) part.cut = sorted[given->index].name;
        }
        return part;
    }
    [[nodiscard]] booked_use use_of(const device_spec&, const device_state& state,
                                    const device_registration&) const override {
        return all_of(state);
    }

private:
    dialect::ascend_hami::options with_;
};

class npu_310p final : public recorded_dialect {
public:
    explicit npu_310p(const json& recorded) : recorded_dialect{recorded} {
        with_.strict_dvpp = false;
        with_.every_container = false;
        for (const json& each : recorded.at("nodes")) capacity_.push_back(ai_cores_of(node_from(each)));
    }
    [[nodiscard]] dialect::node_reading read_node(std::size_t i, std::span<const pod* const> here) const override {
        return dialect::mindcluster::read_node(node(i),
                                               {.device_list = info(i).device_list,
                                                .update_time = info(i).device_list_update_time,
                                                .noded_status = info(i).noded_status},
                                               here, with_);
    }
    [[nodiscard]] bool requests(const pod& asked) const override {
        return dialect::mindcluster::requests(asked, with_);
    }
    /// For chips of 8 and of 10 AI cores: which cores make whole chips depends on the node.
    [[nodiscard]] std::vector<vgpualloc::pod_request> read_pod(const pod& asked) const override {
        auto read = dialect::mindcluster::readings(asked, with_);
        if (!read) return {};
        for (auto& request : *read) request.memory = vgpualloc::bytes{extended_needed(asked)};
        return *std::move(read);
    }
    [[nodiscard]] std::int64_t extended_of_node(std::size_t i) const override { return capacity_[i]; }
    [[nodiscard]] std::int64_t extended_booked(const pod& asked) const override {
        std::int64_t sum = 0;
        for (const auto& each : asked.containers) sum += cores_of(each);
        return sum;
    }
    [[nodiscard]] dialect::assignment_reading read_assignment(const pod& bound, registrations on) const override {
        return dialect::mindcluster::read_assignment(bound, on, with_);
    }
    [[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy() const override {
        auto with = ranking();
        with.ai_cores = capacity_;
        return make_deviceshare_policy("mindcluster", std::move(with));
    }
    [[nodiscard]] bool has_cache() const override { return false; }
    [[nodiscard]] std::int64_t number_of(std::size_t device, const device_registration& on) const override {
        const auto dash = on.uuid.rfind('-');
        std::int64_t number = static_cast<std::int64_t>(device);
        if (dash != std::string::npos)
            std::from_chars(on.uuid.data() + dash + 1, on.uuid.data() + on.uuid.size(), number);
        return number;
    }
    [[nodiscard]] taken_part part_of(const device_share& share, const device_registration& on,
                                     const device_request&) const override {
        taken_part part{.cut = {}};
        if (const auto* given = std::get_if<vgpualloc::vir_template>(&share.part)) {
            part.cut = on.npu.templates[given->index].name;
        }
        return part;
    }
    [[nodiscard]] booked_use use_of(const device_spec& spec, const device_state& state,
                                    const device_registration& on) const override {
        const auto* mode = dynamic_cast<const vgpualloc::modes::mindcluster_310p*>(spec.mode);
        std::int64_t cpus = mode == nullptr ? 0 : mode->cpu_of(state);
        if (cpus == 0 && state.cores == spec.cores) cpus = on.npu.ai_cpu; // the whole chip
        return {.slots = 0, .memory = cpus, .cores = state.cores.count()};
    }

private:
    [[nodiscard]] static std::int64_t cores_of(const vgpualloc::kubernetes::container& in) {
        const auto found = in.limits.find("huawei.com/npu-core");
        return found == in.limits.end() ? 0 : found->second;
    }
    /// Upstream compares what the first container asks for, and books what all of them do.
    [[nodiscard]] static std::int64_t extended_needed(const pod& asked) {
        for (const auto& each : asked.containers) {
            if (cores_of(each) != 0) return cores_of(each);
        }
        return 0;
    }

    dialect::mindcluster::options with_;
    std::vector<std::int64_t> capacity_;
};

} // namespace

std::unique_ptr<native_dialect> make_native_dialect(const json& recorded_case) {
    const auto family = recorded_case.at("family").get<std::string>();
    if (family == "gpushare") return std::make_unique<gpushare>(recorded_case);
    if (family == "ascend-hami") return std::make_unique<ascend>(recorded_case);
    if (family == "ascend-mindcluster-310p") return std::make_unique<npu_310p>(recorded_case);
    return std::make_unique<vgpu>(recorded_case); // options_from() knows the other families
}

} // namespace vgpusim::conformance
