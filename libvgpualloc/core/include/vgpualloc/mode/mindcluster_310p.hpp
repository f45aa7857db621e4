// Ascend 310P as MindCluster cuts it: templates chosen by AI cores, use of the video engines and performance level.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/catalog/mindcluster_310p.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/mode/entry.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// A chip gives 1, 2 or 4 of its AI cores as a template, or all of them as a whole, unused chip. Counted are
/// AI cores, AI CPUs and the video engines (DVPP). With high_level a request gets the template with more AI CPUs, or,
/// if a chip is short of these, the smaller one: a compromise, so that chips and nodes with the larger one go first.
///
/// A request says its AI cores in device_request::cores; device_spec::cores is the chip's, device_spec::slots at least
/// as many. Memory is not counted. vir_template::index is the position in `rows`, its memory 0; device_state::layout
/// counts the users of each row in five bits, whole chips after them, and then the users of each vGroup in six. In
/// which vGroup a template is, the device plugin says once it has made it; placements do not choose it.
class mindcluster_310p final : public named<"mindcluster_310p", sharing_mode> {
public:
    using row = mindcluster_310p_template;
    static constexpr const auto& rows = mindcluster_310p_templates;

    [[nodiscard]] static expected<shared_mode> make(const device_registration& device, const mig_catalog& catalog);
    static constexpr auto key = &made_from<&device_registration::cores, &device_registration::npu>;
    [[nodiscard]] static device_registration example(); ///< 8 AI cores, 7 AI CPUs

    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = cores_;
        spec.slots = cores_.count();
        return spec;
    }

    /// The row asked for, or the smaller one in its stead where only that fits.
    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        const auto choices = parts_for(device, request);
        if (!choices) return;
        for (const partition& part : {choices->full, choices->reduced}) {
            if (why_not(device, state, part).code != rejection_code::none) continue;
            out.push_back(part);
            return;
        }
    }

    /// The smaller row where both fit.
    void further_candidates(const device_spec& device, const device_state& state, const device_request& request,
                            std::vector<partition>& out) const override {
        const auto choices = parts_for(device, request);
        if (!choices || choices->reduced == choices->full) return;
        if (why_not(device, state, choices->full).code == rejection_code::none) out.push_back(choices->reduced);
    }

    /// Where two rows would do, the answer is about the smaller one.
    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const auto choices = parts_for(device, request);
        if (!choices) {
            return {.code = rejection_code::request_not_valid,
                    .wanted = request.cores.count(),
                    .available = device.cores.count()};
        }
        return why_not(device, state, choices->reduced);
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        if (std::holds_alternative<whole_device>(part)) {
            if (state.slots == 0) return {};
            return {.code = rejection_code::device_in_use, .wanted = 0, .available = state.slots};
        }
        const auto* cut_part = std::get_if<vir_template>(&part);
        if (cut_part == nullptr || cut_part->index >= rows.size() || cut_part->group > groups_max ||
            *cut_part != cut(cut_part->index, cut_part->group)) {
            return {.code = rejection_code::mode_not_offered};
        }
        if (count_of(state, rows.size()) > 0) {
            return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
        }
        return first_refusal({why_no_slot(device, state), why_no_cores(device, state, cut_part->cores),
                              why_no_cpu(state, rows[cut_part->index]), why_dvpp_taken(state, rows[cut_part->index]),
                              why_no_group(state, cut_part->cores)});
    }

    [[nodiscard]] int compromise(const device_spec& device, const device_request& request,
                                 const partition& part) const override {
        const auto choices = parts_for(device, request);
        return choices && part != choices->full ? 1 : 0;
    }

    [[nodiscard]] bool may_compromise(const device_request& request) const override { return request.high_level; }

    /// Plain sums, so that what overlaps already (ledger::adopt) comes off again as it went on.
    [[nodiscard]] device_state with(const device_spec& device, const device_state& state,
                                    const partition& part) const override {
        const charge added = charge_of(device, part);
        return {.memory = state.memory + added.memory,
                .cores = state.cores + added.cores,
                .slots = state.slots + 1,
                .layout = state.layout + added.unit};
    }

    [[nodiscard]] device_state without(const device_spec& device, const device_state& state,
                                       const partition& part) const override {
        const charge taken = charge_of(device, part);
        return {.memory = state.memory - taken.memory,
                .cores = state.cores - taken.cores,
                .slots = state.slots - 1,
                .layout = state.layout - taken.unit};
    }

    /// The larger of the shares of AI cores and AI CPUs.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        const milli_gpu cpu = share_of(core_percent{cpu_of(state)}, core_percent{ai_cpu_});
        const milli_gpu core = device.cores > core_percent{0} ? share_of(state.cores, device.cores) : milli_gpu{0};
        return std::min(whole_gpu, std::max(cpu, core));
    }

    /// AI cores are asked for, and no memory; all of them are a whole chip.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        if (request.cores == device.cores) return requested_share::all();
        return {.memory = {}, .compute = fraction::of(request.cores.count(), device.cores.count())};
    }

    [[nodiscard]] use_vector use(const device_spec&, const device_state& state) const override {
        const std::int64_t of_whole_chips = count_of(state, rows.size()) * ai_cpu_;
        return {.memory = state.memory,
                .compute = state.cores,
                .slots = state.slots,
                .ai_cpus = cpu_of(state) + of_whole_chips};
    }

    [[nodiscard]] part_description describe(const device_spec& device, const partition& part) const override {
        const auto* cut = std::get_if<vir_template>(&part);
        if (cut == nullptr) return sharing_mode::describe(device, part);
        const bool known = cut->index < rows.size();
        return {.name = std::string{known ? rows[cut->index].name : std::string_view{}},
                .group = {},
                .memory = cut->memory,
                .cores = cut->cores};
    }

    /// Chips are asked for by AI cores alone.
    [[nodiscard]] amount_unit unit_of(rejection_code code, const device_request& request) const override {
        const bool compute =
            code == rejection_code::insufficient_device_cores || code == rejection_code::request_not_valid;
        return compute ? amount_unit::ai_cores : sharing_mode::unit_of(code, request);
    }

