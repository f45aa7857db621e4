#include "vgpualloc/metrics/stranded_slices.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace {

using namespace vgpualloc;

/// A cluster's one kind of device: a GPU of this model that is cut by placements.
struct mig_kind {
    explicit mig_kind(const std::string& model)
        : mode{make_mode_of(model)}, spec{mode->adapted({.model = model, .memory = mib{1}, .mode = mode.get()})} {
        kinds.kinds.push_back(spec);
    }
    static std::shared_ptr<const modes::mig> make_mode_of(const std::string& model) {
        return *modes::make_mig(**find_model(built_in_mig_catalog(), model));
    }
    /// The state with these instances (profile, start).
    [[nodiscard]] device_state with(const std::vector<std::pair<std::string, std::uint32_t>>& instances) const {
        device_state state;
        for (const auto& [name, start] : instances) {
            const auto& profiles = mode->model().profiles;
            const auto at = std::ranges::find(profiles, name, &mig_profile::name);
            const mig_instance instance{
                .profile = static_cast<std::uint32_t>(at - profiles.begin()), .start = start, .cores = {}};
            EXPECT_EQ(mode->why_not(spec, state, partition{instance}).code, rejection_code::none) << name << start;
            state = mode->with(spec, state, partition{instance});
        }
        return state;
    }
    /// What is stranded in that state, by profile, profiles with nothing left out.
    [[nodiscard]] std::map<std::string, std::int64_t> stranded(const device_state& state,
                                                               service_state service = service_state::in_service) {
        stranded_slices counted{kinds};
        std::vector<std::int64_t> sums(counted.profiles().size());
        counted.add({.spec = &spec, .state = state, .kind = 0, .service = service}, sums);
        std::map<std::string, std::int64_t> result;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (sums[i] != 0) result[counted.profiles()[i]] = sums[i];
        }
        return result;
    }

    std::shared_ptr<const modes::mig> mode;
    device_spec spec;
    device_kinds kinds;
};

using slices_by_profile = std::map<std::string, std::int64_t>;

TEST(stranded_slices, an_instance_at_the_wrong_place_strands_those_of_larger_profiles) {
    mig_kind a100{"A100-40GB"};
    EXPECT_EQ(a100.stranded(a100.with({{"2g.10gb", 0}})), (slices_by_profile{{"4g.20gb", 4}}));
    // On slices 4 and 5 it leaves 0 to 3 free, so one 4g.20gb fits; the six free slices still amount to no more.
    EXPECT_EQ(a100.stranded(a100.with({{"2g.10gb", 4}})), slices_by_profile{});
    // Seven slices are free beside a 1g.5gb, enough for three 2g.10gb, of which one would have to start at 0.
    EXPECT_EQ(a100.stranded(a100.with({{"1g.5gb", 0}})), (slices_by_profile{{"2g.10gb", 2}, {"4g.20gb", 4}}));
    // One in each half leaves six slices and no half of the GPU.
    EXPECT_EQ(a100.stranded(a100.with({{"1g.5gb", 0}, {"1g.5gb", 4}})),
              (slices_by_profile{{"2g.10gb", 2}, {"3g.20gb", 4}, {"4g.20gb", 4}}));
}

TEST(stranded_slices, a_gpu_out_of_service_strands_nothing) {
    mig_kind a100{"A100-40GB"};
    EXPECT_EQ(a100.stranded(a100.with({{"2g.10gb", 0}}), service_state::draining), slices_by_profile{});
}

TEST(stranded_slices, an_empty_gpu_of_any_model_strands_nothing) {
    for (const auto& model : built_in_mig_catalog().models) {
        SCOPED_TRACE(model.name);
        mig_kind gpu{model.name};
        EXPECT_EQ(gpu.stranded({}), slices_by_profile{});
    }
}

/// Against all legal layouts, which the catalog's enumeration knows without this code: what is stranded of a profile is
/// never more than what is free, and none is where no more instances would fit anyhow.
TEST(stranded_slices, is_what_no_legal_layout_can_use) {
    for (const std::string model_name : {"A100-40GB", "A30-24GB", "H100-80GB"}) {
        SCOPED_TRACE(model_name);
        mig_kind gpu{model_name};
        const mig_model& model = gpu.mode->model();
        for (const mig_layout& layout : legal_layouts(model).layouts) {
            std::vector<std::pair<std::string, std::uint32_t>> instances;
            std::int64_t free = model.units.count();
            for (const mig_slot& slot : layout) {
                instances.emplace_back(model.profiles[slot.profile].name,
                                       static_cast<std::uint32_t>(slot.start.count()));
                free -= model.profiles[slot.profile].size.count();
            }
            const device_state state = gpu.with(instances);
            for (std::size_t profile = 0; profile < model.profiles.size(); ++profile) {
                // The most instances that can join, by trying every set of places.
                const auto joined = [&](const auto& self, mig_layout with, std::size_t from) -> std::int64_t {
                    std::int64_t most = 0;
                    const auto& starts = model.profiles[profile].starts;
                    for (std::size_t i = from; i < starts.size(); ++i) {
                        const mig_slot slot{.profile = profile, .start = starts[i]};
                        if (!may_join(model, with, slot)) continue;
                        mig_layout more = with;
                        more.push_back(slot);
                        most = std::max(most, 1 + self(self, more, i + 1));
                    }
                    return most;
                };
                const std::int64_t further = gpu.mode->further_instances(state, profile);
                EXPECT_EQ(further, joined(joined, layout, 0)) << model.profiles[profile].name;
                EXPECT_GE(gpu.mode->further_by_amount(state, profile), further) << model.profiles[profile].name;
                EXPECT_LE(gpu.mode->further_by_amount(state, profile) * model.profiles[profile].size.count(), free);
            }
        }
    }
}

} // namespace
