// MIG by ordered geometry groups: the cuts of a GPU that an administrator allows in the device configuration.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::modes {

/// A GPU serves instances of one group at a time. An empty GPU takes the first group, in the configured order, that has
/// an instance large enough; a GPU in use keeps its group until its last instance is gone. Within a group the smallest
/// instance that is large enough and has a free slot is taken, at its lowest free slot (Volcano's dynamic MIG design:
/// 3000 MiB asked, the 5 GB instance given). Large enough is one that has the memory and, where a share
/// of compute is asked for, at least that share. So every free instance of a mixed group is reached: 3000 MiB get the
/// 2g.10gb once all 1g.5gb are taken, and then the 3g.20gb. A request that names a profile gets an instance of this
/// kind and no other, of the first group that has one free. Where a device plugin offers the instances as units, a
/// request without memory or profile is for one unit, and not for all of the GPU. An instance is charged the compute
/// that it has, and nothing beside it. As upstream has it, a request may not be larger than what the instances in use
/// leave of the registered memory.
///
/// Replicas of an instance, which a device plugin may offer, are slots of its kind, one instance after the other, and
/// share its faults. The next one is of the instance with the fewest given out, or the most (unit_order).
///
/// mig_instance::profile is the position of the kind among all kinds of all groups, `start` the slot of that kind.
/// device_state::layout has one bit per slot of every kind.
class mig_groups final : public named<"mig", sharing_mode> {
public:
    static constexpr std::int64_t slots_max = 64; ///< over all groups of one device

