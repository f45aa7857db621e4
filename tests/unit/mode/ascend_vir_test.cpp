// HAMi's templates of Ascend NPUs: rounding, the checks in Volcano's order, template budgets, software slices.
#include "vgpualloc/mode/ascend_vir.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mode/ascend_catalog.hpp"
#include "mode/refusals.hpp"

namespace vgpualloc {
namespace {

using enum rejection_code;
using modes::ascend_vir;
using modes::make_ascend_vir;

npu_template cut(std::string name, std::int64_t memory_mib, std::int64_t ai_core, std::int64_t ai_cpu = 0) {
    return {.name = std::move(name), .memory = mib{memory_mib}, .ai_core = ai_core, .ai_cpu = ai_cpu};
}

/// The cards of the device plugin's configuration (HAMi's ascend-device-plugin).
const std::vector<npu_kind>& cards() {
    static const std::vector<npu_kind> list{
        {"Ascend910A",
         mib{32768},
         mib{32768},
         30,
         0,
         {cut("vir02", 2184, 2), cut("vir04", 4369, 4), cut("vir08", 8738, 8), cut("vir16", 17476, 16)}},
        {"Ascend910B2",
         mib{65536},
         mib{65536},
         24,
         6,
         {cut("vir03_1c_8g", 8192, 3, 1), cut("vir06_1c_16g", 16384, 6, 1), cut("vir12_3c_32g", 32768, 12, 3)}},
        {"Ascend910B3",
         mib{65536},
         mib{65536},
         20,
         7,
         {cut("vir05_1c_16g", 16384, 5, 1), cut("vir10_3c_32g", 32768, 10, 3)}},
        {"Ascend910B4-1",
         mib{65536},
         mib{65536},
         20,
         7,
         {cut("vir05_1c_16g", 16384, 5, 1), cut("vir10_3c_32g", 32768, 10, 3)}},
        // As HAMi's chart has it: not in ascending order.
        {"Ascend910B4",
         mib{32768},
         mib{32768},
         20,
         7,
         {cut("vir10_3c_16g", 16384, 10, 3), cut("vir05_1c_8g", 8192, 5, 1)}},
        {"Ascend310P",
         mib{21527},
         mib{24576},
         8,
         7,
         {cut("vir01", 3072, 1, 1), cut("vir02", 6144, 2, 2), cut("vir04", 12288, 4, 4)}},
        {"Ascend910C",
         mib{65536},
         mib{65536},
         20,
         7,
         {cut("vir05_1c_16g", 16384, 5, 1), cut("vir10_3c_32g", 32768, 10, 3)}},
    };
    return list;
}

const npu_kind& card(const std::string& name) { return *std::ranges::find(cards(), name, &npu_kind::name); }

/// One card and what is on it.
struct bench {
    explicit bench(const std::string& name, bool soft = false) : bench{card(name), soft} {}
    explicit bench(const npu_kind& kind, bool soft = false)
        : mode{make_ascend_vir(kind, soft).value()}, spec{.model = kind.name, .memory = {}, .mode = mode.get()} {
        spec = mode->adapted(spec);
        spec.slots = 100;
    }

    [[nodiscard]] rejection_detail why(const device_request& request) const {
        return test::refusal_of(spec, state, request);
    }
    [[nodiscard]] partition cut_of(const device_request& request) const {
        std::vector<partition> parts;
        mode->candidates(spec, state, request, parts);
        return parts.at(0);
    }
    partition place(const device_request& request) {
        const partition part = cut_of(request);
        state = mode->with(spec, state, part);
        return part;
    }
    void release(const partition& part) { state = mode->without(spec, state, part); }

