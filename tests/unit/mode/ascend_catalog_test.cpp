// The catalog's Ascend chips as text, for the tests of the modes that cut them.
#include "mode/ascend_catalog.hpp"

#include <gtest/gtest.h>

#include "vgpualloc/catalog/ascend.hpp"

namespace vgpualloc::test {

std::vector<std::string> ascend_catalog_lines() {
    std::vector<std::string> lines;
    for (const ascend_chip& chip : built_in_ascend_catalog().chips) {
        std::string line = chip.name;
        for (const std::int64_t figure :
             {chip.memory_allocatable.count(), chip.memory_capacity.count(), chip.ai_core, chip.ai_cpu.value_or(0)}) {
            line += " " + std::to_string(figure);
        }
        for (const ascend_template& cut : chip.templates) {
            line += " " + cut.name + ":" + std::to_string(cut.memory.count()) + "/" + std::to_string(cut.ai_core) +
                    "/" + std::to_string(cut.ai_cpu.value_or(0));
        }
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> mindcluster_310p_lines() {
    const auto chip = find_mindcluster_chip(built_in_ascend_catalog(), "Ascend310P");
    if (!chip) return {};
    std::vector<std::string> lines;
    for (const mindcluster_template& cut : (*chip)->templates) {
        const char* use = cut.dvpp == dvpp_use::unstated ? "null" : cut.dvpp == dvpp_use::yes ? "yes" : "no";
        lines.push_back(cut.name + " " + std::to_string(cut.ai_core) + " " + std::to_string(cut.ai_cpu) + " " + use);
    }
    return lines;
}

namespace {

TEST(ascend_catalog, has_seven_chips_and_the_310p) {
    EXPECT_EQ(ascend_catalog_lines().size(), 7U);
    EXPECT_EQ(mindcluster_310p_lines().size(), 7U);
}

} // namespace
} // namespace vgpualloc::test
