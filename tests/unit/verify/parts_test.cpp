// The judge on the parts that need facts: MIG instances, templates, CCE's isolation. Violations are planted through
// modes that accept everything.
#include "support.hpp"
#include "verify/permissive_mode.hpp"

#include "vgpualloc/verify/placements.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// Counts what it was told to.
class any_parts final : public permissive_mode {
public:
    any_parts(std::int64_t memory, std::int64_t cores) : memory_{memory}, cores_{cores} {}
    [[nodiscard]] device_state with(const device_spec&, const device_state& state, const partition&) const override {
        return {.memory = state.memory + memory_,
                .cores = state.cores + cores_,
                .slots = state.slots + 1,
                .layout = state.layout + 1};
    }
    [[nodiscard]] device_state without(const device_spec&, const device_state& state, const partition&) const override {
        return {.memory = state.memory - memory_,
                .cores = state.cores - cores_,
                .slots = state.slots - 1,
                .layout = state.layout - 1};
    }

private:
    mib memory_;
    core_percent cores_;
};

/// What the judge says of parts on one device, each charged so much by the mode.
std::string judged(const std::vector<partition>& parts, const verify::device_facts& facts, std::int64_t memory,
                   std::int64_t cores) {
    const any_parts mode{memory, cores};
    cluster owned;
    const node_index where = add_node(owned, {{.model = "A", .memory = mib{100000}, .slots = 10, .mode = &mode}});
    ledger book{owned};
    booking planted = book_on(0, where);
    for (std::uint32_t i = 0; i < parts.size(); ++i) planted.where.shares.push_back(share_of_device(0, parts[i], i));
    EXPECT_TRUE(book.reserve(planted));
    const std::vector<verify::device_facts> by_kind{facts};
    return verify::first_violation(book, by_kind);
}

partition instance(std::uint32_t profile, std::uint32_t start) {
    return mig_instance{.profile = profile, .start = start, .cores = {}};
}

TEST(first_violation, recounts_mig_instances_by_the_catalog) {
    verify::device_facts facts;
    facts.mig = *find_model(built_in_mig_catalog(), "A100-40GB");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 6)}, facts, 4864, 14), "");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 6)}, facts, 4864, 15),
              "node n0: the counted use of a device is not the sum of its pods");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 6)}, facts, 5000, 14),
              "node n0: the counted use of a device is not the sum of its pods");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 0)}, facts, 4864, 14), "node n0: a MIG instance is given out twice");
    EXPECT_EQ(judged({instance(0, 0), instance(4, 0)}, facts, 0, 0), "node n0: MIG instances cannot exist together");
    EXPECT_EQ(judged({instance(0, 7)}, facts, 0, 0), "node n0: MIG instances cannot exist together") << "no such place";
}

TEST(first_violation, recounts_mig_instances_by_groups) {
    verify::device_facts facts;
    facts.memory_factor = 10;
    facts.geometry = {
        {.name = "g1", .kinds = {{.name = "a", .memory = mib{1005}, .count = 2}}},
        {.name = "g2",
         .kinds = {{.name = "b", .memory = mib{2000}, .count = 1}, {.name = "c", .memory = mib{1000}, .count = 1}}}};
    EXPECT_EQ(judged({instance(0, 0), instance(0, 1)}, facts, 100, 0), "");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 1)}, facts, 101, 0),
              "node n0: the counted use of a device is not the sum of its pods");
    EXPECT_EQ(judged({instance(0, 2)}, facts, 100, 0), "node n0: a MIG instance is in no group");
    EXPECT_EQ(judged({instance(3, 0)}, facts, 100, 0), "node n0: a MIG instance is in no group");
    EXPECT_EQ(judged({instance(0, 0), instance(2, 0)}, facts, 100, 0), "node n0: MIG instances are of several groups");
    EXPECT_EQ(judged({instance(0, 0), instance(0, 0)}, {}, 77, 0), "node n0: a MIG instance is given out twice")
        << "without facts";
    EXPECT_EQ(judged({instance(0, 0), instance(5, 0)}, {}, 77, 0), "") << "sizes that nobody said are not judged";
}

TEST(first_violation, recounts_templates) {
    verify::device_facts facts;
    facts.npu.ai_core = 8;
    facts.npu.ai_cpu = 3;
    facts.npu.templates = {{.name = "large", .memory = mib{200}, .ai_core = 4, .ai_cpu = 2},
                           {.name = "small", .memory = mib{100}, .ai_core = 1, .ai_cpu = 1}};
    const auto cut = [](std::uint32_t index) {
        return partition{vir_template{.index = index, .memory = mib{100}, .cores = core_percent{1}}};
    };
    EXPECT_EQ(judged({cut(0), cut(0), cut(0)}, facts, 100, 1), "") << "by ascending memory: index 0 is small";
    EXPECT_EQ(judged({cut(0), cut(0), cut(0)}, facts, 99, 1),
              "node n0: the counted use of a device is not the sum of its pods");
    EXPECT_EQ(judged({cut(1), cut(1)}, facts, 100, 1), "node n0: the AI CPUs of an NPU are overcommitted");
    facts.npu.ai_cpu = 9;
    EXPECT_EQ(judged({cut(1), cut(1), cut(0)}, facts, 100, 1), "node n0: the AI cores of an NPU are overcommitted");
    EXPECT_EQ(judged({cut(2), cut(0)}, facts, 100, 1), "node n0: the AI cores of an NPU are overcommitted")
        << "index 2 is the whole card";
    EXPECT_EQ(judged({cut(3)}, facts, 100, 1), "node n0: an NPU has a template that its kind does not have");
    facts.dvpp = {dvpp_use::unstated, dvpp_use::yes};
    EXPECT_EQ(judged({cut(0), cut(1)}, facts, 100, 1), "node n0: the video engines of an NPU have several users");
    facts.dvpp = {dvpp_use::no, dvpp_use::yes};
    EXPECT_EQ(judged({cut(0), cut(1)}, facts, 100, 1), "");
    EXPECT_EQ(judged({cut(1), cut(1)}, facts, 100, 1), "node n0: the video engines of an NPU have several users");
}

TEST(first_violation, knows_devices_of_one_isolation) {
    verify::device_facts facts;
    EXPECT_EQ(judged({part(128, 5), part(128, 0)}, facts, 128, 0),
              "node n0: the counted use of a device is not the sum of its pods")
        << "no fact, no rule";
    facts.one_isolation = true;
    EXPECT_EQ(judged({part(128, 5), part(128, 5)}, facts, 128, 5), "");
    EXPECT_EQ(judged({part(128, 5), part(128, 0)}, facts, 128, 0), "node n0: a device has two isolations");
    EXPECT_EQ(judged({part(100, 60), part(100, 60)}, {}, 100, 60), "node n0: device compute is overcommitted");
}

} // namespace
} // namespace vgpualloc
