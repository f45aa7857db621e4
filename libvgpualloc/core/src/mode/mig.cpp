// A MIG GPU by the catalog: what a request gets, what fits, what is charged.
#include "vgpualloc/mode/mig.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/mode/mig_groups.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::modes {

expected<shared_mode> mig::make(const device_registration& device, const mig_catalog& catalog) {
    if (!device.geometry.empty()) {
        return make_mig_groups(with_slices(catalog, device.model, device.geometry), device.memory_factor, device.units);
    }
    for (const mig_offer& offer : device.offers) {
        if (offer.memory >= mib{0} && offer.memory <= device_memory_max) continue;
        return unexpected(bad_value(error_code::out_of_range, offer.name + " memory",
                                    std::to_string(offer.memory.count()), "0 to 2^40 MiB")
                              .at("MIG model '" + device.model + "'"));
    }
    const auto model = model_of(catalog, device);
    if (!model) return unexpected(model.error());
    return make_mig(*model);
}

device_registration mig::example() {
    device_registration gpu;
    gpu.model = "NVIDIA A100-SXM4-40GB";
    gpu.mode = id;
    gpu.memory = mib{40960};
    return gpu;
}

struct mig::choice {
    rejection_detail refused{};
    std::uint32_t profile = 0;
    std::uint64_t places = 0;
};

device_spec mig::adapted(device_spec spec) const {
    mib largest;
    for (const auto& profile : table_.profiles) largest = std::max(largest, profile.at_least);
    spec.memory = std::max(table_.model.memory.value_or(spec.memory), largest);
    spec.cores = whole_compute;
    spec.slots = table_.model.compute_slices.count();
    return spec;
}

std::uint64_t mig::excluded_by(std::uint64_t layout) const noexcept {
    std::uint64_t excluded = 0;
    for_each_bit(layout, [&](std::size_t place) { excluded |= table_.excluded[place]; });
    return excluded;
}

bool mig::exceeds_a_total(std::uint64_t layout, std::size_t profile) const noexcept {
    for (const auto& total : table_.totals) {
        std::int64_t sum = total.taken[profile];
        for_each_bit(layout, [&](std::size_t place) { sum += total.taken[table_.profile_of[place]]; });
        if (sum > total.most) return true;
    }
    return false;
}

mig_state_id mig::state_of(std::uint64_t layout) const noexcept {
    return table_.states ? table_.states->id_of(layout) : no_mig_state;
}

std::uint64_t mig::free_places(std::uint64_t layout, std::size_t profile) const noexcept {
    if (const mig_state_id state = state_of(layout); state != no_mig_state) {
        return table_.states->free_places(state, profile);
    }
    const std::uint64_t open = table_.profiles[profile].places & ~excluded_by(layout);
    return open == 0 || exceeds_a_total(layout, profile) ? 0 : open;
}

std::uint64_t mig::bit_of(const mig_instance& instance) const noexcept {
    if (instance.profile >= table_.profiles.size() || instance.start >= 64) return 0;
    const auto& profile = table_.profiles[instance.profile];
    if ((profile.starts & bit_at(instance.start)) == 0) return 0;
    const auto before = static_cast<std::size_t>(std::popcount(profile.starts & (bit_at(instance.start) - 1)));
    return bit_at(profile.first + before);
}

bool mig::has_compute(std::size_t profile, const device_request& request) const {
    return table_.profiles[profile].compute.count() * whole_compute.count() >=
           request.cores.count() * table_.model.compute_slices.count();
}

/// Whether an instance has the memory asked for. The largest is asked for where no amount is.
mig::answer mig::has_memory(const device_spec& device, std::size_t profile, const device_request& request) const {
    const auto decided = [](bool enough) { return enough ? answer::yes : answer::no; };
    const auto& offered = table_.profiles[profile];
    if (request.memory_percent) {
        return decided(offered.units.count() * 100 >= *request.memory_percent * table_.model.units.count());
    }
    if (request.memory <= mib{0}) return decided(offered.units == table_.profiles[table_.by_size.back()].units);
    if (request.memory <= offered.at_least) return answer::yes;
    return request.memory <= memory_at_most(device, profile) ? answer::unknown : answer::no;
}

