// MIG models from what GPUs say of themselves.
#include "vgpualloc/catalog/mig_offers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace vgpualloc {

namespace {

mig_profile_kind kind_of(std::string_view profile) {
    constexpr std::array<std::pair<std::string_view, mig_profile_kind>, 4> endings{
        {{"+me.all", mig_profile_kind::all_media},
         {"+me", mig_profile_kind::media},
         {"-me", mig_profile_kind::no_media},
         {"+gfx", mig_profile_kind::graphics}}};
    for (const auto& [ending, kind] : endings) {
        if (profile.ends_with(ending)) return kind;
    }
    return mig_profile_kind::core;
}

mig_profile profile_of(const mig_offer& offer, const mig_model* known) {
    mig_profile result;
    result.max_instances = static_cast<std::int64_t>(offer.starts.size());
    result.kind = kind_of(offer.name);
    if (known != nullptr) {
        const auto same = std::ranges::find(known->profiles, offer.name, &mig_profile::name);
        if (same != known->profiles.end()) {
            const std::int64_t places = result.max_instances;
            result = *same;
            result.max_instances = std::min(result.max_instances, places);
        }
    }
    result.name = offer.name;
    result.memory = offer.memory > mib{0} ? std::optional{offer.memory} : std::nullopt;
    result.compute_slices = mig_compute{offer.compute_slices};
    result.size = mig_units{offer.size};
    result.starts.clear();
    for (const std::int64_t start : offer.starts) result.starts.emplace_back(start);
    return result;
}

/// Whether the offer has places, all on a grid that a mode can hold.
bool has_places(const mig_offer& offer) {
    if (offer.starts.empty() || offer.size < 1 || offer.compute_slices < 1) return false;
    if (offer.compute_slices > mig_units_max.count() || offer.size > mig_units_max.count()) return false;
    return std::ranges::is_sorted(offer.starts) && offer.starts.front() >= 0 &&
           offer.starts.back() <= mig_units_max.count() - offer.size;
}

/// Compute slices of all instances of this profile that stand side by side.
std::int64_t slices_side_by_side(const mig_offer& offer) {
    std::int64_t instances = 0;
    std::int64_t end = 0;
    for (const std::int64_t start : offer.starts) {
        if (start < end) continue;
        ++instances;
        end = start + offer.size;
    }
    return instances * offer.compute_slices;
}

core_percent share_of_compute(std::int64_t slices, std::int64_t all) {
    return core_percent{whole_compute.count() * slices / all};
}

core_percent compute_in(const mig_model& model, std::string_view name) {
    const auto profile = std::ranges::find(model.profiles, name, &mig_profile::name);
    if (profile == model.profiles.end()) return {};
    return share_of_compute(profile->compute_slices.count(), model.compute_slices.count());
}

requested_share slices_of_instance(const mig_catalog& catalog, std::string_view model, std::string_view profile) {
    const auto known = find_model(catalog, model);
    if (!known) {
        const std::int64_t slices = compute_slices_by_name(profile);
        return {.memory = {}, .compute = fraction::of(slices, mig_compute_slices_max)};
    }
    const auto cut = std::ranges::find((*known)->profiles, profile, &mig_profile::name);
    if (cut == (*known)->profiles.end()) return {};
    return {.memory = fraction::of(cut->size.count(), (*known)->units.count()),
            .compute = fraction::of(cut->compute_slices.count(), (*known)->compute_slices.count())};
}

} // namespace

expected<mig_model> model_of(const mig_catalog& catalog, const device_registration& from) {
    const auto match = find_model(catalog, from.model);
    if (from.offers.empty()) {
        if (!match) return unexpected(match.error());
        return **match;
    }
    const mig_model* known = match ? *match : nullptr;
    mig_model result;
    if (known != nullptr) {
        result = *known;
    } else {
        result.name = from.model;
    }
    result.profiles.clear();
    for (const mig_offer& offer : from.offers) {
        if (!has_places(offer)) {
            return unexpected(bad_value(error_code::out_of_range, "profile", offer.name,
                                        "compute slices, a size and ascending starts within 64 units")
                                  .at("MIG model '" + from.model + "'"));
        }
        result.profiles.push_back(profile_of(offer, known));
        result.units = std::max(result.units, mig_units{offer.starts.back() + offer.size});
        const std::int64_t slices = known == nullptr ? slices_side_by_side(offer) : offer.compute_slices;
        result.compute_slices = std::max(result.compute_slices, mig_compute{slices});
    }
    return result;
}

std::vector<mig_offer> offers_of(const mig_model& model, std::span<const std::string> names) {
    std::vector<mig_offer> offers;
    for (const mig_profile& profile : model.profiles) {
        if (std::ranges::find(names, profile.name) == names.end()) continue;
        const std::int64_t slices = profile.compute_slices.count();
        mig_offer offer{.name = profile.name,
                        .memory = profile.memory.value_or(mib{0}),
                        .cores = share_of_compute(slices, model.compute_slices.count()),
                        .compute_slices = slices,
                        .size = profile.size.count(),
                        .starts = {}};
        for (const mig_units start : profile.starts) offer.starts.push_back(start.count());
        offers.push_back(std::move(offer));
    }
    return offers;
}

core_percent compute_of_instance(const mig_catalog& catalog, std::string_view model, std::string_view profile) {
    const auto match = find_model(catalog, model);
    const core_percent known = match ? compute_in(**match, profile) : core_percent{0};
    return known == core_percent{0} ? share_of_compute(compute_slices_by_name(profile), mig_compute_slices_max) : known;
}

std::int64_t compute_slices_by_name(std::string_view profile) {
    if (profile.size() < 3 || profile.substr(1, 2) != "g.") return 0;
    const std::int64_t slices = profile.front() - '0';
    return slices >= 1 && slices <= mig_compute_slices_max ? slices : 0;
}

std::vector<mig_group> with_slices(const mig_catalog& catalog, std::string_view model, std::vector<mig_group> groups) {
    for (mig_group& group : groups) {
        for (mig_kind& kind : group.kinds) {
            if (kind.cores == core_percent{0}) kind.cores = compute_of_instance(catalog, model, kind.name);
            if (kind.slices == requested_share{}) kind.slices = slices_of_instance(catalog, model, kind.name);
        }
    }
    return groups;
}

} // namespace vgpualloc
