// MindCluster's templates of a 310P: the selection table, DVPP, downgrades and budgets.
#include "vgpualloc/mode/mindcluster_310p.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "mode/ascend_catalog.hpp"
#include "mode/refusals.hpp"
#include "requirements.hpp"

namespace vgpualloc {
namespace {

using test::covers;
using enum rejection_code;
using enum dvpp_use;
using modes::make_mindcluster_310p;
using modes::mindcluster_310p;

device_request core_request(std::int64_t cores, dvpp_use dvpp = unstated, bool high_level = false) {
    device_request request;
    request.count = 1;
    request.cores = core_percent{cores};
    request.dvpp = dvpp;
    request.high_level = high_level;
    return request;
}
device_request high(std::int64_t cores, dvpp_use dvpp = unstated) { return core_request(cores, dvpp, true); }

/// The part of a template, by its name.
partition part_of(std::string_view name) {
    if (name == "whole") return whole_device{};
    const auto row = std::ranges::find(mindcluster_310p::rows, name, &mindcluster_310p::row::name);
    EXPECT_NE(row, mindcluster_310p::rows.end()) << name;
    return vir_template{.index = static_cast<std::uint32_t>(row - mindcluster_310p::rows.begin()),
                        .memory = {},
                        .cores = core_percent{row->ai_core}};
}
std::string name_of(const partition& part) {
    if (std::holds_alternative<whole_device>(part)) return "whole";
    return std::string{mindcluster_310p::rows.at(std::get<vir_template>(part).index).name};
}

/// One chip and what is on it.
struct chip {
    explicit chip(std::int64_t cores = 8)
        : mode{make_mindcluster_310p(core_percent{cores}, 7).value()},
          spec{mode->adapted({.model = "310P3", .memory = mib{21527}, .mode = mode.get()})} {}

    [[nodiscard]] rejection_detail why(const device_request& request) const {
        return test::refusal_of(spec, state, request);
    }
    [[nodiscard]] rejection_detail why(std::string_view part) const {
        return mode->why_not(spec, state, part_of(part));
    }
    /// The part offered, its name; empty if there is none.
    [[nodiscard]] std::string offered(const device_request& request) const {
        std::vector<partition> parts;
        mode->candidates(spec, state, request, parts);
        EXPECT_LE(parts.size(), 1U);
        return parts.empty() ? "" : name_of(parts[0]);
    }
    chip& add(std::string_view part) {
        state = mode->with(spec, state, part_of(part));
        return *this;
    }
    chip& take(std::string_view part) {
        state = mode->without(spec, state, part_of(part));
        return *this;
    }
    [[nodiscard]] int compromise(const device_request& request, std::string_view part) const {
        return mode->compromise(spec, request, part_of(part));
    }
    [[nodiscard]] milli_gpu used() const { return mode->used(spec, state); }

