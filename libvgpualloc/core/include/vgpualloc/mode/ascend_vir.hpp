// Ascend vNPU as HAMi and Volcano's HAMi mode cut it: hardware templates chosen by memory, or slices in software.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/mode/entry.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::modes {

/// An NPU gives out templates: a request gets the smallest whose memory is enough, or the whole card. Where the node
/// can limit in software, a request with `soft` gets memory and compute as asked, compute in percent. Both kinds may
/// share a card (upstream allows it). Where it limits in software only, every request is served like one with `soft`.
///
/// vir_template::index is the position in kind().templates, by ascending memory; their number stands for the whole
/// card. vir_template::cores is the limit asked for beside the template, not the template's own AI cores: Volcano
/// charges only the former. AI cores and AI CPUs of the templates are counted against the card's, which Volcano and
/// HAMi do not do: they accept eight vir03_1c_8g on a 910B2, which need eight AI CPUs of six. device_state::layout
/// counts the users of each index in eight bits; slices are in the sums alone.
class ascend_vir final : public named<"ascend_vir", sharing_mode> {
public:
    static constexpr std::size_t templates_max = 7; ///< with the whole card the counts fill one word

    [[nodiscard]] static expected<shared_mode> make(const device_registration& device, const mig_catalog& catalog);
    static constexpr auto key =
        &made_from<&device_registration::npu, &device_registration::soft, &device_registration::soft_only>;
    [[nodiscard]] static device_registration example(); ///< a 910B3

    /// The card, its templates in the order of vir_template::index.
    [[nodiscard]] const npu_kind& kind() const noexcept { return kind_; }

    /// A registered card says what it has; of one that says nothing (no memory) it is what its kind has.
    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        if (spec.memory > mib{0}) return spec;
        spec.memory = kind_.memory_allocatable;
        if (soft_ || kind_.ai_core > 0) spec.cores = soft_ ? whole_compute : core_percent{kind_.ai_core};
        spec.slots =
            kind_.templates.empty() ? 1 : std::max<std::int64_t>(1, spec.memory.count() / memory_of(0).count());
        return spec;
    }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        if (why_not(device, state, request).code != rejection_code::none) return;
        if (const auto part = cut_for(device, request)) out.push_back(*part);
    }

    /// Volcano's checks in Volcano's order, the budgets of the templates last. A request for more memory than any card
    /// has is refused (Volcano makes it 0 MiB, which fits anywhere), as is one for parts of several cards.
    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const auto part = cut_for(device, request);
        if (!part) {
            return {.code = rejection_code::request_not_valid,
                    .wanted = memory_wanted(device, request).count(),
                    .available = kind_.memory_capacity.count()};
        }
        if (request.soft && !soft_) return {.code = rejection_code::mode_not_offered};
        const core_percent total = in_software(request) ? whole_compute : device.cores;
        return first_refusal({why_no_slot(device, state), why_no_memory(device, state, charge_of(*part)),
                              why_no_compute(state, request.cores, total), why_not_join(state, request.cores, total),
                              why_over_templates(state, *part)});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        if (!knows(device, part)) return {.code = rejection_code::mode_not_offered};
        return first_refusal({why_no_slot(device, state), why_no_memory(device, state, charge_of(part)),
                              why_no_compute(state, cores_of(part), compute_of(device)),
                              why_over_templates(state, part)});
    }

    /// Plain sums, so that what overlaps already (ledger::adopt) comes off again as it went on.
    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        return {.memory = state.memory + charge_of(part),
                .cores = state.cores + cores_of(part),
                .slots = state.slots + 1,
                .layout = state.layout + unit_of(part)};
    }

    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const override {
        return {.memory = state.memory - charge_of(part),
                .cores = state.cores - cores_of(part),
                .slots = state.slots - 1,
                .layout = state.layout - unit_of(part)};
    }

    /// The larger of the shares of memory and compute.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        const milli_gpu memory = device.memory > mib{0} ? share_of(state.memory, device.memory) : milli_gpu{};
        return std::min(std::max(memory, used_compute(device, state)), whole_gpu);
    }

    /// The larger of the limits given out and of the templates' AI cores.
    [[nodiscard]] milli_gpu used_compute(const device_spec& device, const device_state& state) const override {
        milli_gpu result;
        if (compute_of(device) > core_percent{0}) result = share_of(state.cores, compute_of(device));
        if (kind_.ai_core > 0) {
            const core_percent ai_cores{sum(state, &npu_template::ai_core, kind_.ai_core)};
            result = std::max(result, share_of(ai_cores, core_percent{kind_.ai_core}));
        }
        return std::min(result, whole_gpu);
    }

    /// Without an amount of memory a whole card is asked for. Compute is measured as it is limited: in percent of the
    /// card in software, else in the card's own cores.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        if (wants_all_memory(request) && !in_software(request)) return requested_share::all();
        requested_share share = sharing_mode::requested(device, request);
        const core_percent total = in_software(request) ? whole_compute : device.cores;
        share.compute = fraction::of(request.cores.count(), total.count());
        return share;
    }

    [[nodiscard]] use_vector use(const device_spec&, const device_state& state) const override {
        return {.memory = state.memory,
                .compute = state.cores,
                .slots = state.slots,
                .ai_cpus = sum(state, &npu_template::ai_cpu, kind_.ai_cpu)};
    }

    [[nodiscard]] part_description describe(const device_spec& device, const partition& part) const override {
        const auto* cut = std::get_if<vir_template>(&part);
        if (cut == nullptr) return sharing_mode::describe(device, part);
        const bool whole = cut->index >= kind_.templates.size();
        return {.name = whole ? "" : kind_.templates[cut->index].name,
                .group = {},
                .memory = cut->memory,
                .cores = cut->cores};
    }

    /// Compute is in percent where software limits it.
    [[nodiscard]] amount_unit unit_of(rejection_code code, const device_request& request) const override {
        const bool by_template = code == rejection_code::insufficient_device_cores && !in_software(request);
        return by_template ? amount_unit::ai_cores : sharing_mode::unit_of(code, request);
    }

