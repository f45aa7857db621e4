#include "vgputraces/file_source.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace {

TEST(file_source, reads_files_and_finds_them_beside_a_scenario) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "list.csv") << "a\n";
    const vgputraces::file_source files;
    EXPECT_TRUE(files.has(folder / "list.csv"));
    EXPECT_FALSE(files.has(folder / "none.csv"));
    EXPECT_EQ(files.read(folder / "list.csv", {})->text, "a\n");
    EXPECT_EQ(files.read(folder / "none.csv", {}).error().code, vgpualloc::error_code::io);
    EXPECT_EQ(files.resolve_from(folder / "run.json", "list.csv"), folder / "list.csv");
    EXPECT_EQ(files.resolve_from(folder / "run.json", "none.csv"), folder / "none.csv");
    EXPECT_EQ(files.resolve_from(folder / "run.json", "-"), "-");
    EXPECT_EQ(files.resolve(folder / "list.csv"), folder / "list.csv");
}

TEST(file_source, tells_another_version_of_a_file_once_it_has_changed) {
    const vga_test::temporary_folder folder;
    std::ofstream(folder / "list.csv") << "a\n";
    vgpuformats::kept_values values;
    const vgputraces::file_source files{values};
    EXPECT_EQ(files.kept(), &values);
    EXPECT_EQ(vgputraces::file_source{}.kept(), nullptr);
    const std::string first = files.version_of(folder / "list.csv");
    EXPECT_NE(first, "");
    EXPECT_EQ(files.version_of(folder / "list.csv"), first);
    std::ofstream(folder / "list.csv") << "ab\n";
    EXPECT_NE(files.version_of(folder / "list.csv"), first);
    EXPECT_EQ(files.version_of(folder / "none.csv"), "");
    EXPECT_EQ(files.version_of(folder.path()), "") << "no file";
    EXPECT_EQ(files.version_of("-"), "") << "standard input cannot be read again";
}

} // namespace