mib mig::memory_at_most(const device_spec& device, std::size_t profile) const {
    return std::min(table_.profiles[profile].at_most.value_or(device.memory), device.memory);
}

mib mig::charge(const device_spec& device, std::size_t profile) const {
    if (const auto& known = table_.profiles[profile].memory) return *known; // asked for at every step of a decision
    return charged_memory(table_.model, table_.model.profiles[profile], device.memory);
}

rejection_detail mig::why_unknown(std::size_t profile, const device_request& request) const {
    return {.code = rejection_code::instance_memory_unknown,
            .wanted = request.memory.count(),
            .available = table_.profiles[profile].at_least.count()};
}

requested_share mig::requested(const device_spec& device, const device_request& request) const {
    if (request.profile.empty()) {
        return wants_all_memory(request) ? requested_share::all() : sharing_mode::requested(device, request);
    }
    const auto profile = std::ranges::find(table_.model.profiles, request.profile, &mig_profile::name);
    if (profile == table_.model.profiles.end()) return requested_share::all();
    return {.memory = fraction::of(profile->size.count(), table_.model.units.count()),
            .compute = fraction::of(profile->compute_slices.count(), table_.model.compute_slices.count())};
}

/// No profile has the memory asked for, or none that has it has the compute.
rejection_detail mig::why_never_enough(const device_spec& device, const device_request& request) const {
    if (request.memory_percent && *request.memory_percent > 100) {
        return {
            .code = rejection_code::insufficient_device_memory, .wanted = *request.memory_percent, .available = 100};
    }
    const mib largest = table_.by_size.empty() ? mib{0} : memory_at_most(device, table_.by_size.back());
    if (request.memory > largest) {
        return {.code = rejection_code::insufficient_device_memory,
                .wanted = request.memory.count(),
                .available = largest.count()};
    }
    std::int64_t most = 0; // no instance has all of the GPU's compute on some models
    for (const auto& profile : table_.profiles) most = std::max(most, profile.compute.count());
    return {.code = rejection_code::insufficient_device_cores,
            .wanted = request.cores.count(),
            .available = whole_compute.count() * most / table_.model.compute_slices.count()};
}

mig::choice mig::choose_named(const device_spec& device, const device_state& state,
                              const device_request& request) const {
    const auto at = std::ranges::find(table_.model.profiles, request.profile, &mig_profile::name);
    if (at == table_.model.profiles.end()) return {.refused = {.code = rejection_code::request_not_valid}};
    const auto profile = static_cast<std::uint32_t>(at - table_.model.profiles.begin());
    const bool says_memory = request.memory_percent || request.memory > mib{0}; // else the name says it all
    const answer enough = says_memory ? has_memory(device, profile, request) : answer::yes;
    if (enough == answer::no || !has_compute(profile, request)) {
        const mib available = memory_at_most(device, profile);
        return {.refused = {.code = rejection_code::request_not_valid,
                            .wanted = (request.memory > mib{0} ? request.memory : available).count(),
                            .available = available.count()}};
    }
    if (enough == answer::unknown) return {.refused = why_unknown(profile, request)};
    const std::uint64_t places = free_places(state.layout, profile);
    if (places != 0) return {.profile = profile, .places = places};
    return {.refused = {
                .code = rejection_code::no_free_instance, .wanted = charge(device, profile).count(), .available = 0}};
}

