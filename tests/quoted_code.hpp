// Pages that quote a source file between two markers.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace vgpualloc::test {

/// Of a file of this tree, by its path in it.
inline std::string text_of(std::string_view path) {
    std::ifstream file{std::string{VGA_SOURCE_DIR "/"} + std::string{path}, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// What stands between the markers of the page for `path`, without the fence around it.
inline std::string quoted_in(const std::string& page, std::string_view path) {
    const std::string begin = "<!-- begin " + std::string{path} + " -->\n```cpp\n";
    const std::string end = "```\n<!-- end " + std::string{path} + " -->\n";
    const std::size_t first = page.find(begin);
    const std::size_t last = page.find(end);
    if (first == std::string::npos || last == std::string::npos) return "the markers are missing";
    return page.substr(first + begin.size(), last - first - begin.size());
}

inline void expect_quoted(std::string_view page, std::string_view path) {
    const std::string code = text_of(path);
    ASSERT_FALSE(code.empty()) << path;
    EXPECT_EQ(quoted_in(text_of(page), path), code) << page;
}

} // namespace vgpualloc::test
