// MIG by the catalog's placements: what fits beside what, which instance a request gets, what is charged.
#include "requirements.hpp"
#include "support.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

const mig_model& model_of(std::string_view name) { return **find_model(built_in_mig_catalog(), name); }

/// A GPU of one model with what is on it, for tests that read as a story.
struct gpu_of {
    explicit gpu_of(const mig_model& which) : model{which}, mode{modes::make_mig(which).value()} {
        // What counts only where the catalog does not know it: as a GH200 of 144 GB registers.
        spec = mode->adapted({.model = which.name, .memory = mib{147'456}, .mode = mode.get()});
    }
    explicit gpu_of(std::string_view name) : gpu_of{model_of(name)} {}

    [[nodiscard]] mig_instance at(std::string_view profile, std::uint32_t start) const {
        const auto named = std::ranges::find(model.profiles, profile, &mig_profile::name);
        return {.profile = static_cast<std::uint32_t>(named - model.profiles.begin()), .start = start, .cores = {}};
    }
    [[nodiscard]] rejection_code why_not(std::string_view profile, std::uint32_t start) const {
        return mode->why_not(spec, state, partition{at(profile, start)}).code;
    }
    void add(std::string_view profile, std::uint32_t start) {
        ASSERT_EQ(why_not(profile, start), none) << profile << " @ " << start;
        state = mode->with(spec, state, at(profile, start));
    }
    /// The candidates as "profile@start", by ascending start.
    [[nodiscard]] std::vector<std::string> ways(const device_request& request) const {
        std::vector<partition> parts = candidates(request);
        std::ranges::sort(parts, {}, [](const partition& part) { return std::get<mig_instance>(part).start; });
        EXPECT_EQ(parts.empty(), mode->why_not(spec, state, request).code != none);
        std::vector<std::string> names;
        for (const partition& part : parts) {
            const auto& instance = std::get<mig_instance>(part);
            names.push_back(model.profiles[instance.profile].name + "@" + std::to_string(instance.start));
            EXPECT_EQ(mode->why_not(spec, state, part).code, none) << names.back();
        }
        return names;
    }

    [[nodiscard]] std::vector<partition> candidates(const device_request& request) const {
        std::vector<partition> parts;
        mode->candidates(spec, state, request, parts);
        return parts;
    }

    const mig_model& model;
    std::shared_ptr<const modes::mig> mode;
    device_spec spec;
    device_state state{};
};

using names = std::vector<std::string>;

TEST(mig, a_request_gets_the_smallest_profile_that_is_large_enough_at_every_free_start) {
    covers({"R031"});
    gpu_of a100{"A100-40GB"};
    EXPECT_EQ(a100.ways(want(1, 3000)),
              (names{"1g.5gb@0", "1g.5gb@1", "1g.5gb@2", "1g.5gb@3", "1g.5gb@4", "1g.5gb@5", "1g.5gb@6"}))
        << "R031: 3000 MiB asked, the 5 GB instance given";
    EXPECT_EQ(a100.ways(want(1, 4864)).front(), "1g.5gb@0") << "exactly its usable memory";
    EXPECT_EQ(a100.ways(want(1, 4865)), (names{"1g.10gb@0", "1g.10gb@2", "1g.10gb@4", "1g.10gb@6"}))
        << "before 2g.10gb, which has as much memory and more compute";
    EXPECT_EQ(a100.ways(want(1, 10000)), (names{"3g.20gb@0", "3g.20gb@4"}));
    EXPECT_EQ(a100.ways(want(1, 20000)), (names{"7g.40gb@0"}));
    EXPECT_EQ(a100.ways(want(1, 0)), (names{"7g.40gb@0"})) << "the whole card";
}

TEST(mig, the_start_that_leaves_most_starts_comes_first) {
    gpu_of a100{"A100-40GB"};
    const auto first_start = [&](std::int64_t memory_mib) {
        return std::get<mig_instance>(a100.candidates(want(1, memory_mib)).front()).start;
    };
    EXPECT_EQ(first_start(3000), 6U) << "blocks the fewest of the others";
    EXPECT_EQ(first_start(10000), 4U) << "start 0 is the only one of 4g.20gb";
    a100.add("1g.5gb", 6);
    EXPECT_EQ(first_start(3000), 4U) << "5 leaves as many, and comes later";
    a100.add("4g.20gb", 0);
    EXPECT_EQ(first_start(3000), 4U);
}

TEST(mig, compute_asked_for_is_a_lower_bound) {
    gpu_of a100{"A100-40GB"};
    EXPECT_EQ(a100.ways(want(1, 3000, 14)).front(), "1g.5gb@0") << "one seventh is 14.3 %";
    EXPECT_EQ(a100.ways(want(1, 3000, 15)).front(), "2g.10gb@0");
    EXPECT_EQ(a100.ways(want(1, 3000, 50)), (names{"4g.20gb@0"})) << "three sevenths are 42.9 %";
    EXPECT_EQ(a100.ways(want(1, 3000, 100)), (names{"7g.40gb@0"}));
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, want(1, 3000, 101)),
              (rejection_detail{insufficient_device_cores, 101, 100}));
}

TEST(mig, without_a_profile_of_all_compute_the_largest_says_what_there_is) {
    mig_model cut = model_of("A100-40GB");
    std::erase_if(cut.profiles, [](const mig_profile& profile) { return profile.compute_slices == mig_compute{7}; });
    const gpu_of on{cut};
    EXPECT_EQ(on.mode->why_not(on.spec, on.state, want(1, 3000, 100)),
              (rejection_detail{insufficient_device_cores, 100, 57}))
        << "4 of 7";
}

TEST(mig, percent_is_of_the_memory_slices) {
    gpu_of a100{"A100-40GB"};
    const auto percent = [&](std::int64_t share) {
        device_request request = want(1, 0);
        request.memory_percent = share;
        return a100.ways(request);
    };
    EXPECT_EQ(percent(12).front(), "1g.5gb@0") << "an eighth is 12.5 %";
    EXPECT_EQ(percent(13).front(), "1g.10gb@0");
    EXPECT_EQ(percent(50).front(), "3g.20gb@0");
    EXPECT_EQ(percent(51).front(), "7g.40gb@0");
    EXPECT_EQ(percent(100).front(), "7g.40gb@0");
    EXPECT_EQ(percent(101), names{});
}

TEST(mig, the_next_larger_profile_is_given_if_the_smallest_has_no_free_start) {
    gpu_of a30{"A30-24GB"};
    a30.add("1g.6gb", 0);
    EXPECT_EQ(a30.ways(want(1, 6000)), (names{"2g.12gb@2"}));
    gpu_of a100{"A100-40GB"};
    for (const std::uint32_t start : {0U, 1U, 2U, 3U}) a100.add("1g.5gb", start);
    EXPECT_EQ(a100.ways(want(1, 9000)), (names{"1g.10gb@4", "1g.10gb@6"}));
    a100.add("3g.20gb", 4);
    EXPECT_EQ(a100.ways(want(1, 9000)), names{});
    EXPECT_EQ(a100.mode->why_not(a100.spec, a100.state, want(1, 9000)), (rejection_detail{no_free_instance, 9000, 0}));
    EXPECT_EQ(a100.mode->why_not(a100.spec, a100.state, want(1, 50000)),
              (rejection_detail{insufficient_device_memory, 50000, 40192}))
        << "more than any instance has, whatever is free";
}

TEST(mig, instances_exclude_each_other_as_the_catalog_says) {
    covers({"R006"});
    gpu_of a100{"A100-40GB"};
    a100.add("2g.10gb", 2);
    EXPECT_EQ(a100.why_not("2g.10gb", 2), no_free_instance) << "the same place";
    EXPECT_EQ(a100.why_not("1g.5gb", 3), no_free_instance) << "units overlap";
    EXPECT_EQ(a100.why_not("4g.20gb", 0), no_free_instance);
    EXPECT_EQ(a100.why_not("2g.10gb", 1), mode_not_offered) << "no such start";
    EXPECT_EQ(a100.why_not("2g.10gb", 6), mode_not_offered) << "the slide's row 18 is no layout (R052)";
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, partition{mig_instance{.profile = 99, .start = 0, .cores = {}}}).code,
              mode_not_offered);
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, partition{whole_device{}}).code, mode_not_offered);
    a100.add("1g.5gb", 0);
    a100.add("3g.20gb", 4);
    a100.add("1g.5gb", 1);
    EXPECT_EQ(a100.ways(want(1, 1)), names{}) << "full: units 0 to 7";
}

