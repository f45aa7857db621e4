// The layout of a group that keeps the most of what there is.
#include "vgpualloc/plan/mig_group_change.hpp"

#include <bit>
#include <string>

#include "vgpualloc/core/bits.hpp"

namespace vgpualloc::plan {

expected<std::vector<std::int64_t>> counts_of_group(const gpu_layouts& states, const mig_group& group) {
    const mig_model& model = states.model();
    std::vector<std::int64_t> counts(model.profiles.size(), 0);
    for (const mig_kind& kind : group.kinds) {
        const auto profile = find_profile(model, kind.name);
        if (!profile) return unexpected(profile.error());
        if (kind.count < 0) {
            return unexpected(bad_value(error_code::out_of_range, kind.name, std::to_string(kind.count), "0 or more")
                                  .at("group '" + group.name + "'"));
        }
        counts[static_cast<std::size_t>(*profile - model.profiles.data())] += kind.count;
    }
    if (!states.find_multiset(counts)) {
        std::string kinds;
        for (const mig_kind& kind : group.kinds) {
            kinds += (kinds.empty() ? "" : ",") + kind.name + "=" + std::to_string(kind.count);
        }
        return unexpected(
            bad_value(error_code::mismatch, "", kinds, "instances that " + model.name + " can have at once")
                .at("group '" + group.name + "'"));
    }
    return counts;
}

expected<std::optional<mig_group_change>> change_group(const gpu_layouts& states, const mig_step_costs& costs,
                                                       const mig_live_state& live, const mig_group& group,
                                                       const mig_group_change_options& options) {
    const auto counts = counts_of_group(states, group);
    if (!counts) return unexpected(counts.error());
    if (!states.find(live.instances)) {
        return unexpected(
            bad_value(error_code::mismatch, "instances", "", "instances that can exist together").at("live state"));
    }
    if (live.busy != 0) return std::nullopt;
    const auto multiset = states.find_multiset(*counts);
    std::optional<mig_places> after;
    const auto kept_in = [&](mig_places layout) { return std::popcount(layout & live.instances); };
    for (std::size_t state = 0; state < states.size(); ++state) { // ascending, so the first of equals is the lowest
        if (states.multiset_of(state) != multiset) continue;
        if (!after || (options.keep_equal && kept_in(states.layout(state)) > kept_in(*after)))
            after = states.layout(state);
    }
    mig_group_change result;
    result.after = after.value_or(0);
    const mig_places kept = options.keep_equal ? live.instances & result.after : 0;
    const auto add = [&](mig_step_kind kind, mig_places places, ticks takes) {
        for_each_bit(places & ~kept, [&](std::size_t place) {
            const mig_slot& slot = states.places()[place].slot;
            result.steps.push_back({.kind = kind,
                                    .profile = slot.profile,
                                    .profile_id = states.model().profiles[slot.profile].profile_id,
                                    .start = slot.start,
                                    .size = states.places()[place].size,
                                    .from = std::nullopt,
                                    .takes = takes});
            result.cost += takes;
        });
    };
    add(mig_step_kind::destroy, live.instances, costs.destroy);
    add(mig_step_kind::create, result.after, costs.create);
    return result;
}

} // namespace vgpualloc::plan