private:
    friend expected<std::shared_ptr<const ascend_vir>> make_ascend_vir(npu_kind kind, bool soft, bool soft_only);

    static constexpr std::uint32_t count_bits = 8;
    static constexpr std::int64_t count_max = (1U << count_bits) - 1;

    ascend_vir(npu_kind kind, bool soft, bool soft_only)
        : kind_{std::move(kind)}, soft_{soft || soft_only}, soft_only_{soft_only} {
        std::vector<npu_template> sorted; // by hand: clang warns of what stable_sort of g++ 12's library uses
        for (npu_template& cut : kind_.templates) {
            sorted.insert(std::ranges::upper_bound(sorted, cut.memory, {}, &npu_template::memory), std::move(cut));
        }
        kind_.templates = std::move(sorted);
    }

    /// Whether what serves the request is limited in software and not by a template.
    [[nodiscard]] bool in_software(const device_request& request) const noexcept { return request.soft || soft_only_; }

    [[nodiscard]] mib memory_of(std::size_t index) const { return kind_.templates[index].memory; }
    [[nodiscard]] std::uint32_t whole_card() const noexcept {
        return static_cast<std::uint32_t>(kind_.templates.size());
    }
    /// What a whole card is charged: some are registered with more than can be had (310P), or with less.
    [[nodiscard]] mib whole_memory(const device_spec& device) const {
        return std::min(device.memory, kind_.memory_allocatable);
    }
    /// What the compute of all users together is measured by. Requests for templates and for slices have different
    /// totals; which of them apply to a sum must not depend on who came first.
    [[nodiscard]] core_percent compute_of(const device_spec& device) const {
        return soft_ ? std::max(device.cores, whole_compute) : device.cores;
    }

    /// The template for so much memory; nothing if it is more than any card has.
    [[nodiscard]] std::optional<std::uint32_t> index_for(const device_spec& device,
                                                         const device_request& request) const {
        const bool all = request.memory_percent ? *request.memory_percent == 100 : request.memory == mib{0};
        if (all) return whole_card();
        const mib memory = request.memory_percent ? memory_wanted(device, request) : request.memory;
        if (memory < mib{0}) return std::nullopt;
        const auto cut = std::ranges::find_if(kind_.templates, [&](const auto& t) { return t.memory >= memory; });
        if (cut == kind_.templates.end() && memory > kind_.memory_capacity) return std::nullopt;
        return static_cast<std::uint32_t>(cut - kind_.templates.begin());
    }

    /// The part that serves one device's worth of `request`; nothing if the request can never be served.
    [[nodiscard]] std::optional<partition> cut_for(const device_spec& device, const device_request& request) const {
        if (request.cores < core_percent{0}) return std::nullopt;
        if (in_software(request)) {
            const mib memory = memory_wanted(device, request);
            if (request.memory < mib{0} || memory < mib{0}) return std::nullopt;
            return slice{.memory = memory, .cores = request.cores};
        }
        const auto index = index_for(device, request);
        if (!index) return std::nullopt;
        const mib memory = *index == whole_card() ? whole_memory(device) : memory_of(*index);
        const bool partial = *index != whole_card() && memory != kind_.memory_allocatable;
        if (request.count > 1 && partial && !request.pair) return std::nullopt;
        return vir_template{.index = *index, .memory = memory, .cores = request.cores};
    }

    /// A slice is known also where none is offered: a template that upstream charged otherwise than by its memory is
    /// found as one.
    [[nodiscard]] bool knows(const device_spec& device, const partition& part) const {
        if (const auto* cut = std::get_if<slice>(&part)) {
            return cut->memory >= mib{0} && cut->cores >= core_percent{0};
        }
        const auto* npu_part = std::get_if<vir_template>(&part);
        if (npu_part == nullptr || npu_part->index > whole_card() || npu_part->cores < core_percent{0}) return false;
        if (npu_part->index < whole_card()) return npu_part->memory == memory_of(npu_part->index);
        // Volcano writes what can be had of the kind, whatever the card is registered with.
        return npu_part->memory == whole_memory(device) || npu_part->memory == kind_.memory_allocatable;
    }

    [[nodiscard]] static mib charge_of(const partition& part) {
        if (const auto* cut = std::get_if<slice>(&part)) return cut->memory;
        return std::get<vir_template>(part).memory;
    }
    [[nodiscard]] static core_percent cores_of(const partition& part) {
        if (const auto* cut = std::get_if<slice>(&part)) return cut->cores;
        return std::get<vir_template>(part).cores;
    }
    [[nodiscard]] static std::uint64_t unit_of(const partition& part) {
        const auto* cut = std::get_if<vir_template>(&part);
        return cut == nullptr ? 0 : std::uint64_t{1} << (count_bits * cut->index);
    }
    [[nodiscard]] static std::int64_t count_of(const device_state& state, std::size_t index) {
        return static_cast<std::int64_t>((state.layout >> (count_bits * index)) & std::uint64_t{count_max});
    }

    /// The AI cores or AI CPUs of all templates on the card; a whole card counts as `all`.
    [[nodiscard]] std::int64_t sum(const device_state& state, std::int64_t npu_template::* figure,
                                   std::int64_t all) const {
        std::int64_t total = count_of(state, whole_card()) * all;
        for (std::size_t i = 0; i < whole_card(); ++i) total += count_of(state, i) * (kind_.templates[i].*figure);
        return total;
    }

    [[nodiscard]] static rejection_detail why_no_compute(const device_state& state, core_percent cores,
                                                         core_percent total) {
        const core_percent left = total - state.cores;
        if (cores <= left) return {};
        return {.code = rejection_code::insufficient_device_cores, .wanted = cores.count(), .available = left.count()};
    }

    /// A container that asks for 100 % of the compute does not join a card that has users, where compute is in percent.
    /// One that asks for no share does not join a card whose compute is all
    /// given out.
    [[nodiscard]] static rejection_detail why_not_join(const device_state& state, core_percent cores,
                                                       core_percent total) {
        if (total == whole_compute && cores == whole_compute && state.slots > 0) {
            return {.code = rejection_code::device_in_use, .wanted = 0, .available = state.slots};
        }
        if (total != core_percent{0} && state.cores == total && cores == core_percent{0}) {
            return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
        }
        return {};
    }

    [[nodiscard]] rejection_detail why_over_templates(const device_state& state, const partition& part) const {
        const auto* cut = std::get_if<vir_template>(&part);
        if (cut == nullptr) return {};
        if (count_of(state, cut->index) == count_max) {
            return {.code = rejection_code::insufficient_device_slots, .wanted = 1, .available = 0};
        }
        const auto check = [&](std::int64_t npu_template::* figure, std::int64_t all, rejection_code code) {
            const bool whole = cut->index == whole_card();
            const std::int64_t amount = whole ? all : kind_.templates[cut->index].*figure;
            const std::int64_t left = all - sum(state, figure, all);
            if (all == 0 || amount <= left) return rejection_detail{};
            return rejection_detail{.code = code, .wanted = amount, .available = left};
        };
        return first_refusal({check(&npu_template::ai_core, kind_.ai_core, rejection_code::insufficient_device_cores),
                              check(&npu_template::ai_cpu, kind_.ai_cpu, rejection_code::insufficient_device_cpus)});
    }

    npu_kind kind_;
    bool soft_;
    bool soft_only_;
};

/// The mode for cards of that kind; `soft`: the node can also limit in software, `soft_only`: it does so for every
/// request. Errors, with the field of npu_kind:
/// out_of_range (negative, no memory, less capacity than memory, more than ascend_vir::templates_max templates, more
/// than model/limits.hpp allows), duplicate (a template's name).
[[nodiscard]] expected<std::shared_ptr<const ascend_vir>> make_ascend_vir(npu_kind kind, bool soft,
                                                                          bool soft_only = false);

} // namespace vgpualloc::modes