TEST(mig, media_engines_are_shared_out_and_given_by_name_only) {
    gpu_of a100{"A100-40GB"};
    device_request media = want(1, 0);
    media.profile = "1g.5gb+me";
    EXPECT_EQ(a100.ways(media).size(), 7U);
    a100.add("1g.5gb+me", 6);
    EXPECT_EQ(a100.ways(media), names{}) << "one +me";
    EXPECT_EQ(a100.why_not("1g.5gb+me", 0), no_free_instance);
    for (std::uint32_t start = 0; start < 6; ++start) {
        EXPECT_EQ(a100.ways(want(1, 3000)).front(), "1g.5gb@" + std::to_string(start)) << "+me is not given unasked";
        a100.add("1g.5gb", start);
    }
    EXPECT_EQ(a100.ways(want(1, 3000)), names{});

    gpu_of a30{"A30-24GB"};
    a30.add("1g.6gb+me", 0);
    EXPECT_EQ(a30.why_not("2g.12gb+me", 2), no_free_instance) << "the A30 has one JPEG and one OFA engine";
    a30.add("2g.12gb", 2);
    EXPECT_EQ(a30.why_not("1g.6gb", 1), none);
}

TEST(mig, the_order_of_the_catalog_does_not_matter) {
    mig_model reversed = model_of("A100-40GB");
    std::ranges::reverse(reversed.profiles);
    const gpu_of a100{reversed};
    EXPECT_EQ(a100.ways(want(1, 3000)).front(), "1g.5gb@0") << "not 1g.5gb+me, which is as large";
    EXPECT_EQ(a100.ways(want(1, 9000)).front(), "1g.10gb@0");
}