    std::shared_ptr<const mindcluster_310p> mode;
    device_spec spec;
    device_state state{};
};

struct selection {
    device_request request;
    bool short_of_cpu;
    std::string_view expected;
};

TEST(mindcluster_310p, selects_by_the_table_of_seed_003) {
    covers({"R095"});
    const std::vector<selection> table{
        {core_request(1), false, "vir01"},
        {high(1), false, "vir01"},
        {core_request(2), false, "vir02_1c"},
        {high(2), false, "vir02"},
        {high(2), true, "vir02_1c"},
        {core_request(4, yes), false, "vir04_4c_dvpp"},
        {core_request(4, no), false, "vir04_3c_ndvpp"},
        {core_request(4), false, "vir04_3c"},
        {high(4, yes), false, "vir04_4c_dvpp"},
        {high(4, no), false, "vir04_3c_ndvpp"},
        {high(4), false, "vir04"},
        {high(4), true, "vir04_3c"},
        {core_request(8), false, "whole"},
        {core_request(8, yes), false, "whole"},
        {high(8, no), false, "whole"},
    };
    for (const selection& line : table) {
        chip npu;
        // vir04 leaves four cores and three AI CPUs, vir02 beside it two cores and one.
        if (line.short_of_cpu) npu.add("vir04");
        if (line.short_of_cpu && line.request.cores == core_percent{2}) npu.add("vir02");
        EXPECT_EQ(npu.offered(line.request), line.expected)
            << line.request.cores.count() << " cores, dvpp " << static_cast<int>(line.request.dvpp)
            << (line.request.high_level ? ", high" : ", low");
    }
}

TEST(mindcluster_310p, has_nothing_for_other_numbers_of_cores) {
    for (const std::int64_t cores : {-8, 0, 3, 5, 6, 7, 9, 10, 16}) {
        EXPECT_EQ(chip{}.why(core_request(cores)), (rejection_detail{request_not_valid, cores, 8})) << cores;
    }
    EXPECT_EQ(chip{10}.why(core_request(8)).code, request_not_valid) << "a chip of ten cores has no eight";
    EXPECT_EQ(chip{10}.offered(core_request(10)), "whole");
}

TEST(mindcluster_310p, a_word_on_dvpp_must_match_the_table) {
    covers({"R096"});
    for (const std::int64_t cores : {1, 2}) {
        for (const dvpp_use word : {yes, no}) {
            EXPECT_EQ(chip{}.why(core_request(cores, word)).code, request_not_valid);
            EXPECT_EQ(chip{}.why(high(cores, word)).code, request_not_valid);
        }
    }
}

TEST(mindcluster_310p, the_smaller_template_is_a_compromise) {
    covers({"R091"});
    const chip npu;
    EXPECT_EQ(npu.compromise(high(4), "vir04"), 0);
    EXPECT_EQ(npu.compromise(high(4), "vir04_3c"), 1);
    EXPECT_EQ(npu.compromise(high(2), "vir02"), 0);
    EXPECT_EQ(npu.compromise(high(2), "vir02_1c"), 1);
    EXPECT_EQ(npu.compromise(core_request(4), "vir04_3c"), 0) << "as asked";
    EXPECT_EQ(npu.compromise(high(4, no), "vir04_3c_ndvpp"), 0);
    EXPECT_EQ(npu.compromise(high(4, yes), "vir04_4c_dvpp"), 0);
    EXPECT_EQ(npu.compromise(high(8), "whole"), 0);
    EXPECT_EQ(npu.compromise(high(1), "vir01"), 0);
}

TEST(mindcluster_310p, a_whole_chip_is_an_unused_one) {
    chip npu;
    npu.add("vir01");
    EXPECT_EQ(npu.why(core_request(8)), (rejection_detail{device_in_use, 0, 1}));
    npu.take("vir01");
    EXPECT_EQ(npu.why(core_request(8)), rejection_detail{}) << "cut before, but unused now";
    npu.add("whole");
    EXPECT_EQ(npu.state.cores, core_percent{8});
    EXPECT_EQ(npu.state.memory, mib{21527});
    EXPECT_EQ(npu.why(core_request(8)), (rejection_detail{device_in_use, 0, 1}));
    EXPECT_EQ(npu.why(core_request(1)), (rejection_detail{device_taken_whole, 1, 0}));
    EXPECT_EQ(npu.used(), whole_gpu);
    npu.take("whole");
    EXPECT_EQ(npu.state, device_state{});
}

TEST(mindcluster_310p, ai_cores_and_ai_cpus_are_budgets) {
    chip seven;
    for (int i = 0; i < 7; ++i) seven.add("vir01");
    EXPECT_EQ(seven.why(core_request(1)), (rejection_detail{insufficient_device_cpus, 1, 0}))
        << "one core is left, no AI CPU";
    EXPECT_EQ(seven.why(core_request(2)), (rejection_detail{insufficient_device_cores, 2, 1}));
    chip four;
    for (int i = 0; i < 4; ++i) four.add("vir02_1c");
    EXPECT_EQ(four.why(core_request(1)), (rejection_detail{insufficient_device_cores, 1, 0}));
    EXPECT_EQ(four.used(), whole_gpu);
    chip two;
    two.add("vir04_3c").add("vir04_3c");
    EXPECT_EQ(two.why(high(2)).code, insufficient_device_cores);
    chip ten{10};
    ten.add("vir04_3c").add("vir04_3c");
    EXPECT_EQ(ten.offered(high(2)), "vir02_1c") << "two cores and one AI CPU are left";
    ten.add("vir02_1c");
    EXPECT_EQ(ten.used(), whole_gpu);
    chip full;
    full.add("vir04_4c_dvpp");
    EXPECT_EQ(full.offered(core_request(4, no)), "vir04_3c_ndvpp");
    EXPECT_EQ(full.add("vir04_3c_ndvpp").state.cores, core_percent{8});
    chip slots;
    slots.spec.slots = 1;
    slots.add("vir01");
    EXPECT_EQ(slots.why(core_request(1)), (rejection_detail{insufficient_device_slots, 1, 0}));
}

TEST(mindcluster_310p, a_refusal_of_a_high_request_is_about_the_smaller_template) {
    chip npu;
    npu.add("vir04").add("vir02").add("vir01");
    EXPECT_EQ(npu.why(high(2)), (rejection_detail{insufficient_device_cores, 2, 1}));
    chip no_cpu{10};
    no_cpu.add("vir04").add("vir04_3c");
    EXPECT_EQ(no_cpu.why(high(2)), (rejection_detail{insufficient_device_cpus, 1, 0}));
}

/// Volcano's state of a chip's engines, step by step.
struct volcano_dvpp {
    std::string used = "no";
    std::string free = "yes";

