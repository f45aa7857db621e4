#include "vgpusim/workload/cluster_files.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(cluster_files, objects_of_all_files_come_in_their_order_and_are_recorded) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "a.yaml") << "kind: Node\nmetadata: {name: a}\n";
    std::ofstream(folder / "b.yaml") << "kind: Node\nmetadata: {name: b}\n---\nkind: Pod\nmetadata: {name: c}\n";
    std::vector<vgpusim::input_file> records;
    const auto objects = vgpusim::load_objects({folder / "b.yaml", folder / "a.yaml"}, &records);
    ASSERT_TRUE(objects) << objects.error().message();
    ASSERT_THAT(*objects, SizeIs(3));
    EXPECT_EQ((*objects)[2].name, "a");
    ASSERT_THAT(records, SizeIs(2));
    EXPECT_EQ(records[0].path, folder / "b.yaml");
    EXPECT_FALSE(vgpusim::load_objects({folder / "none.yaml"}).has_value());
}

TEST(cluster_files, dialects_are_configured_by_files_that_are_named_in_errors) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "c.yaml") << "nvidia: {resourceCountName: example.com/gpu, gpuMemoryFactor: 2}\n";
    std::vector<vgpusim::input_file> records;
    const auto config = vgpusim::load_dialects({.catalog = {}, .config = {folder / "c.yaml"}}, &records);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->devices.vgpu.count_name, "example.com/gpu");
    EXPECT_THAT(records, SizeIs(1));
    std::ofstream(folder / "c.yaml") << "nvidia: {resourceCountNames: x}\n";
    const auto refused = vgpusim::load_dialects({.catalog = {}, .config = {folder / "c.yaml"}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("c.yaml"));
    EXPECT_FALSE(vgpusim::load_catalog({folder / "c.yaml"}).has_value());
}

} // namespace
