// MIG: statements of docs/requirements.md, with their numbers and tables.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "seeds.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc {
namespace {

using namespace test;

const mig_model& model(std::string_view name) { return **find_model(built_in_mig_catalog(), name); }

/// A GPU cut by the catalog's placements, as a node without geometry groups registers it.
dialects::node_reading by_catalog(const std::string& type) {
    device_registration device;
    device.uuid = "A";
    device.model = type;
    device.family = "NVIDIA";
    device.mode = "mig";
    device.memory = mib{40960};
    device.slots = 10;
    return {.devices = {device}, .problems = {}};
}

site by_groups(const vgpu::options& with = a100_geometry()) {
    site here;
    here.add("n", vgpu_node(card("A", "mig"), with));
    return here;
}

std::string profile_given(const site& here) {
    return model("A100-40GB").profiles.at(std::get<mig_instance>(here.part()).profile).name;
}

TEST(seeds_mig, instances_of_one_gpu_are_apart) {
    covers({"R006"});
    for (const char* policy : {"binpack", "spread"}) {
        site here{policy};
        here.add("n", by_catalog("NVIDIA A100-SXM4-40GB"));
        std::set<std::uint32_t> starts;
        for (int i = 0; i < 7; ++i) {
            EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "mig")), "n") << i;
            EXPECT_EQ(profile_given(here), "1g.5gb");
            starts.insert(std::get<mig_instance>(here.part()).start);
        }
        EXPECT_EQ(starts, (std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6})) << "no memory or compute slice twice";
        EXPECT_EQ(here.place(vgpu_ask(1, 100, 0, "mig")), "insufficient_device_slots");
    }
    EXPECT_FALSE(mode("mig").shares_faults());
}

TEST(seeds_mig, needs_a_gpu_that_has_it) {
    covers({"R007"});
    const auto addable = [](const std::string& type) {
        cluster owned;
        node where;
        return add_device(owned, where, by_catalog(type).devices.at(0), built_in_mig_catalog()).has_value();
    };
    EXPECT_TRUE(addable("NVIDIA A100-SXM4-40GB"));
    EXPECT_TRUE(addable("NVIDIA H100 80GB HBM3"));
    for (const char* type : {"Tesla V100-SXM2-32GB", "Tesla T4", "NVIDIA A10", "NVIDIA L40S"}) {
        EXPECT_FALSE(addable(type)) << type;
    }
    site old;
    auto reading = vgpu_node(card("A", "mig", v100), a100_geometry()); // says that it is cut by MIG
    EXPECT_EQ(reading.problems.size(), 1U);
    reading.problems.clear();
    old.add("n", reading);
    EXPECT_EQ(old.place(vgpu_ask(1, 3000, 0, "mig")), "mode_not_offered");
}

