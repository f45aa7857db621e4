// What of an export is passed over: nothing that a reader of objects looks at.
#include "vgpualloc/kube/unread_members.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {
namespace {

using path = std::vector<std::string>;

TEST(unread_members, managed_fields_and_what_of_the_status_nothing_reads) {
    EXPECT_TRUE(is_unread_member(path{"metadata"}, "managedFields"));
    EXPECT_TRUE(is_unread_member(path{"items", "metadata"}, "managedFields"));
    EXPECT_TRUE(is_unread_member(path{"items", "status"}, "containerStatuses"));
    EXPECT_TRUE(is_unread_member(path{"status", "conditions"}, "reason"));
    for (const char* const read : {"allocatable", "capacity", "conditions", "hard", "phase", "used", "allocated",
                                   "state", "admissionChecks", "flavorsReservation", "flavorsUsage"}) {
        EXPECT_FALSE(is_unread_member(path{"items", "status"}, read)) << read;
    }
    EXPECT_FALSE(is_unread_member(path{"status", "conditions"}, "type"));
    EXPECT_FALSE(is_unread_member(path{"status", "conditions"}, "message"));
    EXPECT_FALSE(is_unread_member(path{"status", "conditions"}, "status"));
    EXPECT_FALSE(is_unread_member(path{"metadata"}, "labels"));
    // Elsewhere these are words like others.
    EXPECT_FALSE(is_unread_member(path{}, "managedFields"));
    EXPECT_FALSE(is_unread_member(path{"metadata", "annotations"}, "managedFields"));
    EXPECT_FALSE(is_unread_member(path{"data", "status"}, "containerStatuses"));
    EXPECT_FALSE(is_unread_member(path{"status", "allocatable"}, "images"));
}

TEST(unread_members, objects_are_read_as_without_them) {
    const std::string begin = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n")";
    const std::string middle =
        R"(}, "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "False")";
    const auto plain = read_manifests(begin + middle + "}]}}", "f.json");
    const auto full = read_manifests(begin + R"(, "managedFields": [{"manager": "kubelet"}])" + middle +
                                         R"(, "reason": 1}], "images": [{"names": ["i"]}]}})",
                                     "f.json");
    ASSERT_TRUE(plain.has_value() && full.has_value());
    ASSERT_EQ(full->size(), 1U);
    EXPECT_TRUE(full->front().says_the_same_as(plain->front()));
    EXPECT_FALSE(full->front().host.ready);
    EXPECT_EQ(full->front().cpu.count(), 4000);
}

TEST(unread_members, a_text_that_is_too_large_may_do_without_them) {
    error failure{.code = error_code::out_of_range, .where = "f", .field = {}, .value = {}, .expected = "at most 1"};
    EXPECT_THAT(with_export_advice(failure).message(), testing::HasSubstr("managedFields can be left out"));
    failure.code = error_code::io;
    EXPECT_EQ(with_export_advice(failure).message(), failure.message());
}

} // namespace
} // namespace vgpualloc::kube