mig::choice mig::choose(const device_spec& device, const device_state& state, const device_request& request) const {
    if (const auto full = why_no_slot(device, state); full.code != rejection_code::none) return {.refused = full};
    if (!request.profile.empty()) return choose_named(device, state, request);
    std::int64_t fitting = 0;
    rejection_detail in_doubt;
    for (const std::uint32_t profile : table_.by_size) {
        const answer enough = has_compute(profile, request) ? has_memory(device, profile, request) : answer::no;
        if (enough == answer::no) continue;
        const std::uint64_t places = free_places(state.layout, profile);
        if (enough == answer::unknown) {
            if (in_doubt.code == rejection_code::none) in_doubt = why_unknown(profile, request);
            if (places != 0) return {.refused = in_doubt}; // its instance might be the smallest with enough memory
            continue;
        }
        ++fitting;
        if (places != 0) return {.profile = profile, .places = places};
    }
    if (fitting == 0) {
        return {.refused = in_doubt.code == rejection_code::none ? why_never_enough(device, request) : in_doubt};
    }
    const std::int64_t amount = request.memory_percent ? *request.memory_percent : request.memory.count();
    return {.refused = {.code = rejection_code::no_free_instance, .wanted = amount, .available = 0}};
}

void mig::candidates(const device_spec& device, const device_state& state, const device_request& request,
                     std::vector<partition>& out) const {
    const choice chosen = choose(device, state, request);
    if (chosen.refused.code != rejection_code::none) return;
    const auto& starts = table_.model.profiles[chosen.profile].starts;
    const auto add = [&](std::size_t place) {
        const auto start = starts[place - table_.profiles[chosen.profile].first];
        out.emplace_back(
            mig_instance{.profile = chosen.profile, .start = static_cast<std::uint32_t>(start.count()), .cores = {}});
    };
    std::uint64_t others = chosen.places;
    if (const mig_state_id now = state_of(state.layout); now != no_mig_state) {
        const std::size_t best = table_.states->best_place(now, chosen.profile);
        add(best);
        others &= ~bit_at(best);
    }
    for_each_bit(others, add);
}

rejection_detail mig::why_not(const device_spec& device, const device_state& state,
                              const device_request& request) const {
    return choose(device, state, request).refused;
}

rejection_detail mig::why_not(const device_spec& device, const device_state& state, const partition& part) const {
    const auto* instance = std::get_if<mig_instance>(&part);
    const std::uint64_t place = instance == nullptr ? 0 : bit_of(*instance);
    if (place == 0) return {.code = rejection_code::mode_not_offered};
    if (const auto full = why_no_slot(device, state); full.code != rejection_code::none) return full;
    if ((free_places(state.layout, instance->profile) & place) != 0) return {};
    return {
        .code = rejection_code::no_free_instance, .wanted = charge(device, instance->profile).count(), .available = 0};
}

device_state mig::with(const device_spec& device, const device_state& state, const partition& part) const {
    const auto& instance = std::get<mig_instance>(part);
    const auto& profile = table_.profiles[instance.profile];
    return {.memory = state.memory + charge(device, instance.profile),
            .cores = state.cores + profile.cores,
            .slots = state.slots + 1,
            .layout = state.layout | bit_of(instance)};
}

device_state mig::without(const device_spec& device, const device_state& state, const partition& part) const {
    const auto& instance = std::get<mig_instance>(part);
    const auto& profile = table_.profiles[instance.profile];
    return {.memory = state.memory - charge(device, instance.profile),
            .cores = state.cores - profile.cores,
            .slots = state.slots - 1,
            .layout = state.layout & ~bit_of(instance)};
}

milli_gpu mig::used(const device_spec&, const device_state& state) const {
    mig_units units;
    mig_compute compute;
    for_each_bit(state.layout, [&](std::size_t place) {
        units += table_.profiles[table_.profile_of[place]].units;
        compute += table_.profiles[table_.profile_of[place]].compute;
    });
    const auto share = std::max(share_of(units, table_.model.units), share_of(compute, table_.model.compute_slices));
    return std::min(whole_gpu, share); // adopted instances can overlap
}

std::int64_t mig::further(const device_spec& device, const device_state& state, const device_request& request,
                          std::int64_t most) const {
    const choice chosen = choose(device, state, request);
    if (chosen.refused.code != rejection_code::none) return 0;
    // An amount of memory gets a larger instance where no smaller one is free any more.
    if (request.profile.empty()) return sharing_mode::further(device, state, request, most);
    return std::min(most, further_instances(state, chosen.profile));
}