TEST(mig, profiles_are_asked_for_by_name) {
    gpu_of a100{"A100-40GB"};
    device_request named = want(1, 0);
    named.profile = "2g.10gb";
    EXPECT_EQ(a100.ways(named), (names{"2g.10gb@0", "2g.10gb@2", "2g.10gb@4"}));
    named.memory = mib{9000};
    EXPECT_EQ(a100.ways(named).size(), 3U);
    named.memory = mib{10000};
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, named).code, request_not_valid) << "more than the profile has";
    named.profile = "2g.20gb";
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, named).code, request_not_valid) << "of another model";
}

TEST(mig, the_12_unit_grid_of_an_rtx_pro_6000) {
    gpu_of rtx{"RTX-PRO-6000-96GB"};
    EXPECT_EQ(rtx.ways(want(1, 20000)), (names{"1g.24gb@0", "1g.24gb@3", "1g.24gb@6", "1g.24gb@9"}));
    EXPECT_EQ(rtx.ways(want(1, 40000)), (names{"2g.48gb@0", "2g.48gb@6"}));
    EXPECT_EQ(rtx.ways(want(1, 0)), (names{"4g.96gb@0"}));
    rtx.add("1g.24gb", 3);
    EXPECT_EQ(rtx.ways(want(1, 40000)), (names{"2g.48gb@6"}));
    EXPECT_EQ(rtx.mode->used(rtx.spec, rtx.state), milli_gpu{250});
    EXPECT_EQ(rtx.why_not("1g.24gb+me.all", 6), no_free_instance) << "1g.24gb has one of the four decoders";
    gpu_of other{"RTX-PRO-6000-96GB"};
    other.add("1g.24gb+me.all", 6);
    EXPECT_EQ(other.ways(want(1, 20000)), names{}) << "no media engine is left for it";
    EXPECT_EQ(other.why_not("1g.24gb-me", 0), none) << "which needs none";
}

TEST(mig, engine_totals_bind_where_no_pair_exceeds_them) {
    mig_model tight = model_of("RTX-PRO-6000-96GB");
    tight.engines.decoder = 3;
    for (mig_profile& profile : tight.profiles)
        profile.engines.decoder = std::min<std::int64_t>(1, *profile.engines.decoder);
    const gpu_of three_decoders{tight};
    gpu_of gpu = three_decoders;
    for (const std::uint32_t start : {0U, 3U, 6U}) gpu.add("1g.24gb", start);
    EXPECT_EQ(gpu.why_not("1g.24gb", 9), no_free_instance);
    EXPECT_EQ(gpu.why_not("1g.24gb-me", 9), none);
}

