// Files in a folder of a test's own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "temporary_folder.hpp"
#include "vgpuformats/files.hpp"

namespace vga_test {

class files_in_folder : public testing::Test {
protected:
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }

    /// Every file and folder below the root, sorted.
    [[nodiscard]] std::vector<std::string> present() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
            names.push_back(entry.path().lexically_relative(folder_.path()).string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    void put(const std::string& name, const std::string& content) const {
        std::ofstream(at(name), std::ios::binary) << content;
    }

    temporary_folder folder_;
};

inline std::string content_of(const std::string& path) { return vgpuformats::read_file(path).value(); }

} // namespace vga_test