slot_shape mig::slots() const {
    slot_shape shape{.profiles = {}, .units = table_.model.units.count()};
    for (std::size_t p = 0; p < table_.profiles.size(); ++p) {
        const mig_profile& profile = table_.model.profiles[p];
        shape.profiles.push_back({.name = profile.name,
                                  .units = profile.size.count(),
                                  .starts = std::popcount(table_.profiles[p].places),
                                  .plain = contains(mig_profile_set::plain, profile.kind)});
    }
    return shape;
}

void mig::list_free_slots(const device_state& state, free_slots& out) const {
    out.free_starts.clear();
    std::int64_t used = 0;
    for (std::size_t p = 0; p < table_.profiles.size(); ++p) {
        out.free_starts.push_back(std::popcount(free_places(state.layout, p)));
        used += std::popcount(state.layout & table_.profiles[p].places) * table_.profiles[p].units.count();
    }
    out.free_units = std::max<std::int64_t>(0, table_.model.units.count() - used); // adopted instances can overlap
}

std::int64_t mig::further_instances(const device_state& state, std::size_t profile) const noexcept {
    if (const mig_state_id now = state_of(state.layout); now != no_mig_state) {
        return table_.states->further(now, profile);
    }
    std::uint64_t layout = state.layout;
    std::int64_t count = 0;
    // Instances of one profile have one length, so taking the lowest free start each time places the most of them.
    while (const std::uint64_t places = free_places(layout, profile)) {
        layout |= places & (~places + 1);
        ++count;
    }
    return count;
}

std::int64_t mig::further_by_amount(const device_state& state, std::size_t profile) const noexcept {
    const auto& wanted = table_.profiles[profile];
    mig_units units = table_.model.units;
    mig_compute compute = table_.model.compute_slices;
    for_each_bit(state.layout, [&](std::size_t place) {
        units -= table_.profiles[table_.profile_of[place]].units;
        compute -= table_.profiles[table_.profile_of[place]].compute;
    });
    std::int64_t most = std::min(units.count() / wanted.units.count(), compute.count() / wanted.compute.count());
    for (const auto& total : table_.totals) {
        std::int64_t left = total.most;
        for_each_bit(state.layout, [&](std::size_t place) { left -= total.taken[table_.profile_of[place]]; });
        if (total.taken[profile] > 0) most = std::min(most, left / total.taken[profile]);
    }
    return std::clamp<std::int64_t>(most, 0, further_instances({}, profile));
}

std::vector<std::string> mig::placed_profiles() const {
    std::vector<std::string> names;
    for (const mig_profile& profile : table_.model.profiles) {
        if (profile.kind == mig_profile_kind::core) names.push_back(profile.name);
    }
    return names;
}

std::int64_t mig::stranded_slices(const device_state& state, std::size_t profile) const {
    const auto& profiles = table_.model.profiles;
    std::size_t at = 0;
    for (std::size_t core = 0;; ++at) {
        if (profiles[at].kind == mig_profile_kind::core && core++ == profile) break;
    }
    const std::int64_t instances = further_by_amount(state, at) - further_instances(state, at);
    return std::max<std::int64_t>(instances, 0) * profiles[at].size.count();
}

part_description mig::describe(const device_spec& device, const partition& part) const {
    const auto& instance = std::get<mig_instance>(part);
    return {.name = table_.model.profiles[instance.profile].name,
            .group = {},
            .memory = charge(device, instance.profile),
            .cores = table_.profiles[instance.profile].cores};
}

amount_unit mig::unit_of(rejection_code code, const device_request& request) const {
    const bool memory = code == rejection_code::insufficient_device_memory ||
                        code == rejection_code::no_free_instance || code == rejection_code::instance_memory_unknown;
    return memory && request.memory_percent ? amount_unit::percent : sharing_mode::unit_of(code, request);
}

} // namespace vgpualloc::modes