TEST(seeds_mig, users_may_write_their_own_geometry) {
    covers({"R029"});
    const auto config = [](const char* kinds) {
        const auto read = dialects::volcano::parse_device_config(
            R"({"nvidia":{"resourceCountName":"volcano.sh/vgpu-number","resourceMemoryName":"volcano.sh/vgpu-memory",
                "knownMigGeometries":[{"models":["A100-SXM4-40GB"],"allowedGeometries":[{"group":"mine","geometries":[)" +
                std::string{kinds} + "]}]}]}}",
            "device-config.yaml");
        EXPECT_TRUE(read) << read.error().message();
        return read->vgpu;
    };
    auto halves = by_groups(config(R"({"name":"3g.20gb","memory":20480,"count":2})"));
    EXPECT_EQ(halves.place_many(vgpu_ask(1, 3000, 0, "mig"), 9), 2);
    EXPECT_EQ(halves.state(0, 0).memory, mib{2 * 20480});
    auto quarters = by_groups(config(R"({"name":"2g.10gb","memory":10240,"count":3})"));
    EXPECT_EQ(quarters.place_many(vgpu_ask(1, 3000, 0, "mig"), 9), 3);
    EXPECT_EQ(quarters.state(0, 0).memory, mib{3 * 10240});
}

TEST(seeds_mig, the_mig_example) {
    covers({"R030", "R064"});
    site here;
    here.add("n_hami", vgpu_node(card("H", "hami-core")));
    here.add("n_mig", vgpu_node(card("M", "mig"), a100_geometry()));
    EXPECT_EQ(here.place(vgpu_ask(1, 30000, 0, "hami-core")), "n_hami"); // where binpack would put the next one
    const auto pod = vgpu_pod(1, 3000, 0, "mig");                        // no vgpu-cores
    EXPECT_EQ(here.place(test::spoken<vgpu::options>::read_pod(pod, {})), "n_mig");
    const auto written = test::spoken<vgpu::options>::write_assignment(
        pod, here.registered(), {.node = "n_mig", .time = "1", .shares = here.shares()}, a100_geometry());
    EXPECT_EQ(written.at(vgpu::assignment_annotation), "M[group1-0],NVIDIA,3000,0:");
}

TEST(seeds_mig, three_gb_asked_are_an_instance_of_five) {
    covers({"R031"});
    auto grouped = by_groups();
    EXPECT_EQ(grouped.place(vgpu_ask(1, 3000, 0, "mig")), "n");
    EXPECT_EQ(grouped.state(0, 0).memory, mib{5120});
    auto with = a100_geometry();
    with.geometries.at(0).groups.erase(with.geometries.at(0).groups.begin()); // 2g and 1g in one group come first
    auto of_two_sizes = by_groups(with);
    EXPECT_EQ(of_two_sizes.place(vgpu_ask(1, 6000, 0, "mig")), "n");
    EXPECT_EQ(of_two_sizes.state(0, 0).memory, mib{10240}) << "never less than asked";
    EXPECT_EQ(of_two_sizes.place(vgpu_ask(1, 3000, 0, "mig")), "n");
    EXPECT_EQ(of_two_sizes.state(0, 0).memory, mib{10240 + 5120}) << "and no more than needed";
    site open;
    open.add("n", by_catalog("NVIDIA A100-SXM4-40GB"));
    EXPECT_EQ(open.place(vgpu_ask(1, 3000, 0, "mig")), "n");
    EXPECT_EQ(profile_given(open), "1g.5gb");
    EXPECT_EQ(open.state(0, 0).memory, mib{4864}) << "4.75 GiB usable";
}

TEST(seeds_mig, groups_are_searched_in_their_order) {
    covers({"R065", "R066"});
    auto here = by_groups();
    EXPECT_EQ(here.place(vgpu_ask(1, 8000, 0, "mig")), "n");
    EXPECT_EQ(here.state(0, 0).memory, mib{10240}) << "group1 has no such instance, group2 has, group3 is not asked";
    auto with = a100_geometry();
    std::ranges::reverse(with.geometries.at(0).groups);
    auto reversed = by_groups(with);
    EXPECT_EQ(reversed.place(vgpu_ask(1, 3000, 0, "mig")), "n");
    EXPECT_EQ(reversed.state(0, 0).memory, mib{40960}) << "the first match, not the best one";
}

// --- the slides ----------------------------------------------------------------------------------------------------

/// GPC slices of the instances, by start.
using slices = std::vector<int>;
/// Seed 002, configurations 1 to 19; the doubled digits of rows 3 and 6 resolved as the engines say.
const std::array<slices, 19> slide{{{7},
                                    {4, 3},
                                    {4, 2, 1},
                                    {4, 1, 1, 1},
                                    {3, 3},
                                    {3, 2, 1},
                                    {3, 1, 1, 1},
                                    {2, 2, 3},
                                    {2, 1, 1, 3},
                                    {1, 1, 2, 3},
                                    {1, 1, 1, 1, 3},
                                    {2, 2, 2, 1},
                                    {2, 1, 1, 2, 1},
                                    {1, 1, 2, 2, 1},
                                    {2, 1, 1, 1, 1, 1},
                                    {1, 1, 2, 1, 1, 1},
                                    {1, 1, 1, 1, 2, 1},
                                    {1, 1, 1, 1, 1, 2},
                                    {1, 1, 1, 1, 1, 1, 1}}};
constexpr std::size_t no_layout = 17; ///< row 18: no instance of two slices starts at slice 5

std::vector<slices> computed_layouts() {
    const mig_model& a100 = model("A100-40GB");
    std::vector<slices> result;
    for (const mig_layout& layout : maximal_layouts(a100).layouts) {
        slices counts;
        for (const mig_slot& slot : layout) {
            counts.push_back(static_cast<int>(a100.profiles[slot.profile].compute_slices.count()));
        }
        result.push_back(counts);
    }
    return result;
}
slices sorted(slices of) {
    std::ranges::sort(of);
    return of;
}

TEST(seeds_mig, an_a100_has_nineteen_layouts) {
    covers({"R052"});
    std::multiset<slices> expected(slide.begin(), slide.end());
    expected.erase(slide.at(no_layout));
    expected.insert({2, 2, 1, 1, 1}); // which the slide lacks
    const auto layouts = computed_layouts();
    EXPECT_EQ(layouts.size(), 19U);
    EXPECT_EQ(std::multiset<slices>(layouts.begin(), layouts.end()), expected);
}

TEST(seeds_mig, every_row_of_the_slide_is_a_set_of_instances_that_exists) {
    covers({"R052"});
    std::set<slices> sets;
    for (const slices& layout : computed_layouts()) sets.insert(sorted(layout));
    std::set<slices> on_the_slide;
    for (const slices& layout : slide) on_the_slide.insert(sorted(layout));
    EXPECT_EQ(sets, on_the_slide) << "row 18 too, whose instances can stand in another order";
}

TEST(seeds_mig, engines_of_a_layout_are_those_of_its_instances) {
    covers({"R052"});
    const std::map<std::string, std::array<int, 3>> decoder_jpeg_ofa{{"7g.40gb", {5, 1, 1}},
                                                                     {"4g.20gb", {2, 0, 0}},
                                                                     {"3g.20gb", {2, 0, 0}},
                                                                     {"2g.10gb", {1, 0, 0}},
                                                                     {"1g.5gb", {0, 0, 0}}};
    for (const auto& [name, engines] : decoder_jpeg_ofa) {
        const mig_profile& profile = **find_profile(model("A100-40GB"), name);
        EXPECT_EQ(profile.engines.decoder, engines[0]) << name;
        EXPECT_EQ(profile.engines.jpeg, engines[1]) << name;
        EXPECT_EQ(profile.engines.ofa, engines[2]) << name;
    }
}

/// A line of `nvidia-smi mig -lgip`, without the columns free and P2P.
struct lgip {
    const char* name;
    std::int64_t id, total, memory_centi_gib, sm, decoder, encoder, copy, jpeg, ofa;
};

TEST(seeds_mig, profiles_of_an_a100_are_those_listed) {
    covers({"R053"});
    const std::vector<lgip> listed{
        {"1g.5gb", 19, 7, 475, 14, 0, 0, 1, 0, 0},  {"1g.5gb+me", 20, 1, 475, 14, 1, 0, 1, 1, 1},
        {"1g.10gb", 15, 4, 962, 14, 1, 0, 1, 0, 0}, {"2g.10gb", 14, 3, 962, 28, 1, 0, 2, 0, 0},
        {"3g.20gb", 9, 2, 1950, 42, 2, 0, 3, 0, 0}, {"4g.20gb", 5, 1, 1950, 56, 2, 0, 4, 0, 0},
        {"7g.40gb", 0, 1, 3925, 98, 5, 0, 7, 1, 1},
    };
    const mig_model& a100 = model("A100-40GB");
    EXPECT_EQ(a100.profiles.size(), listed.size());
    for (const lgip& row : listed) {
        const auto match = find_profile(a100, row.name);
        ASSERT_TRUE(match) << row.name;
        const mig_profile& profile = **match;
        EXPECT_EQ(profile.profile_id, row.id) << row.name;
        EXPECT_EQ(profile.max_instances, row.total) << row.name;
        EXPECT_EQ(profile.memory_shown, centi_gib{row.memory_centi_gib}) << row.name;
        EXPECT_EQ(profile.sm, row.sm) << row.name;
        EXPECT_EQ(
            profile.engines,
            (mig_engines{
                .copy = row.copy, .decoder = row.decoder, .encoder = row.encoder, .jpeg = row.jpeg, .ofa = row.ofa}))
            << row.name;
    }
}

TEST(seeds_mig, a_gpu_has_at_most_seven_instances) {
    covers({"R054"});
    for (const mig_model& model : built_in_mig_catalog().models) {
        std::size_t most = 0;
        for (const mig_layout& layout : legal_layouts(model, {.set = mig_profile_set::all}).layouts) {
            most = std::max(most, layout.size());
        }
        EXPECT_LE(most, 7U) << model.name;
        const bool is_thor = model.name == "THOR-IGPU"; // all its 1g have the same place
        EXPECT_EQ(most, is_thor ? 2U : static_cast<std::size_t>(model.compute_slices.count())) << model.name;
    }
    site here;
    here.add("n", by_catalog("NVIDIA A100-SXM4-40GB"));
    EXPECT_EQ(here.place_many(vgpu_ask(1, 1000, 0, "mig"), 20), 7);
}

/// Bandwidth is that of the memory slices, which are the units of the grid: an instance's share of it is its share of
/// the units, which is what counts as used where it is the larger one.
TEST(seeds_mig, the_share_of_the_memory_system_is_by_size) {
    covers({"R055"});
    const mig_model& a100 = model("A100-40GB");
    const auto whole = (*find_profile(a100, "7g.40gb"))->memory_shown->count();
    for (const mig_profile& profile : a100.profiles) {
        const double share = static_cast<double>(profile.size.count()) / static_cast<double>(a100.units.count());
        EXPECT_NEAR(static_cast<double>(profile.memory_shown->count()) / static_cast<double>(whole), share, 0.01)
            << profile.name;
    }
    for (const auto& [name, used] : {std::pair{"3g.20gb", 500}, {"1g.10gb", 250}, {"4g.20gb", 572}}) {
        site here;
        here.add("n", by_catalog("NVIDIA A100-SXM4-40GB"));
        auto request = vgpu_ask(1, 0, 0, "mig");
        request->containers.at(0).profile = name;
        EXPECT_EQ(here.place(request), "n");
        const device_spec& spec = here.owned().kinds.at(0);
        EXPECT_EQ(spec.mode->used(spec, here.state(0, 0)), milli_gpu{used}) << name;
    }
}

TEST(seeds_mig, is_inflexible_and_differs_by_gpu) {
    covers({"R056"});
    auto here = by_groups();
    EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "mig")), "n");
    EXPECT_EQ(here.place(vgpu_ask(1, 20480, 0, "mig")), "no_free_instance")
        << "35 GiB are free, but the group of 5 GB instances is what was configured";
    const auto smallest = [](const std::string& type) {
        site one;
        one.add("n", by_catalog(type));
        EXPECT_EQ(one.place(vgpu_ask(1, 3000, 0, "mig")), "n");
        return model(type).profiles.at(std::get<mig_instance>(one.part()).profile).name;
    };
    EXPECT_EQ(smallest("NVIDIA A100-SXM4-40GB"), "1g.5gb");
    EXPECT_EQ(smallest("NVIDIA A100-SXM4-80GB"), "1g.10gb");
    EXPECT_EQ(smallest("NVIDIA A30"), "1g.6gb");
    for (const mig_model& model : built_in_mig_catalog().models) {
        const bool ampere_or_later = model.architecture.find("Ampere") != std::string::npos ||
                                     model.architecture.find("Hopper") != std::string::npos ||
                                     model.architecture.find("Blackwell") != std::string::npos;
        EXPECT_TRUE(ampere_or_later) << model.name << " " << model.architecture;
    }
}

TEST(seeds_mig, an_instance_is_told_by_its_name) {
    covers({"R056"});
    auto here = by_groups();
    const auto pod = vgpu_pod(1, 3000, 0, "mig");
    std::set<std::string> names;
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(here.place(test::spoken<vgpu::options>::read_pod(pod, {})), "n");
        names.insert(test::spoken<vgpu::options>::write_assignment(
                         pod, here.registered(), {.node = "n", .time = "1", .shares = here.shares()}, a100_geometry())
                         .at(vgpu::assignment_annotation));
    }
    EXPECT_EQ(names.size(), 7U);
    EXPECT_TRUE(names.contains("A[group1-6],NVIDIA,3000,0:"));
}

} // namespace
} // namespace vgpualloc