    /// `factor`: MiB per unit of device memory and requests, at least 1; an instance is charged its memory / factor,
    /// rounded down. At most slots_max slots; counts and memories are not negative.
    explicit mig_groups(const std::vector<mig_group>& groups, std::int64_t factor = 1, unit_rules units = {})
        : factor_{factor}, rules_{units} {
        std::uint32_t slot = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            groups_.push_back({.first = kinds_.size(), .end = kinds_.size() + groups[g].kinds.size()});
            for (const mig_kind& source : groups[g].kinds) {
                VGA_ASSERT(slot + source.count <= slots_max, "the slots of a device fit in one word");
                kinds_.push_back({.group = g,
                                  .name = source.name,
                                  .group_name = groups[g].name,
                                  .memory = source.memory,
                                  .cores = source.cores,
                                  .slices = source.slices,
                                  .first_slot = slot,
                                  .count = static_cast<std::uint32_t>(source.count),
                                  .replicas = static_cast<std::uint32_t>(source.replicas)});
                groups_[g].mask |= mask_of(kinds_.back());
                slot += static_cast<std::uint32_t>(source.count);
            }
        }
        const auto have = [this](fraction requested_share::* dimension) {
            return std::ranges::none_of(kinds_, [&](const kind& cut) { return (cut.slices.*dimension).part == 0; });
        };
        has_memory_slices_ = have(&requested_share::memory);
        has_compute_slices_ = have(&requested_share::compute);
        has_replicas_ = std::ranges::any_of(kinds_, [](const kind& cut) { return cut.replicas > 1; });
        for (const kind& cut : kinds_) {
            memory_slices_ = std::lcm(memory_slices_, cut.slices.memory.whole);
            compute_slices_ = std::lcm(compute_slices_, cut.slices.compute.whole);
        }
    }

    /// Replicas of an instance share its faults.
    [[nodiscard]] bool shares_faults() const noexcept override { return has_replicas_; }
    [[nodiscard]] bool fault_reaches(const partition& faulty, const partition& other) const override {
        const auto& a = std::get<mig_instance>(faulty);
        const auto& b = std::get<mig_instance>(other);
        return a.profile == b.profile && a.start / kinds_[a.profile].replicas == b.start / kinds_[b.profile].replicas;
    }
    [[nodiscard]] std::int64_t fault_domain_size(const device_state& state) const override {
        std::int64_t most = 0;
        for (const kind& cut : kinds_) {
            for (std::uint32_t first = 0; first < cut.count; first += cut.replicas) {
                most = std::max<std::int64_t>(most, std::popcount(state.layout & mask_of_instance(cut, first)));
            }
        }
        return most;
    }

    [[nodiscard]] unit_rules units() const noexcept override { return rules_; }
    /// Instances of that profile.
    [[nodiscard]] std::int64_t units_given(const device_state& state, const partition& part) const override {
        return std::popcount(state.layout & mask_of(kinds_[std::get<mig_instance>(part).profile]));
    }

    /// Compute is counted in shares of the GPU's.
    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = whole_compute;
        return spec;
    }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        if (why_not(device, state, request).code != rejection_code::none) return;
        out.emplace_back(*find(state, wish_of(device, request)));
    }

    /// Larger instances, and those of later groups, on a GPU that is empty.
    void further_candidates(const device_spec& device, const device_state& state, const device_request& request,
                            std::vector<partition>& out) const override {
        if (why_not(device, state, request).code != rejection_code::none) return;
        bool is_first = true; // which candidates() has
        for (const span_of_kinds& group : groups_) {
            if ((state.layout & ~group.mask) != 0) continue;
            for (const std::size_t i : large_enough(state, wish_of(device, request), group)) {
                if (!is_first) out.emplace_back(lowest_free(state, i, request.cores));
                is_first = false;
            }
        }
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        wish wanted = wish_of(device, request);
        const bool says_memory = wanted.memory > mib{0};
        const mib memory = says_memory ? memory_wanted(device, request) : mib{0};
        const auto refused = first_refusal(
            {why_too_many_units(rules_, request), why_no_slot(device, state), why_no_memory(device, state, memory)});
        if (refused.code != rejection_code::none || find(state, wanted)) return refused;
        if (!wanted.profile.empty()) return why_none_of(wanted);
        wanted.cores = core_percent{0};
        if (!find(state, wanted)) {
            return {.code = rejection_code::no_free_instance, .wanted = memory.count(), .available = 0};
        }
        return {.code = rejection_code::insufficient_device_cores,
                .wanted = request.cores.count(),
                .available = most_compute(state, wanted).count()};
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* instance = std::get_if<mig_instance>(&part);
        if (instance == nullptr || instance->profile >= kinds_.size() ||
            instance->start >= kinds_[instance->profile].count || instance->cores < core_percent{0}) {
            return {.code = rejection_code::mode_not_offered};
        }
        const kind& cut = kinds_[instance->profile];
        const bool other_group = state.layout != 0 && (state.layout & groups_[cut.group].mask) == 0;
        if (other_group || (state.layout & bit_of(*instance)) != 0) {
            return {.code = rejection_code::no_free_instance, .wanted = cut.memory.count(), .available = 0};
        }
        return why_no_slot(device, state);
    }

    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        const auto& instance = std::get<mig_instance>(part);
        return {.memory = state.memory + charge_of(instance),
                .cores = state.cores + kinds_[instance.profile].cores,
                .slots = state.slots + 1,
                .layout = state.layout | bit_of(instance)};
    }

    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const override {
        const auto& instance = std::get<mig_instance>(part);
        return {.memory = state.memory - charge_of(instance),
                .cores = state.cores - kinds_[instance.profile].cores,
                .slots = state.slots - 1,
                .layout = state.layout & ~bit_of(instance)};
    }

    /// 1000 x the larger of the shares of memory slices and compute slices, where they are known, as mode mig by
    /// placements counts; percent that were rounded down would leave a full GPU below 1000.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        const milli_gpu memory = has_memory_slices_ ? share_of_slices(state, &requested_share::memory, memory_slices_)
                                                    : std::min(whole_gpu, share_of(state.memory, device.memory));
        return std::max(memory, used_compute(device, state));
    }
    [[nodiscard]] milli_gpu used_compute(const device_spec& device, const device_state& state) const override {
        if (!has_compute_slices_) return sharing_mode::used_compute(device, state);
        return share_of_slices(state, &requested_share::compute, compute_slices_);
    }

    /// A profile that is named asks for its slices, and without memory or profile the whole GPU is asked for, or one of
    /// the units that it is offered as.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        if (!wants_all_memory(request)) return sharing_mode::requested(device, request);
        auto cut = std::ranges::find(kinds_, request.profile, &kind::name);
        if (request.profile.empty() && rules_.in_units()) cut = std::ranges::min_element(kinds_, {}, &kind::memory);
        if (cut == kinds_.end() || (request.profile.empty() && !rules_.in_units())) return requested_share::all();
        const auto known = [](const fraction& slices, fraction otherwise) {
            return slices.part > 0 ? slices : otherwise;
        };
        return {.memory = known(cut->slices.memory, fraction::of(cut->memory.count(), device.memory.count() * factor_)),
                .compute = known(cut->slices.compute, fraction::of(cut->cores.count(), whole_compute.count()))};
    }

    [[nodiscard]] part_description describe(const device_spec&, const partition& part) const override {
        const auto& instance = std::get<mig_instance>(part);
        const kind& cut = kinds_[instance.profile];
        return {.name = cut.name, .group = cut.group_name, .memory = cut.memory, .cores = cut.cores};
    }

