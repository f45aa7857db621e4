#include "vgpusim/workload/cluster_files.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.hpp"
#include "vgputraces/file_source.hpp"

namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(cluster_files, objects_of_all_files_come_in_their_order_and_are_recorded) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "a.yaml") << "kind: Node\nmetadata: {name: a}\n";
    std::ofstream(folder / "b.yaml") << "kind: Node\nmetadata: {name: b}\n---\nkind: Pod\nmetadata: {name: c}\n";
    const vgputraces::file_source files;
    vgpusim::input_reader from{files, vgpusim::records_kept::all};
    const auto objects = vgpusim::load_objects({folder / "b.yaml", folder / "a.yaml"}, from);
    ASSERT_TRUE(objects) << objects.error().message();
    ASSERT_THAT(*objects, SizeIs(3));
    EXPECT_EQ((*objects)[2].name, "a");
    ASSERT_THAT(from.records(), SizeIs(2));
    EXPECT_EQ(from.records()[0].path, folder / "b.yaml");
    EXPECT_FALSE(vgpusim::load_objects({folder / "none.yaml"}, from).has_value());
}

TEST(cluster_files, objects_are_those_of_the_question_before_until_a_file_changes) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "a.yaml") << "kind: Node\nmetadata: {name: a}\n";
    vgpuformats::kept_values values;
    const vgputraces::file_source files{values};
    const std::vector<std::string> names{folder / "a.yaml"};
    const auto load = [&](vgpusim::records_kept recorded) {
        vgpusim::input_reader from{files, recorded};
        return vgpusim::load_shared_objects(names, from).value();
    };
    const auto first = load(vgpusim::records_kept::none);
    EXPECT_EQ(load(vgpusim::records_kept::none), first);
    EXPECT_NE(load(vgpusim::records_kept::all), first) << "what is recorded is read";
    std::ofstream(folder / "a.yaml") << "kind: Node\nmetadata: {name: other}\n";
    EXPECT_EQ(load(vgpusim::records_kept::none)->front().name, "other");
    const vgputraces::file_source forgetful;
    vgpusim::input_reader from{forgetful};
    EXPECT_NE(vgpusim::load_shared_objects(names, from).value(), vgpusim::load_shared_objects(names, from).value());
}

TEST(cluster_files, dialects_are_configured_by_files_that_are_named_in_errors) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "c.yaml") << "nvidia: {resourceCountName: example.com/gpu, gpuMemoryFactor: 2}\n";
    const vgputraces::file_source files;
    vgpusim::input_reader from{files, vgpusim::records_kept::all};
    const auto config = vgpusim::load_dialects({.catalog = {}, .config = {folder / "c.yaml"}}, from);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->devices.vgpu.count_name, "example.com/gpu");
    EXPECT_THAT(from.records(), SizeIs(1));
    std::ofstream(folder / "c.yaml") << "nvidia: {resourceCountNames: x}\n";
    const auto refused = vgpusim::load_dialects({.catalog = {}, .config = {folder / "c.yaml"}}, from);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("c.yaml"));
    EXPECT_FALSE(vgpusim::load_catalog({folder / "c.yaml"}, from).has_value());
}

} // namespace