    std::shared_ptr<const ascend_vir> mode;
    device_spec spec;
    device_state state{};
};

device_request npu_request(std::int64_t memory_mib, std::int64_t cores = 0, std::int64_t count = 1) {
    device_request request;
    request.count = count;
    request.memory = mib{memory_mib};
    request.cores = core_percent{cores};
    return request;
}
device_request soft(std::int64_t memory_mib, std::int64_t cores = 0) {
    device_request request = npu_request(memory_mib, cores);
    request.soft = true;
    return request;
}

vir_template cut(std::uint32_t index, std::int64_t memory_mib, std::int64_t cores = 0) {
    return {.index = index, .memory = mib{memory_mib}, .cores = core_percent{cores}};
}

TEST(ascend_vir, rounds_memory_up_to_a_template_as_volcano_was_seen_to) {
    const bench npu{"Ascend310P"};
    struct rounding {
        std::int64_t wanted_mib;
        vir_template expected;
    };
    for (const auto& [memory, expected] : std::vector<rounding>{{1, cut(0, 3072)},
                                                                {3072, cut(0, 3072)},
                                                                {3073, cut(1, 6144)},
                                                                {4096, cut(1, 6144)}, // the documented example
                                                                {6145, cut(2, 12288)},
                                                                {12289, cut(3, 21527)},
                                                                {21528, cut(3, 21527)},
                                                                {24576, cut(3, 21527)}, // less than asked for
                                                                {0, cut(3, 21527)}}) {
        EXPECT_EQ(npu.cut_of(npu_request(memory)), partition{expected}) << memory;
    }
    for (const std::int64_t memory : {24577, 30000}) {
        EXPECT_EQ(npu.why(npu_request(memory)), (rejection_detail{request_not_valid, memory, 24576}))
            << "Volcano makes it 0 MiB, which fits even a full card (Q11)";
    }
    const bench big{"Ascend910B3"};
    EXPECT_EQ(big.cut_of(npu_request(1024)), partition{cut(0, 16384)});
    EXPECT_EQ(big.cut_of(npu_request(20480)), partition{cut(1, 32768)});
}

TEST(ascend_vir, every_card_gives_each_template_up_to_its_memory_and_the_whole_above) {
    for (const npu_kind& kind : cards()) {
        const bench npu{kind.name};
        const auto& templates = npu.mode->kind().templates;
        ASSERT_TRUE(std::ranges::is_sorted(templates, {}, &npu_template::memory)) << kind.name;
        for (std::uint32_t i = 0; i < templates.size(); ++i) {
            const std::int64_t most = templates[i].memory.count();
            const std::int64_t least = i == 0 ? 1 : templates[i - 1].memory.count() + 1;
            EXPECT_EQ(npu.cut_of(npu_request(least)), partition{cut(i, most)}) << kind.name;
            EXPECT_EQ(npu.cut_of(npu_request(most)), partition{cut(i, most)}) << kind.name;
        }
        const auto whole = cut(static_cast<std::uint32_t>(templates.size()), kind.memory_allocatable.count());
        EXPECT_EQ(npu.cut_of(npu_request(templates.back().memory.count() + 1)), partition{whole}) << kind.name;
        EXPECT_EQ(npu.cut_of(npu_request(kind.memory_capacity.count())), partition{whole}) << kind.name;
        EXPECT_EQ(npu.why(npu_request(kind.memory_capacity.count() + 1)).code, request_not_valid) << kind.name;
    }
}

/// A kind as ascend_catalog_lines() writes it.
std::string line_of(const npu_kind& kind) {
    std::string line = kind.name;
    for (const std::int64_t figure :
         {kind.memory_allocatable.count(), kind.memory_capacity.count(), kind.ai_core, kind.ai_cpu}) {
        line += " " + std::to_string(figure);
    }
    for (const npu_template& row : kind.templates) {
        line += " " + row.name + ":" + std::to_string(row.memory.count()) + "/" + std::to_string(row.ai_core) + "/" +
                std::to_string(row.ai_cpu);
    }
    return line;
}

TEST(ascend_vir, the_cards_of_these_tests_are_the_catalogs) {
    std::vector<std::string> lines;
    for (const npu_kind& kind : cards()) lines.push_back(line_of(make_ascend_vir(kind, false).value()->kind()));
    std::vector<std::string> expected = test::ascend_catalog_lines();
    std::ranges::sort(lines);
    std::ranges::sort(expected);
    EXPECT_EQ(lines, expected);
}

TEST(ascend_vir, all_of_a_card_is_what_can_be_had_of_it) {
    bench npu{"Ascend310P"};
    npu.spec.memory = mib{24576};
    EXPECT_EQ(npu.cut_of(npu_request(0)), partition{cut(3, 21527)})
        << "registered with its capacity: as recorded of Volcano";
    npu.spec.memory = mib{20000};
    EXPECT_EQ(npu.cut_of(npu_request(0)), partition{cut(3, 20000)}) << "registered with less";
    device_request percent = npu_request(1);
    percent.memory_percent = 100;
    EXPECT_EQ(npu.cut_of(percent), partition{cut(3, 20000)});
    percent.memory_percent = 25;
    EXPECT_EQ(npu.cut_of(percent), partition{cut(1, 6144)});
    percent.memory_percent = 101;
    EXPECT_EQ(npu.cut_of(percent), partition{cut(3, 20000)}) << "20200 is within the capacity";
    percent.memory_percent = 130;
    EXPECT_EQ(npu.why(percent).code, request_not_valid);
    npu.spec.memory = mib{30000};
    EXPECT_EQ(npu.cut_of(npu_request(0)), partition{cut(3, 21527)}) << "registered with more than may be asked for";
    percent.memory_percent = 100;
    EXPECT_EQ(npu.cut_of(percent), partition{cut(3, 21527)});
}

TEST(ascend_vir, several_cards_in_one_container_are_whole_ones) {
    const bench npu{"Ascend310P"};
    EXPECT_EQ(npu.why(npu_request(3072, 0, 2)).code, request_not_valid);
    EXPECT_EQ(npu.why(npu_request(12288, 0, 2)).code, request_not_valid);
    EXPECT_EQ(npu.why(npu_request(0, 0, 2)), rejection_detail{});
    EXPECT_EQ(npu.why(npu_request(12289, 0, 2)), rejection_detail{}) << "rounded to all that can be had";
    EXPECT_EQ(npu.why(npu_request(24577, 0, 2)).code, request_not_valid);
    const auto all_in_one =
        make_ascend_vir({"X", mib{1000}, mib{1000}, 0, 0, {cut("half", 500, 0), cut("all", 1000, 0)}}, false);
    const device_spec spec{.model = "X", .memory = mib{1000}, .mode = all_in_one->get()};
    EXPECT_EQ((*all_in_one)->why_not(spec, {}, npu_request(501, 0, 2)).code, none)
        << "a template may be all of the card";
    EXPECT_EQ((*all_in_one)->why_not(spec, {}, npu_request(500, 0, 2)).code, request_not_valid);
}

TEST(ascend_vir, checks_in_volcanos_order) {
    bench npu{"Ascend310P", true};
    npu.spec.slots = 2;
    npu.state = {.memory = mib{20000}, .cores = core_percent{90}, .slots = 2};
    EXPECT_EQ(npu.why(soft(2000, 20)), (rejection_detail{insufficient_device_slots, 1, 0}));
    npu.state.slots = 1;
    EXPECT_EQ(npu.why(soft(2000, 20)), (rejection_detail{insufficient_device_memory, 2000, 1527}));
    EXPECT_EQ(npu.why(soft(1527, 20)), (rejection_detail{insufficient_device_cores, 20, 10}));
    EXPECT_EQ(npu.why(soft(1527, 10)), rejection_detail{});
    npu.state.cores = core_percent{0};
    EXPECT_EQ(npu.why(soft(1527, 100)), (rejection_detail{device_in_use, 0, 1}));
    npu.state.cores = core_percent{100};
    EXPECT_EQ(npu.why(soft(1527, 0)), (rejection_detail{device_taken_whole, 1, 0}));
    EXPECT_EQ(bench{"Ascend310P"}.why(soft(1, 1)).code, mode_not_offered) << "the node does not limit in software";
}

TEST(ascend_vir, compute_of_templates_is_measured_by_the_card_and_only_what_is_asked_for) {
    bench npu{"Ascend910B3"};
    EXPECT_EQ(npu.place(npu_request(1, 0)), partition{cut(0, 16384, 0)}) << "a template's own AI cores are not charged";
    EXPECT_EQ(npu.state.cores, core_percent{0});
    EXPECT_EQ(npu.why(npu_request(1, 21)), (rejection_detail{insufficient_device_cores, 21, 20}));
    EXPECT_EQ(npu.why(npu_request(1, 20)), rejection_detail{})
        << "joining with all of it is refused where it is in percent";
    npu.place(npu_request(1, 20));
    EXPECT_EQ(npu.why(npu_request(1, 0)), (rejection_detail{device_taken_whole, 1, 0}));
    EXPECT_EQ(npu.why(npu_request(1, 1)), (rejection_detail{insufficient_device_cores, 1, 0}));
    npu.spec.cores = core_percent{0};
    npu.state = {};
    EXPECT_EQ(npu.why(npu_request(1, 0)), rejection_detail{}) << "a card registered without compute";
    EXPECT_EQ(npu.why(npu_request(1, -1)).code, request_not_valid);
}

TEST(ascend_vir, templates_are_counted_against_ai_cores_and_ai_cpus) {
    bench counted{"Ascend910B2"};
    for (int i = 0; i < 6; ++i) counted.place(npu_request(8192));
    EXPECT_EQ(counted.why(npu_request(8192)), (rejection_detail{insufficient_device_cpus, 1, 0}))
        << "the seventh: 6 AI CPUs";
    bench npu{"Ascend310P"}; // registered with its capacity: memory alone would let a second vir04 in
    npu.spec.memory = mib{24576};
    npu.place(npu_request(12288));
    EXPECT_EQ(npu.why(npu_request(12288)), (rejection_detail{insufficient_device_cpus, 4, 3}));
    bench old{"Ascend910A"}; // no AI CPUs are known of it
    old.spec.memory = mib{100000};
    for (int i = 0; i < 15; ++i) old.place(npu_request(2184));
    EXPECT_EQ(old.why(npu_request(2184)), (rejection_detail{insufficient_device_cores, 2, 0}));
    old.release(cut(0, 2184));
    EXPECT_EQ(old.why(npu_request(0)), (rejection_detail{insufficient_device_cores, 30, 2}))
        << "a whole card counts as all";
}

TEST(ascend_vir, memory_decides_what_fills_a_310p) {
    bench seven{"Ascend310P"};
    for (int i = 0; i < 7; ++i) seven.place(npu_request(3072));
    EXPECT_EQ(seven.state.memory, mib{21504});
    EXPECT_EQ(seven.why(npu_request(1)).code, insufficient_device_memory);
    bench mixed{"Ascend310P"};
    for (const std::int64_t memory : {12288, 6144, 3072}) mixed.place(npu_request(memory));
    EXPECT_EQ(mixed.state, (device_state{.memory = mib{21504}, .cores = {}, .slots = 3, .layout = 0x010101}));
    EXPECT_EQ(mixed.mode->used(mixed.spec, mixed.state), milli_gpu{999});
}

TEST(ascend_vir, the_same_parts_give_the_same_state_in_any_order_and_come_off_again) {
    bench first{"Ascend910B3", true};
    bench second{"Ascend910B3", true};
    const partition small = first.place(npu_request(1, 10));
    const device_state with_small = first.state;
    const partition limited = first.place(soft(100, 30));
    first.place(npu_request(32768));
    second.place(npu_request(32768));
    second.place(soft(100, 30));
    second.place(npu_request(1, 10));
    EXPECT_EQ(first.state, second.state);
    EXPECT_EQ(first.state,
              (device_state{.memory = mib{49252}, .cores = core_percent{40}, .slots = 3, .layout = 0x0101}));
    first.release(cut(1, 32768));
    first.release(limited);
    EXPECT_EQ(first.state, with_small);
    first.release(small);
    EXPECT_EQ(first.state, device_state{});
}

TEST(ascend_vir, a_sum_of_templates_and_slices_does_not_depend_on_who_came_first) {
    bench npu{"Ascend910B3", true};
    npu.spec.cores = core_percent{20}; // registered with AI cores although it limits in software
    const partition in_software = npu.cut_of(soft(100, 50));
    const partition by_template = npu.cut_of(npu_request(1, 20));
    const auto fits = [&](const partition& one, const partition& other) {
        return npu.mode->why_not(npu.spec, npu.mode->with(npu.spec, {}, one), other).code;
    };
    EXPECT_EQ(fits(in_software, by_template), none);
    EXPECT_EQ(fits(by_template, in_software), none);
    npu.place(soft(100, 50));
    EXPECT_EQ(npu.why(npu_request(1, 20)).code, insufficient_device_cores) << "joining is measured as Volcano does";
}

TEST(ascend_vir, knows_its_parts) {
    const bench npu{"Ascend310P"};
    const bench softly{"Ascend310P", true};
    const auto why = [](const bench& on, const partition& part) { return on.mode->why_not(on.spec, {}, part).code; };
    EXPECT_EQ(why(npu, cut(0, 3072)), none);
    EXPECT_EQ(why(npu, cut(0, 3073)), mode_not_offered) << "not the template's memory";
    EXPECT_EQ(why(npu, cut(3, 21527)), none);
    EXPECT_EQ(why(npu, cut(4, 21527)), mode_not_offered) << "no such template";
    bench small{"Ascend310P"};
    small.spec.memory = mib{20000};
    EXPECT_EQ(why(small, cut(3, 20000)), none);
    EXPECT_EQ(why(small, cut(3, 21527)), insufficient_device_memory) << "found running, as Volcano writes it";
    EXPECT_EQ(why(small, cut(3, 20001)), mode_not_offered);
    EXPECT_EQ(why(npu, cut(0, 3072, -1)), mode_not_offered);
    EXPECT_EQ(why(npu, whole_device{}), mode_not_offered) << "a whole card is the part after the last template";
    EXPECT_EQ(why(npu, slice{.memory = mib{1}, .cores = {}}), none) << "found running: charged as no template is";
    EXPECT_EQ(why(softly, slice{.memory = mib{1}, .cores = {}}), none);
    EXPECT_EQ(why(softly, slice{.memory = mib{-1}, .cores = {}}), mode_not_offered);
    EXPECT_EQ(why(softly, slice{.memory = mib{1}, .cores = core_percent{-1}}), mode_not_offered);
    EXPECT_EQ(softly.cut_of(soft(0, 30)), (partition{slice{.memory = mib{21527}, .cores = core_percent{30}}}));
    EXPECT_EQ(softly.cut_of(soft(24577 - 5000, 0)), (partition{slice{.memory = mib{19577}, .cores = {}}}))
        << "slices are not rounded";
}

TEST(ascend_vir, a_count_of_one_template_stays_in_its_field) {
    npu_kind many = card("Ascend910A");
    many.ai_core = 1000;
    bench npu{many};
    npu.spec.slots = 1000;
    npu.spec.memory = mib{10'000'000};
    for (int i = 0; i < 255; ++i) npu.place(npu_request(2184));
    EXPECT_EQ(npu.why(npu_request(2184)), (rejection_detail{insufficient_device_slots, 1, 0}));
    const device_state full = npu.state;
    npu.state = npu.mode->with(npu.spec, npu.state, cut(0, 2184)); // found running (ledger::adopt)
    npu.release(cut(0, 2184));
    EXPECT_EQ(npu.state, full);
}

TEST(ascend_vir, use_is_the_largest_share_rounded_up) {
    bench npu{"Ascend310P"};
    npu.place(npu_request(3072));
    EXPECT_EQ(npu.mode->used(npu.spec, npu.state), milli_gpu{143}) << "3072 of 21527";
    npu.place(npu_request(1, 4));
    EXPECT_EQ(npu.mode->used(npu.spec, npu.state), milli_gpu{500}) << "4 of 8 AI cores asked for";
    bench few{"Ascend910B2"};
    few.spec.memory = mib{131072};
    few.place(npu_request(8192));
    EXPECT_EQ(few.mode->used(few.spec, few.state), milli_gpu{125}) << "3 of 24 AI cores in the template";
    few.spec.memory = mib{0};
    few.spec.cores = core_percent{0};
    EXPECT_EQ(few.mode->used(few.spec, few.state), milli_gpu{125}) << "no division by what is not known";
    bench whole{"Ascend310P"};
    whole.spec.memory = mib{24576};
    whole.place(npu_request(0));
    EXPECT_EQ(whole.mode->used(whole.spec, whole.state), whole_gpu);
    whole.state = whole.mode->with(whole.spec, whole.state, cut(3, 21527)); // found running (ledger::adopt)
    EXPECT_EQ(whole.mode->used(whole.spec, whole.state), whole_gpu) << "never more than all";
}

TEST(ascend_vir, adapts_a_spec_to_the_card) {
    const auto adapted = [](const std::string& name, bool in_software) {
        return make_ascend_vir(card(name), in_software).value()->adapted({});
    };
    const device_spec hard = adapted("Ascend310P", false);
    EXPECT_EQ(hard.memory, mib{21527});
    EXPECT_EQ(hard.cores, core_percent{8});
    EXPECT_EQ(hard.slots, 7) << "as many as the smallest template fits";
    EXPECT_EQ(adapted("Ascend310P", true).cores, core_percent{100});
    EXPECT_EQ(adapted("Ascend910A", false).slots, 15);
    EXPECT_EQ(adapted("Ascend910B2", false).slots, 8);
    const auto uncut = make_ascend_vir({"U", mib{1000}, mib{1000}, 0, 0, {}}, false);
    EXPECT_EQ((*uncut)->adapted({}).slots, 1) << "whole cards only";
    EXPECT_EQ(ascend_vir::example().npu, card("Ascend910B3")) << "the card that lists show";
    device_spec registered;
    registered.memory = mib{900};
    registered.slots = 3;
    EXPECT_EQ((*uncut)->adapted(registered), registered) << "a registered card says what it has";
}

TEST(ascend_vir, refuses_bad_tables) {
    const auto refused = [](auto&& spoil) {
        npu_kind kind = card("Ascend310P");
        spoil(kind);
        const auto mode = make_ascend_vir(kind, false);
        return mode ? std::string{} : mode.error().message();
    };
    EXPECT_EQ(refused([](npu_kind&) {}), "");
    EXPECT_EQ(refused([](npu_kind& k) { k.memory_allocatable = mib{0}; }),
              "npu Ascend310P: memory_allocatable: got '0', expected 1 to 1099511627776");
    EXPECT_EQ(refused([](npu_kind& k) { k.memory_capacity = mib{21526}; }),
              "npu Ascend310P: memory_capacity: got '21526', expected 21527 to 1099511627776");
    EXPECT_EQ(refused([](npu_kind& k) { k.ai_core = -1; }), "npu Ascend310P: ai_core: got '-1', expected 0 to 1000000");
    EXPECT_EQ(refused([](npu_kind& k) { k.ai_cpu = 1'000'001; }),
              "npu Ascend310P: ai_cpu: got '1000001', expected 0 to 1000000");
    EXPECT_EQ(refused([](npu_kind& k) { k.templates[1].memory = mib{0}; }),
              "npu Ascend310P: vir02.memory: got '0', expected 1 to 1099511627776");
    EXPECT_EQ(refused([](npu_kind& k) { k.templates[2].ai_core = -4; }),
              "npu Ascend310P: vir04.ai_core: got '-4', expected 0 to 1000000");
    EXPECT_EQ(refused([](npu_kind& k) { k.templates[2].ai_cpu = -4; }),
              "npu Ascend310P: vir04.ai_cpu: got '-4', expected 0 to 1000000");
    EXPECT_EQ(refused([](npu_kind& k) { k.templates.push_back(cut("vir01", 5000, 1)); }),
              "npu Ascend310P: templates: got 'vir01', expected every template once");
    const auto extend = [](std::size_t count) {
        return [count](npu_kind& k) {
            while (k.templates.size() < count) k.templates.push_back(cut(std::to_string(k.templates.size()), 9, 1));
        };
    };
    EXPECT_EQ(refused(extend(7)), "");
    EXPECT_EQ(refused(extend(8)), "npu Ascend310P: templates: got '8', expected 0 to 7");
}

TEST(ascend_vir, templates_of_equal_memory_keep_their_order) {
    const npu_kind kind{"E", mib{100}, mib{100}, 0, 0, {cut("b", 20, 0), cut("c", 10, 0), cut("a", 20, 0)}};
    const auto mode = make_ascend_vir(kind, false).value();
    std::vector<std::string> names;
    for (const npu_template& row : mode->kind().templates) names.push_back(row.name);
    EXPECT_EQ(names, (std::vector<std::string>{"c", "b", "a"}));
}

TEST(ascend_vir, seven_templates_and_the_whole_card_fill_the_word) {
    npu_kind kind{"S", mib{1000}, mib{1000}, 0, 0, {}};
    for (std::int64_t i = 1; i <= 7; ++i) kind.templates.push_back(cut(std::to_string(i), i * 10, 0));
    const auto mode = make_ascend_vir(kind, false).value();
    const device_spec spec{.model = "S", .memory = mib{10000}, .slots = 20, .mode = mode.get()};
    std::vector<partition> parts;
    mode->candidates(spec, {}, npu_request(0), parts);
    ASSERT_EQ(parts, std::vector<partition>{cut(7, 1000)});
    EXPECT_EQ(mode->with(spec, {}, parts[0]).layout, std::uint64_t{1} << 56U);
    EXPECT_EQ(mode->without(spec, mode->with(spec, {}, parts[0]), parts[0]), device_state{});
}

/// HAMi from 2.10 on shares by memory on nodes that limit in software, whatever the pod says.
TEST(ascend_vir, a_card_limited_in_software_only_cuts_no_templates) {
    const npu_kind& kind = card("Ascend910B3");
    bench cut_as_well{kind, true};
    EXPECT_EQ(cut_as_well.cut_of(npu_request(8192)), partition{cut(0, 16384)});
    bench npu{kind, true};
    npu.mode = make_ascend_vir(kind, false, true).value();
    npu.spec.mode = npu.mode.get();
    const partition part = slice{.memory = mib{8192}, .cores = {}};
    for (int i = 0; i < 8; ++i) EXPECT_EQ(npu.place(npu_request(8192)), part);
    EXPECT_EQ(npu.why(npu_request(8192)), (rejection_detail{insufficient_device_memory, 8192, 0}));
    EXPECT_EQ(npu.why(soft(8192)).code, insufficient_device_memory);
}

} // namespace
} // namespace vgpualloc
