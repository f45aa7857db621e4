// A folder that is there as long as a test needs it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace vga_test {

class temporary_folder {
public:
    temporary_folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "vga_test_XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~temporary_folder() { std::filesystem::remove_all(path_); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The path of a name in the folder.
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

} // namespace vga_test