    [[nodiscard]] bool admits(dvpp_use use) const { return use == no || (use == yes ? free == "yes" : free != "no"); }
    void use(dvpp_use by) {
        if (by == yes) {
            used = "yes";
            free = "no";
        } else if (by == no && used == "no") {
            free = "yes";
        } else if (by == unstated && used != "yes") {
            used = free = "null";
        }
    }
};

TEST(mindcluster_310p, dvpp_by_counting_is_what_volcanos_state_admits_in_every_order) {
    // Templates of four cores on a chip that has room for five, so that nothing but the engines refuses.
    const auto wide = [] {
        chip result;
        result.mode = make_mindcluster_310p(core_percent{10}, 100).value();
        result.spec.mode = result.mode.get();
        result.spec.cores = core_percent{100};
        return result;
    };
    const std::array<std::string_view, 3> parts{"vir04_3c", "vir04_4c_dvpp", "vir04_3c_ndvpp"}; // by dvpp_use
    int refused = 0;
    for (int sequence = 0; sequence < 243; ++sequence) {
        chip npu = wide();
        volcano_dvpp upstream;
        for (int rest = sequence, step = 0; step < 5; ++step, rest /= 3) {
            const auto word = static_cast<dvpp_use>(rest % 3);
            const rejection_detail reason = npu.why(core_request(4, word));
            EXPECT_EQ(reason.code, upstream.admits(word) ? none : dvpp_taken) << sequence << " at step " << step;
            if (reason.code != none) {
                ++refused;
                continue;
            }
            npu.add(parts.at(static_cast<std::size_t>(word)));
            upstream.use(word);
        }
    }
    EXPECT_GT(refused, 0);
}

TEST(mindcluster_310p, dvpp_pairs_in_either_order) {
    struct pair {
        std::string_view there;
        dvpp_use joins;
        rejection_code expected;
    };
    for (const auto& [there, joins, expected] : std::vector<pair>{{"vir04_3c", yes, dvpp_taken},
                                                                  {"vir04_3c", no, none},
                                                                  {"vir04_3c", unstated, none},
                                                                  {"vir04_4c_dvpp", unstated, dvpp_taken},
                                                                  {"vir04_4c_dvpp", no, none},
                                                                  {"vir04_3c_ndvpp", yes, none},
                                                                  {"vir04_3c_ndvpp", unstated, none},
                                                                  {"vir04_3c_ndvpp", no, none}}) {
        chip npu;
        npu.add(there);
        EXPECT_EQ(npu.why(core_request(4, joins)).code, expected) << there << " then " << static_cast<int>(joins);
    }
    chip npu{10};
    npu.mode = make_mindcluster_310p(core_percent{10}, 8).value();
    npu.spec.mode = npu.mode.get();
    npu.add("vir04_4c_dvpp");
    EXPECT_EQ(npu.why(core_request(4, yes)), (rejection_detail{dvpp_taken, 1, 0}));
    EXPECT_EQ(npu.why(core_request(1)).code, dvpp_taken) << "vir01 says nothing about DVPP";
    npu.take("vir04_4c_dvpp");
    EXPECT_EQ(npu.why(core_request(4, yes)).code, none) << "given back with its user";
}

/// What the device plugin said of templates that run: their vGroups. It says nothing of those that were just placed.
TEST(mindcluster_310p, a_chip_has_four_vgroups) {
    const auto in_group = [](std::string_view name, std::uint32_t group) {
        auto part = std::get<vir_template>(part_of(name));
        part.group = group;
        return partition{part};
    };
    chip npu{10};
    npu.add("vir01").add("vir01").add("vir01");
    EXPECT_EQ(npu.why(core_request(4)).code, none) << "no group is known";
    npu = chip{10};
    const auto add = [&npu](const partition& part) {
        EXPECT_EQ(npu.mode->why_not(npu.spec, npu.state, part).code, none);
        npu.state = npu.mode->with(npu.spec, npu.state, part);
    };
    add(in_group("vir01", 1));
    add(in_group("vir01", 1));
    add(in_group("vir01", 4));
    EXPECT_EQ(npu.why(core_request(4)).code, none) << "two groups";
    add(in_group("vir01", 2));
    EXPECT_EQ(npu.why(core_request(4)), (rejection_detail{insufficient_vgroups, 4, 2}));
    EXPECT_EQ(npu.why(core_request(2)).code, none);
    const device_state three = npu.state;
    add(in_group("vir01", 3));
    EXPECT_EQ(npu.why(core_request(2)), (rejection_detail{insufficient_vgroups, 2, 1}));
    EXPECT_EQ(npu.why(core_request(1)).code, none);
    npu.state = npu.mode->without(npu.spec, npu.state, in_group("vir01", 3));
    EXPECT_EQ(npu.state, three);
    EXPECT_EQ(npu.mode->why_not(npu.spec, npu.state, in_group("vir01", 5)).code, mode_not_offered);
}

TEST(mindcluster_310p, the_same_parts_give_the_same_state_in_any_order_and_come_off_again) {
    chip first;
    chip second;
    first.add("vir02").add("vir01").add("vir02_1c").add("vir01");
    second.add("vir01").add("vir02_1c").add("vir01").add("vir02");
    EXPECT_EQ(first.state, second.state);
    EXPECT_EQ(first.state,
              (device_state{.memory = {}, .cores = core_percent{6}, .slots = 4, .layout = (1 << 10) + (1 << 5) + 2}));
    EXPECT_EQ(first.used(), milli_gpu{750}) << "6 of 8 cores; 5 of 7 AI CPUs are less";
    first.take("vir01").take("vir02");
    EXPECT_EQ(first.state, (chip{}.add("vir01").add("vir02_1c").state));
    first.take("vir02_1c").take("vir01");
    EXPECT_EQ(first.state, device_state{});
    chip overlapping; // found running (ledger::adopt)
    overlapping.add("vir04").add("whole").add("vir04").take("whole").take("vir04").take("vir04");
    EXPECT_EQ(overlapping.state, device_state{});
}

TEST(mindcluster_310p, use_is_the_larger_of_the_shares_of_ai_cores_and_ai_cpus) {
    EXPECT_EQ((chip{}.add("vir01").used()), milli_gpu{143}) << "1 of 7 AI CPUs";
    EXPECT_EQ((chip{}.add("vir02_1c").used()), milli_gpu{250}) << "2 of 8 AI cores";
    EXPECT_EQ((chip{}.add("vir04").used()), milli_gpu{572}) << "4 of 7";
    EXPECT_EQ(chip{}.used(), milli_gpu{0});
}

TEST(mindcluster_310p, knows_its_parts) {
    const chip npu;
    const auto why = [&](const partition& part) { return npu.mode->why_not(npu.spec, {}, part).code; };
    for (const auto& row : mindcluster_310p::rows) EXPECT_EQ(npu.why(row.name), rejection_detail{}) << row.name;
    EXPECT_EQ(npu.why("whole"), rejection_detail{});
    EXPECT_EQ(why(slice{.memory = mib{1}, .cores = {}}), mode_not_offered);
    EXPECT_EQ(why(vir_template{.index = 7, .memory = {}, .cores = core_percent{1}}), mode_not_offered);
    EXPECT_EQ(why(vir_template{.index = 0, .memory = {}, .cores = core_percent{2}}), mode_not_offered);
    EXPECT_EQ(why(vir_template{.index = 0, .memory = mib{1}, .cores = core_percent{1}}), mode_not_offered);
}

TEST(mindcluster_310p, the_templates_are_the_catalogs_in_its_order) {
    std::vector<std::string> lines;
    for (const auto& row : mindcluster_310p::rows) {
        const char* use = row.dvpp == unstated ? "null" : row.dvpp == yes ? "yes" : "no";
        lines.push_back(std::string{row.name} + " " + std::to_string(row.ai_core) + " " + std::to_string(row.ai_cpu) +
                        " " + use);
    }
    EXPECT_EQ(lines, test::mindcluster_310p_lines());
    EXPECT_EQ(lines,
              (std::vector<std::string>{"vir01 1 1 null", "vir02 2 2 null", "vir02_1c 2 1 null", "vir04 4 4 null",
                                        "vir04_3c 4 3 null", "vir04_3c_ndvpp 4 3 no", "vir04_4c_dvpp 4 4 yes"}));
}

TEST(mindcluster_310p, is_made_for_chips_that_exist) {
    EXPECT_EQ(chip{}.spec.cores, core_percent{8});
    EXPECT_EQ(chip{}.spec.slots, 8);
    EXPECT_EQ(chip{10}.spec.cores, core_percent{10});
    EXPECT_EQ(mindcluster_310p::example().cores, core_percent{8}) << "the chip that lists show";
    EXPECT_EQ(make_mindcluster_310p(core_percent{7}, 7).error().message(),
              "mindcluster_310p: cores_per_chip: got '7', expected 8 or 10");
    EXPECT_EQ(make_mindcluster_310p(core_percent{8}, 0).error().message(),
              "mindcluster_310p: ai_cpu: got '0', expected 1 to 100");
    EXPECT_EQ(make_mindcluster_310p(core_percent{8}, 101).error().code, error_code::out_of_range);
}

} // namespace
} // namespace vgpualloc
