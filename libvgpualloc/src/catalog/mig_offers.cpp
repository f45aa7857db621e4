// MIG models from what GPUs say of themselves.
#include "vgpualloc/catalog/mig_offers.hpp"

#include <algorithm>
#include <array>
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
    mig_profile made;
    made.max_instances = static_cast<std::int64_t>(offer.starts.size());
    made.kind = kind_of(offer.name);
    if (known != nullptr) {
        const auto same = std::ranges::find(known->profiles, offer.name, &mig_profile::name);
        if (same != known->profiles.end()) {
            const std::int64_t places = made.max_instances;
            made = *same;
            made.max_instances = std::min(made.max_instances, places);
        }
    }
    made.name = offer.name;
    made.memory = offer.memory;
    made.compute_slices = mig_compute{offer.compute_slices};
    made.size = mig_units{offer.size};
    made.starts.clear();
    for (const std::int64_t start : offer.starts) made.starts.emplace_back(start);
    return made;
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

} // namespace

expected<mig_model> model_of(const mig_catalog& catalog, const device_registration& from) {
    const auto found = find_model(catalog, from.model);
    if (from.offers.empty()) {
        if (!found) return unexpected(found.error());
        return **found;
    }
    const mig_model* known = found ? *found : nullptr;
    mig_model made;
    if (known != nullptr) {
        made = *known;
    } else {
        made.name = from.model;
    }
    made.profiles.clear();
    for (const mig_offer& offer : from.offers) {
        if (!has_places(offer)) {
            return unexpected(error{.code = error_code::out_of_range,
                                    .where = "MIG model '" + from.model + "'",
                                    .field = "profile",
                                    .value = offer.name,
                                    .expected = "compute slices, a size and ascending starts within 64 units"});
        }
        made.profiles.push_back(profile_of(offer, known));
        made.units = std::max(made.units, mig_units{offer.starts.back() + offer.size});
        const std::int64_t slices = known == nullptr ? slices_side_by_side(offer) : offer.compute_slices;
        made.compute_slices = std::max(made.compute_slices, mig_compute{slices});
    }
    return made;
}

expected<std::vector<mig_offer>> offers_of(const mig_model& model, std::span<const std::string> names) {
    std::vector<mig_offer> offers;
    for (const mig_profile& each : model.profiles) {
        if (std::ranges::find(names, each.name) == names.end()) continue;
        const auto memory = require(each.memory, model, each, "memory_mib");
        if (!memory) return unexpected(memory.error());
        const std::int64_t slices = each.compute_slices.count();
        mig_offer made{.name = each.name,
                       .memory = *memory,
                       .cores = core_percent{whole_compute.count() * slices / model.compute_slices.count()},
                       .compute_slices = slices,
                       .size = each.size.count(),
                       .starts = {}};
        for (const mig_units start : each.starts) made.starts.push_back(start.count());
        offers.push_back(std::move(made));
    }
    return offers;
}

} // namespace vgpualloc
