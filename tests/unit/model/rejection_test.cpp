// Why a pod was not placed, added up.
#include "vgpualloc/model/rejection.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(rejection, every_code_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < rejection_code_count; ++i) names.insert(to_string(static_cast<rejection_code>(i)));
    EXPECT_EQ(names.size(), rejection_code_count);
    EXPECT_EQ(to_string(rejection_code::none), "");
    EXPECT_EQ(to_string(rejection_code::too_many_pods), "too_many_pods");
    EXPECT_EQ(to_string(rejection_code::insufficient_device_cores), "insufficient_device_cores");
}

TEST(rejection, the_main_code_is_the_most_frequent_then_the_first_checked) {
    rejection reasons;
    EXPECT_EQ(reasons.main_code(), rejection_code::no_nodes);
    reasons.nodes[static_cast<std::size_t>(rejection_code::insufficient_cpu)] = 2;
    reasons.nodes[static_cast<std::size_t>(rejection_code::device_in_use)] = 2;
    EXPECT_EQ(reasons.main_code(), rejection_code::insufficient_cpu);
    reasons.nodes[static_cast<std::size_t>(rejection_code::device_in_use)] = 3;
    EXPECT_EQ(reasons.main_code(), rejection_code::device_in_use);
    reasons.nodes[0] = 100; // nodes where it fits are no reason
    EXPECT_EQ(reasons.main_code(), rejection_code::device_in_use);
}

} // namespace
} // namespace vgpualloc
