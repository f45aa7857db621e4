// What is known of the memory of MIG instances.
#include "catalog/mig_memory.hpp"

#include <algorithm>

namespace vgpualloc {

namespace {

/// The whole GPU's, between two amounts; nothing where neither the driver nor the name says it.
std::optional<mig_memory_bounds> memory_of(const mig_model& model) noexcept {
    if (model.memory) return mig_memory_bounds{.at_least = *model.memory, .at_most = model.memory};
    if (!model.memory_gb) return std::nullopt;
    constexpr std::int64_t bytes_per_gb = 1'000'000'000;
    constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20U;
    return mig_memory_bounds{.at_least = mib{*model.memory_gb * bytes_per_gb / bytes_per_mib},
                             .at_most = mib{*model.memory_gb * 1024}};
}

} // namespace

mig_memory_bounds memory_bounds(const mig_model& model, const mig_profile& profile) noexcept {
    if (profile.memory) return {.at_least = *profile.memory, .at_most = profile.memory};
    const auto share_of = [&](mib memory) { return memory.count() * profile.size.count() / model.units.count(); };
    mig_memory_bounds bounds{.at_least = mib{0}, .at_most = std::nullopt};
    if (const auto whole = memory_of(model)) {
        bounds.at_least = mib{share_of(whole->at_least) * mig_memory_least_permille / 1000};
        bounds.at_most = mib{share_of(*whole->at_most)};
    }
    // Units are memory slices, so more of them are no less memory.
    std::optional<mib> larger;
    for (const mig_profile& other : model.profiles) {
        if (!other.memory) continue;
        if (other.size <= profile.size) bounds.at_least = std::max(bounds.at_least, *other.memory);
        if (other.size >= profile.size) larger = std::min(larger.value_or(*other.memory), *other.memory);
    }
    // What is known of other profiles goes before the share.
    if (larger) bounds.at_least = std::min(bounds.at_least, *larger);
    if (larger) bounds.at_most = std::min(bounds.at_most.value_or(*larger), *larger);
    if (bounds.at_most) bounds.at_most = std::max(*bounds.at_most, bounds.at_least);
    return bounds;
}

} // namespace vgpualloc