private:
    struct kind {
        std::size_t group = 0;
        std::string name;
        std::string group_name;
        mib memory;         ///< of one instance
        core_percent cores; ///< of one instance
        requested_share slices;
        std::uint32_t first_slot = 0;
        std::uint32_t count = 0;
        std::uint32_t replicas = 1; ///< those of one instance follow one another
    };

    /// The kinds of one group, and the bits of all their slots.
    struct span_of_kinds {
        std::size_t first = 0;
        std::size_t end = 0;
        std::uint64_t mask = 0;
    };

    [[nodiscard]] static std::uint64_t mask_of(const kind& cut) noexcept { return mask_of(cut.first_slot, cut.count); }
    [[nodiscard]] static std::uint64_t mask_of(std::uint32_t first, std::uint32_t count) noexcept {
        return count == 0 ? 0 : (~std::uint64_t{0} >> (64U - count)) << first;
    }
    /// `first`: the first slot of an instance of that kind.
    [[nodiscard]] static std::uint64_t mask_of_instance(const kind& cut, std::uint32_t first) noexcept {
        return mask_of(cut.first_slot + first, std::min(cut.replicas, cut.count - first));
    }
    [[nodiscard]] std::uint64_t bit_of(const mig_instance& instance) const noexcept {
        return std::uint64_t{1} << (kinds_[instance.profile].first_slot + instance.start);
    }
    [[nodiscard]] mib charge_of(const mig_instance& instance) const noexcept {
        return mib{kinds_[instance.profile].memory.count() / factor_};
    }

    /// `whole`: a multiple of what the kinds' fractions are of.
    [[nodiscard]] milli_gpu share_of_slices(const device_state& state, fraction requested_share::* dimension,
                                            std::int64_t whole) const {
        std::int64_t taken = 0;
        for (const kind& cut : kinds_) {
            const fraction& slices = cut.slices.*dimension;
            taken += std::popcount(state.layout & mask_of(cut)) * (whole / slices.whole) * slices.part;
        }
        return std::min(whole_gpu, milli_gpu{(whole_gpu.count() * taken + whole - 1) / whole});
    }

    [[nodiscard]] bool has_free_slot(const device_state& state, std::size_t kind_number) const noexcept {
        return (mask_of(kinds_[kind_number]) & ~state.layout) != 0;
    }
    /// The slots of the instance of which the device plugin gives the next replica; one is free.
    [[nodiscard]] std::uint64_t next_instance(const device_state& state, const kind& cut) const noexcept {
        std::uint64_t next = 0;
        int next_in_use = 0;
        for (std::uint32_t first = 0; first < cut.count; first += cut.replicas) {
            const std::uint64_t mask = mask_of_instance(cut, first);
            if ((mask & ~state.layout) == 0) continue;
            const int in_use = std::popcount(state.layout & mask);
            const bool is_better = rules_.order == unit_order::packed ? in_use > next_in_use : in_use < next_in_use;
            if (next != 0 && !is_better) continue;
            next = mask;
            next_in_use = in_use;
        }
        return next;
    }
    [[nodiscard]] mig_instance lowest_free(const device_state& state, std::size_t kind_number,
                                           core_percent asked) const noexcept {
        const kind& cut = kinds_[kind_number];
        const std::uint64_t among = cut.replicas > 1 ? next_instance(state, cut) : mask_of(cut);
        const std::uint64_t free = (among & ~state.layout) >> cut.first_slot;
        return {.profile = static_cast<std::uint32_t>(kind_number),
                .start = static_cast<std::uint32_t>(std::countr_zero(free)),
                .cores = asked};
    }

    /// What an instance has to be for a request.
    struct wish {
        mib memory; ///< at least, in MiB
        core_percent cores;
        std::string_view profile; ///< empty: any
    };
    [[nodiscard]] wish wish_of(const device_spec& device, const device_request& request) const noexcept {
        const bool says_memory = request.memory_percent || request.memory > mib{0};
        const bool one_unit = rules_.in_units() && !says_memory; // whatever compute is asked for with all of a GPU
        const bool by_name = !request.profile.empty() && !says_memory; // the name says it all
        return {.memory = by_name || one_unit ? mib{0} : memory_wanted(device, request) * factor_,
                .cores = one_unit ? core_percent{0} : request.cores,
                .profile = request.profile};
    }
    [[nodiscard]] static bool serves(const kind& cut, const wish& wanted) noexcept {
        return cut.memory >= wanted.memory && cut.cores >= wanted.cores &&
               (wanted.profile.empty() || cut.name == wanted.profile);
    }

    [[nodiscard]] std::optional<mig_instance> find(const device_state& state, const wish& wanted) const {
        for (const span_of_kinds& group : groups_) {
            // Where instances of several groups were found running, the GPU is cut in no way that allows more.
            if ((state.layout & ~group.mask) != 0) continue;
            std::optional<std::size_t> best;
            for (std::size_t i = group.first; i < group.end; ++i) {
                if (!has_free_slot(state, i) || !serves(kinds_[i], wanted)) continue;
                if (!best || kinds_[i].memory < kinds_[*best].memory) best = i;
            }
            if (best) return lowest_free(state, *best, wanted.cores);
        }
        return std::nullopt;
    }
    /// The kinds of a group that have a free instance for it, the smallest first.
    [[nodiscard]] std::vector<std::size_t> large_enough(const device_state& state, const wish& wanted,
                                                        const span_of_kinds& group) const {
        std::vector<std::size_t> fitting;
        for (std::size_t i = group.first; i < group.end; ++i) {
            if (has_free_slot(state, i) && serves(kinds_[i], wanted)) fitting.push_back(i);
        }
        std::ranges::stable_sort(fitting, {}, [this](std::size_t i) { return kinds_[i].memory; });
        return fitting;
    }
    /// The largest share of compute among the free instances that are otherwise as wanted.
    [[nodiscard]] core_percent most_compute(const device_state& state, const wish& wanted) const {
        core_percent most;
        for (const span_of_kinds& group : groups_) {
            if ((state.layout & ~group.mask) != 0) continue;
            for (const std::size_t i : large_enough(state, wanted, group)) most = std::max(most, kinds_[i].cores);
        }
        return most;
    }
    /// A profile was named and no instance of it is free: no kind that would do, as mode mig says it, or none left.
    [[nodiscard]] rejection_detail why_none_of(const wish& wanted) const {
        const auto known = std::ranges::find_if(kinds_, [&](const kind& cut) { return serves(cut, wanted); });
        if (known == kinds_.end()) return {.code = rejection_code::request_not_valid};
        return {.code = rejection_code::no_free_instance, .wanted = known->memory.count(), .available = 0};
    }

    std::vector<kind> kinds_; ///< group by group
    std::vector<span_of_kinds> groups_;
    std::int64_t factor_;
    unit_rules rules_;
    bool has_memory_slices_ = false; ///< of every kind
    bool has_compute_slices_ = false;
    bool has_replicas_ = false; ///< of any kind
    std::int64_t memory_slices_ = 1;
    std::int64_t compute_slices_ = 1;
};

/// The mode of GPUs that are cut by these groups. Errors with the field of the registration: out_of_range (a factor,
/// count or memory), unsupported (more than mig_groups::slots_max instances).
[[nodiscard]] expected<std::shared_ptr<const mig_groups>> make_mig_groups(const std::vector<mig_group>& groups,
                                                                          std::int64_t factor, unit_rules units = {});

} // namespace vgpualloc::modes