TEST(mig, use_is_the_larger_of_the_memory_slice_and_compute_slice_shares) {
    gpu_of a100{"A100-40GB"};
    EXPECT_EQ(a100.mode->used(a100.spec, {}), milli_gpu{0});
    a100.add("1g.5gb", 0);
    EXPECT_EQ(a100.mode->used(a100.spec, a100.state), milli_gpu{143}) << "1/7 of compute over 1/8 of memory";
    EXPECT_EQ(a100.state, (device_state{.memory = mib{4864}, .cores = core_percent{14}, .slots = 1, .layout = 1}));
    a100.add("3g.20gb", 4);
    EXPECT_EQ(a100.mode->used(a100.spec, a100.state), milli_gpu{625}) << "5/8 of memory over 4/7 of compute";
    const device_state both = a100.state;
    a100.state = a100.mode->without(a100.spec, both, a100.at("1g.5gb", 0));
    EXPECT_EQ(a100.mode->used(a100.spec, a100.state), milli_gpu{500});
    a100.state = a100.mode->without(a100.spec, a100.state, a100.at("3g.20gb", 4));
    EXPECT_EQ(a100.state, device_state{});
    a100.add("7g.40gb", 0);
    EXPECT_EQ(a100.mode->used(a100.spec, a100.state), whole_gpu);
}

TEST(mig, hardware_fixes_memory_compute_and_slots) {
    const device_spec a100 = gpu_of{"A100-40GB"}.spec;
    EXPECT_GE(a100.memory, mib{40192});
    EXPECT_EQ(a100.cores, whole_compute);
    EXPECT_EQ(a100.slots, 7);
    EXPECT_EQ(gpu_of{"A30-24GB"}.spec.slots, 4);
}

/// Every layout that placing core profiles until none fits can reach, as sets of places.
std::size_t full_layouts(std::string_view name) {
    gpu_of gpu{name};
    std::set<std::uint64_t> seen;
    std::set<std::uint64_t> full;
    const auto go = [&](const auto& self, const device_state& state) -> void {
        if (!seen.insert(state.layout).second) return;
        bool grew = false;
        for (const mig_slot& slot : slots_of(gpu.model, mig_profile_set::core)) {
            const partition part = mig_instance{.profile = static_cast<std::uint32_t>(slot.profile),
                                                .start = static_cast<std::uint32_t>(slot.start.count()),
                                                .cores = {}};
            if (gpu.mode->why_not(gpu.spec, state, part).code != none) continue;
            grew = true;
            self(self, gpu.mode->with(gpu.spec, state, part));
        }
        if (!grew) full.insert(state.layout);
    };
    go(go, {});
    return full.size();
}

TEST(mig, placing_core_profiles_until_full_reaches_the_known_layouts) {
    covers({"R052"});
    EXPECT_EQ(full_layouts("A100-40GB"), 19U);
    EXPECT_EQ(full_layouts("A30-24GB"), 5U);
    EXPECT_EQ(full_layouts("RTX-PRO-6000-96GB"), 5U);
}

/// The catalog's own enumeration, which shares no code with the mode, against the mode, over every legal layout.
TEST(mig, agrees_with_the_catalog_about_every_layout_of_every_model) {
    for (const mig_model& model : built_in_mig_catalog().models) {
        const gpu_of gpu{model};
        const auto part_of = [](const mig_slot& slot) {
            return partition{mig_instance{.profile = static_cast<std::uint32_t>(slot.profile),
                                          .start = static_cast<std::uint32_t>(slot.start.count()),
                                          .cores = {}}};
        };
        const auto layouts = legal_layouts(model, {.set = mig_profile_set::all}).layouts;
        const auto slots = slots_of(model, mig_profile_set::all);
        for (const mig_layout& layout : layouts) {
            device_state state;
            for (const mig_slot& slot : layout) {
                ASSERT_EQ(gpu.mode->why_not(gpu.spec, state, part_of(slot)).code, none) << model.name;
                state = gpu.mode->with(gpu.spec, state, part_of(slot));
            }
            ASSERT_LE(state.memory, gpu.spec.memory) << model.name;
            ASSERT_LE(state.cores, gpu.spec.cores) << model.name;
            for (const mig_slot& slot : slots) {
                ASSERT_EQ(gpu.mode->why_not(gpu.spec, state, part_of(slot)).code == none, may_join(model, layout, slot))
                    << model.name;
            }
        }
    }
}

