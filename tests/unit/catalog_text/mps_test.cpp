// Limits of MPS clients: which one holds for a GPU and driver, and what is wrong with a file of them.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "texts.hpp"
#include "vgpualloc/catalog/mps.hpp"

namespace vgpualloc {
namespace {

TEST(mps_limits, go_by_cuda_version_and_compute_capability) {
    const mps_limits& limits = built_in_mps_limits();
    EXPECT_EQ(mps_clients_max(limits, cuda_version{13, 1}, 9), 60);
    EXPECT_EQ(mps_clients_max(limits, cuda_version{14, 0}, 12), 60);
    EXPECT_EQ(mps_clients_max(limits, cuda_version{13, 0}, 9), 48);
    EXPECT_EQ(mps_clients_max(limits, cuda_version{12, 8}, 7), 48) << "Volta";
    EXPECT_EQ(mps_clients_max(limits, cuda_version{12, 8}, 6), 16) << "Pascal";
    EXPECT_EQ(mps_clients_max(limits, cuda_version{13, 1}, 6), 16);
    EXPECT_EQ(limits.clients_unsaid, 48);
}

TEST(mps_limits, what_nobody_says_holds_no_condition) {
    const mps_limits& limits = built_in_mps_limits();
    EXPECT_EQ(mps_clients_max(limits, std::nullopt, 9), 48);
    EXPECT_EQ(mps_clients_max(limits, std::nullopt, 6), 16);
    EXPECT_EQ(mps_clients_max(limits, cuda_version{13, 1}, std::nullopt), std::nullopt);
    EXPECT_EQ(mps_clients_max(limits, std::nullopt, std::nullopt), std::nullopt);
}

TEST(mps_limits, every_limit_has_a_source) {
    const mps_limits& limits = built_in_mps_limits();
    for (const mps_limit& limit : limits.limits) {
        const std::string_view from = provenance_of(limit.from, "clients_max");
        ASSERT_TRUE(from.starts_with("S:"));
        EXPECT_TRUE(limits.sources.contains(std::string{from.substr(2)})) << from;
    }
}

TEST(mps_limits, a_wrong_file_is_refused_with_its_place) {
    const std::string good = R"({"schema": "vgpualloc-mps/1", "clients_unsaid": 48, "limits": [)"
                             R"({"clients_max": 60, "cuda_least": [13, 1], "provenance": {"*": "S:X"}}]})";
    ASSERT_TRUE(catalog_texts::parse_mps_limits(good, "m.json").has_value());
    const std::vector<std::tuple<std::string, std::string, error_code>> changes{
        {"vgpualloc-mps/1", "vgpualloc-mps/2", error_code::unknown_name},
        {R"("clients_max": 60)", R"("clients_max": 0)", error_code::out_of_range},
        {R"("clients_max": 60, )", "", error_code::missing},
        {R"("clients_unsaid": 48, )", "", error_code::missing},
        {"[13, 1]", "[13]", error_code::out_of_range},
        {"[13, 1]", "[13, -1]", error_code::out_of_range},
        {"cuda_least", "cuda", error_code::unknown_name},
        {R"("*": "S:X")", R"("cuda": "S:X")", error_code::unknown_name},
    };
    for (const auto& [from, to, code] : changes) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        const auto parsed = catalog_texts::parse_mps_limits(text, "m.json");
        ASSERT_FALSE(parsed.has_value()) << to;
        EXPECT_EQ(parsed.error().code, code) << parsed.error().message();
        EXPECT_NE(parsed.error().message().find("m.json"), std::string::npos);
    }
}

} // namespace
} // namespace vgpualloc