private:
    friend expected<std::shared_ptr<const mindcluster_310p>> make_mindcluster_310p(core_percent cores_per_chip,
                                                                                   std::int64_t ai_cpu);

    static constexpr std::uint32_t count_bits = 5; ///< a chip has ten cores at most
    static constexpr std::uint32_t group_bits = 6;
    static constexpr std::uint32_t groups_at = count_bits * (rows.size() + 1);
    static constexpr std::uint32_t groups_max = 4;
    static_assert(groups_at + group_bits * groups_max <= 64, "all counts are in one word");

    struct parts {
        partition full;
        partition reduced; ///< the same where the table has no smaller one
    };
    struct charge {
        mib memory;
        core_percent cores;
        std::uint64_t unit = 0;
    };

    mindcluster_310p(core_percent cores_per_chip, std::int64_t ai_cpu) : cores_{cores_per_chip}, ai_cpu_{ai_cpu} {}

    [[nodiscard]] static constexpr std::uint32_t index_of(std::string_view name) {
        return static_cast<std::uint32_t>(std::ranges::find(rows, name, &row::name) - rows.begin());
    }
    [[nodiscard]] static vir_template cut(std::uint32_t index, std::uint32_t group = 0) {
        return {.index = index, .memory = mib{0}, .cores = core_percent{rows[index].ai_core}, .group = group};
    }
    [[nodiscard]] static parts only(std::string_view name) {
        const partition part = cut(index_of(name));
        return {.full = part, .reduced = part};
    }
    [[nodiscard]] static parts by_level(const device_request& request, std::string_view full,
                                        std::string_view reduced) {
        parts result = only(reduced);
        if (request.high_level) result.full = cut(index_of(full));
        return result;
    }

    /// The selection table of MindCluster's documentation (R095 of docs/requirements.md). It has 1 and 2 cores without
    /// a word on DVPP alone (R096); a dialect that ignores the word, as Volcano does, does not pass it on.
    [[nodiscard]] std::optional<parts> parts_for(const device_spec& device, const device_request& request) const {
        if (request.cores <= core_percent{0}) return std::nullopt;
        if (request.cores == device.cores) return parts{.full = whole_device{}, .reduced = whole_device{}};
        const bool small = request.cores == core_percent{1} || request.cores == core_percent{2};
        if (small && request.dvpp != dvpp_use::unstated) return std::nullopt;
        switch (request.cores.count()) {
        case 1:
            return only("vir01");
        case 2:
            return by_level(request, "vir02", "vir02_1c");
        case 4:
            if (request.dvpp == dvpp_use::yes) return only("vir04_4c_dvpp");
            if (request.dvpp == dvpp_use::no) return only("vir04_3c_ndvpp");
            return by_level(request, "vir04", "vir04_3c");
        default:
            return std::nullopt;
        }
    }

    [[nodiscard]] static charge charge_of(const device_spec& device, const partition& part) {
        const auto* cut_part = std::get_if<vir_template>(&part);
        const std::size_t at = cut_part == nullptr ? rows.size() : cut_part->index;
        const std::uint64_t unit = std::uint64_t{1} << (count_bits * at);
        if (cut_part == nullptr) return {.memory = device.memory, .cores = device.cores, .unit = unit};
        const std::uint64_t in_group = cut_part->group == 0 ? 0 : group_unit(cut_part->group);
        return {.memory = cut_part->memory, .cores = cut_part->cores, .unit = unit + in_group};
    }
    [[nodiscard]] static constexpr std::uint64_t group_unit(std::uint32_t group) noexcept {
        return std::uint64_t{1} << (groups_at + group_bits * (group - 1));
    }

    [[nodiscard]] static std::int64_t count_of(const device_state& state, std::size_t at) {
        constexpr std::uint64_t mask = (1U << count_bits) - 1;
        return static_cast<std::int64_t>((state.layout >> (count_bits * at)) & mask);
    }
    [[nodiscard]] static std::int64_t users_with(const device_state& state, dvpp_use use) {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) total += rows[i].dvpp == use ? count_of(state, i) : 0;
        return total;
    }

    /// AI CPUs that the templates on a chip take; a whole chip has no templates.
    [[nodiscard]] std::int64_t cpu_of(const device_state& state) const {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) total += count_of(state, i) * rows[i].ai_cpu;
        return total;
    }

    [[nodiscard]] rejection_detail why_no_cpu(const device_state& state, const row& cut_row) const {
        const std::int64_t left = ai_cpu_ - cpu_of(state);
        if (cut_row.ai_cpu <= left) return {};
        return {.code = rejection_code::insufficient_device_cpus, .wanted = cut_row.ai_cpu, .available = left};
    }

    /// MindCluster keeps a state of the engines per chip, which comes to this: one user at most, and beside it only
    /// those who say that they do not use them.
    [[nodiscard]] static rejection_detail why_dvpp_taken(const device_state& state, const row& cut_row) {
        const std::int64_t users = users_with(state, dvpp_use::yes);
        const std::int64_t silent = users_with(state, dvpp_use::unstated);
        const bool taken =
            (cut_row.dvpp == dvpp_use::yes && users + silent > 0) || (cut_row.dvpp == dvpp_use::unstated && users > 0);
        if (!taken) return {};
        return {.code = rejection_code::dvpp_taken, .wanted = 1, .available = 0};
    }

    /// A chip has four vGroups : with three in use 4 cores are too many, with four in use 2 are.
    [[nodiscard]] static rejection_detail why_no_group(const device_state& state, core_percent cores) {
        std::uint32_t in_use = 0;
        for (std::uint32_t group = 1; group <= groups_max; ++group) {
            constexpr std::uint64_t mask = (1U << group_bits) - 1;
            if ((state.layout & (mask * group_unit(group))) != 0) ++in_use;
        }
        const core_percent left{in_use < 3 ? 4 : in_use == 3 ? 2 : 1};
        if (cores <= left) return {};
        return {.code = rejection_code::insufficient_vgroups, .wanted = cores.count(), .available = left.count()};
    }

    core_percent cores_;
    std::int64_t ai_cpu_;
};

/// The mode for chips of `cores_per_chip` AI cores (8 or 10) and `ai_cpu` AI CPUs (7 on all that are known). Error
/// out_of_range with the field's name.
[[nodiscard]] expected<std::shared_ptr<const mindcluster_310p>> make_mindcluster_310p(core_percent cores_per_chip,
                                                                                      std::int64_t ai_cpu);

} // namespace vgpualloc::modes