/// The profile that an empty GPU gives; empty where it gives none.
std::string profile_for(const gpu_of& gpu, const device_request& request) {
    const names ways = gpu.ways(request);
    return ways.empty() ? std::string{} : ways.front().substr(0, ways.front().find('@'));
}

TEST(mig, memory_asked_for_is_served_as_far_as_the_catalog_knows_it) {
    gpu_of b200{"B200-180GB"}; // 1g.23gb 20992 MiB, 1g.45gb and 2g.45gb 45312 MiB, larger ones unknown
    EXPECT_EQ(b200.ways(want(1, 3000)).front(), "1g.23gb@0");
    EXPECT_EQ(b200.ways(want(1, 22529)).front(), "1g.45gb@0");
    EXPECT_EQ(b200.ways(want(1, 3000, 40)), (names{"3g.90gb@0", "3g.90gb@4"}))
        << "of four memory slices, so no less than the 45312 MiB of two";
    EXPECT_EQ(b200.ways(want(1, 45'313)), (names{"3g.90gb@0", "3g.90gb@4"})) << "86.4 % of a half, 79210 MiB";
    EXPECT_EQ(b200.ways(want(1, 79'210)), (names{"3g.90gb@0", "3g.90gb@4"}));
    EXPECT_EQ(b200.ways(want(1, 91'680)), (names{"7g.180gb@0"})) << "more than a half";
    EXPECT_EQ(b200.ways(want(1, 158'422)), (names{"7g.180gb@0"}));
    EXPECT_EQ(b200.ways(want(1, 0)), (names{"7g.180gb@0"})) << "the largest, whatever it has";
    EXPECT_EQ(b200.mode->why_not(b200.spec, {}, want(1, 200'000)),
              (rejection_detail{insufficient_device_memory, 200'000, 183'359}))
        << "more than the GPU has, so nothing unknown decides";
    gpu_of gh200{"GH200-144GB"};
    EXPECT_EQ(gh200.ways(want(1, 36096)).front(), "1g.36gb@0");
    EXPECT_EQ(gh200.ways(want(1, 59'325)).front(), "3g.72gb@0") << "only the product's name says its memory, 144 GB";
}

/// Of these the catalog knows the memory of no instance, only that of the GPU.
TEST(mig, a_gpu_whose_profiles_are_all_unknown_serves_what_they_have_at_least) {
    gpu_of b300{"B300-269GB"}; // 275040 MiB: 34380 MiB a slice, at least 29704
    EXPECT_EQ(profile_for(b300, want(1, 3000)), "1g.34gb");
    EXPECT_EQ(profile_for(b300, want(1, 29'704)), "1g.34gb");
    EXPECT_EQ(b300.mode->why_not(b300.spec, {}, want(1, 29'705)),
              (rejection_detail{instance_memory_unknown, 29'705, 29'704}));
    EXPECT_EQ(b300.mode->why_not(b300.spec, {}, want(1, 34'380)).code, instance_memory_unknown);
    EXPECT_EQ(profile_for(b300, want(1, 34'381)), "1g.67gb") << "more than any 1g.34gb can have";
    EXPECT_EQ(profile_for(b300, want(1, 100'000)), "3g.135gb");
    gpu_of h20{"H20-96GB"}; // 97871 MiB
    EXPECT_EQ(profile_for(h20, want(1, 10'569)), "1g.12gb");
    EXPECT_EQ(profile_for(h20, want(1, 42'279)), "3g.48gb");
    EXPECT_EQ(h20.mode->why_not(h20.spec, {}, want(1, 42'280)).code, instance_memory_unknown);
    gpu_of gb300{"GB300-278GB"};
    EXPECT_EQ(profile_for(gb300, want(1, 30'000)), "1g.35gb");
    gpu_of h20_141{"H20-141GB"};
    EXPECT_EQ(profile_for(h20_141, want(1, 14'000)), "1g.18gb");
    gpu_of thor{"THOR-IGPU"}; // its memory is the host's
    EXPECT_EQ(thor.mode->why_not(thor.spec, {}, want(1, 1)).code, instance_memory_unknown);
}

TEST(mig, an_instance_that_may_be_too_small_is_never_given) {
    gpu_of b200{"B200-180GB"};
    const rejection_detail in_doubt{instance_memory_unknown, 79'211, 79'210};
    EXPECT_EQ(b200.mode->why_not(b200.spec, {}, want(1, 79'211)), in_doubt) << "3g.90gb might do, and be the best fit";
    EXPECT_EQ(b200.ways(want(1, 79'211)), names{});
    gpu_of h20{"H20-96GB"}; // nothing known but the whole GPU, 97871 MiB
    EXPECT_EQ(h20.mode->why_not(h20.spec, {}, want(1, 11'000)),
              (rejection_detail{instance_memory_unknown, 11'000, 10'569}));
    EXPECT_EQ(h20.mode->why_not(h20.spec, {}, want(1, 97'872)),
              (rejection_detail{insufficient_device_memory, 97'872, 97'871}));
}

/// Known below and above it: only requests between the two are in doubt, and only where it is free.
TEST(mig, one_unknown_profile_stops_only_what_it_decides) {
    mig_model model = model_of("A100-40GB");
    for (auto& profile : model.profiles) {
        if (profile.size == mig_units{4}) profile.memory.reset(); // 3g.20gb and 4g.20gb
    }
    gpu_of a100{model};
    EXPECT_EQ(a100.ways(want(1, 9851)).front(), "1g.10gb@0");
    EXPECT_EQ(profile_for(a100, want(1, 17'694)), "3g.20gb") << "86.4 % of 20480 MiB";
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, want(1, 17'695)),
              (rejection_detail{instance_memory_unknown, 17'695, 17'694}));
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, want(1, 20'480)).code, instance_memory_unknown);
    EXPECT_EQ(a100.ways(want(1, 20'481)), (names{"7g.40gb@0"})) << "more than a half can have";
    EXPECT_EQ(a100.mode->why_not(a100.spec, {}, want(1, 40'193)),
              (rejection_detail{insufficient_device_memory, 40'193, 40'192}));
    EXPECT_EQ(a100.ways(want(1, 17'695, 60)), (names{"7g.40gb@0"})) << "4g.20gb has too little compute anyway";
    a100.add("1g.5gb", 0);
    a100.add("1g.5gb", 4);
    EXPECT_EQ(a100.mode->why_not(a100.spec, a100.state, want(1, 17'695)).code, no_free_instance)
        << "7g.40gb has enough, but neither it nor what is in doubt is free";
}

TEST(mig, a_name_or_a_percentage_needs_no_memory) {
    gpu_of h20{"H20-96GB"};
    device_request named = want(1, 0);
    named.profile = "3g.48gb";
    EXPECT_EQ(h20.ways(named), (names{"3g.48gb@0", "3g.48gb@4"}));
    device_request half = want(1, 0);
    half.memory_percent = 50;
    EXPECT_EQ(h20.ways(half), (names{"3g.48gb@0", "3g.48gb@4"}));
    EXPECT_EQ(h20.ways(want(1, 0)), (names{"7g.96gb@0"}));
    h20.add("3g.48gb", 0);
    EXPECT_EQ(h20.state.memory, mib{97'871 / 2}) << "charged its share of the memory slices";
    EXPECT_EQ(h20.mode->used(h20.spec, h20.state), milli_gpu{500});
    h20.state = h20.mode->without(h20.spec, h20.state, h20.at("3g.48gb", 0));
    EXPECT_EQ(h20.state, device_state{});
    named.memory = mib{45'000}; // both a name and an amount: the amount has to be known
    EXPECT_EQ(h20.mode->why_not(h20.spec, {}, named), (rejection_detail{instance_memory_unknown, 45'000, 42'279}));
    named.memory = mib{48'936}; // more than the share of the slices
    EXPECT_EQ(h20.mode->why_not(h20.spec, {}, named).code, request_not_valid);
}

TEST(mig, a_model_with_more_places_than_bits_is_refused) {
    mig_model wide = model_of("A100-40GB");
    for (int copies = 0; copies < 7; ++copies) wide.profiles.push_back(wide.profiles.front());
    const auto refused = modes::make_mig(wide);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, error_code::unsupported);
    EXPECT_EQ(refused.error().value, "74");
}

} // namespace
} // namespace vgpualloc
