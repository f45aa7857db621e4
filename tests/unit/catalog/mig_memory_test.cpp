// What is known of the memory of instances that no source tells, and what that rests on.
#include <algorithm>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "catalog/mig_memory.hpp"
#include "models.hpp"

namespace vgpualloc {
namespace {

using test::model;

mig_memory_bounds bounds_of(std::string_view of, std::string_view name) {
    return memory_bounds(model(of), **find_profile(model(of), name));
}

/// The constant is data about drivers: every instance of known memory has more than it says, and no more than its
/// share.
TEST(mig_memory, no_instance_has_less_than_the_least_or_more_than_its_share) {
    std::int64_t compared = 0;
    double least = 1.0;
    for (const mig_model& gpu : built_in_mig_catalog().models) {
        if (!gpu.memory) continue;
        for (const mig_profile& part : gpu.profiles) {
            if (!part.memory) continue;
            const auto share =
                static_cast<double>(gpu.memory->count() * part.size.count()) / static_cast<double>(gpu.units.count());
            least = std::min(least, static_cast<double>(part.memory->count()) / share);
            EXPECT_LE(static_cast<double>(part.memory->count()), share) << gpu.name << " " << part.name;
            ++compared;
        }
    }
    EXPECT_GT(compared, 60);
    EXPECT_GT(least, static_cast<double>(mig_memory_least_permille) / 1000);
    EXPECT_LT(least, static_cast<double>(mig_memory_least_permille + 1) / 1000) << "as close as thousandths come";
}

/// Hiding what is known of a profile must leave bounds that it is within.
TEST(mig_memory, what_is_known_is_within_the_bounds_that_it_would_have_if_it_were_not) {
    for (mig_model gpu : built_in_mig_catalog().models) {
        const mig_model known = gpu;
        for (mig_profile& part : gpu.profiles) part.memory.reset();
        for (const bool by_name : {false, true}) {
            if (by_name) gpu.memory.reset();
            for (std::size_t p = 0; p < known.profiles.size(); ++p) {
                const auto& memory = known.profiles[p].memory;
                if (!memory) continue;
                const mig_memory_bounds without = memory_bounds(gpu, gpu.profiles[p]);
                EXPECT_LE(without.at_least, *memory) << gpu.name << " " << gpu.profiles[p].name << " " << by_name;
                EXPECT_GE(without.at_most, *memory) << gpu.name << " " << gpu.profiles[p].name << " " << by_name;
                EXPECT_EQ(memory_bounds(known, known.profiles[p]), (mig_memory_bounds{*memory, *memory}));
            }
        }
    }
}

TEST(mig_memory, a_share_of_what_the_driver_or_else_the_name_says) {
    EXPECT_EQ(bounds_of("B300-269GB", "1g.34gb"), (mig_memory_bounds{mib{29'704}, mib{34'380}}));
    EXPECT_EQ(bounds_of("B300-269GB", "7g.269gb"), (mig_memory_bounds{mib{237'634}, mib{275'040}}));
    EXPECT_EQ(bounds_of("RTX-PRO-5000-48GB", "1g.24gb"), (mig_memory_bounds{mib{19'775}, mib{24'576}}));
    EXPECT_EQ(bounds_of("THOR-IGPU", "3g.0gb"), (mig_memory_bounds{mib{0}, std::nullopt}));
}

TEST(mig_memory, profiles_of_known_memory_go_before_the_share) {
    mig_model gpu = model("A100-40GB");
    gpu.profiles.resize(5); // 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb
    gpu.profiles[2].memory.reset();
    gpu.profiles[3].memory = mib{9000};
    EXPECT_EQ(memory_bounds(gpu, gpu.profiles[2]), (mig_memory_bounds{mib{9000}, mib{9000}})) << "of as many units";
    gpu.profiles[3].memory.reset();
    gpu.profiles[4].memory = mib{8000};
    EXPECT_EQ(memory_bounds(gpu, gpu.profiles[2]), (mig_memory_bounds{mib{8000}, mib{8000}})) << "not 8847";
    gpu.profiles[4].memory = mib{9000};
    EXPECT_EQ(memory_bounds(gpu, gpu.profiles[2]), (mig_memory_bounds{mib{8847}, mib{9000}}));
}

} // namespace
} // namespace vgpualloc
