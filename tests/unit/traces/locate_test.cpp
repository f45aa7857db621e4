// Where trace files are looked for.
#include "vgputraces/locate.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace vgputraces {
namespace {

namespace fs = std::filesystem;

class locate : public testing::Test {
protected:
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
    void put(const std::string& name) const { std::ofstream{at(name)}; }

    vga_test::temporary_folder folder_;
};

/// Sets or clears a variable, and puts the former value back.
class scoped_variable {
public:
    scoped_variable(const char* name, const char* value) : name_{name} {
        if (const char* former = std::getenv(name)) former_ = former;
        set(value);
    }
    scoped_variable(const scoped_variable&) = delete;
    scoped_variable& operator=(const scoped_variable&) = delete;
    ~scoped_variable() { set(former_ ? former_->c_str() : nullptr); }

private:
    void set(const char* value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }

    const char* name_;
    std::optional<std::string> former_;
};

TEST_F(locate, the_default_folder_follows_the_environment) {
    const scoped_variable home{"HOME", "/home/u"};
    const scoped_variable cache{"XDG_CACHE_HOME", nullptr};
    const scoped_variable named{"VGPUALLOC_TRACES", nullptr};
    EXPECT_EQ(default_trace_folder(), "/home/u/.cache/vgpualloc/traces");
    {
        const scoped_variable relative{"XDG_CACHE_HOME", "c"}; // to be ignored, says the XDG specification
        EXPECT_EQ(default_trace_folder(), "/home/u/.cache/vgpualloc/traces");
    }
    const scoped_variable absolute{"XDG_CACHE_HOME", "/c"};
    EXPECT_EQ(default_trace_folder(), "/c/vgpualloc/traces");
    const scoped_variable traces{"VGPUALLOC_TRACES", "/t"};
    EXPECT_EQ(default_trace_folder(), "/t");
}

// $VGPUALLOC_TRACES shadowed the file that lay in the current folder.
TEST_F(locate, a_bare_name_is_found_here_then_in_the_named_folder_then_in_the_cache) {
    fs::create_directories(at("cache/vgpualloc/traces"));
    fs::create_directories(at("named"));
    const scoped_variable cache{"XDG_CACHE_HOME", at("cache").c_str()};
    const scoped_variable named{"VGPUALLOC_TRACES", at("named").c_str()};
    const auto& find = resolve_trace_path;
    const fs::path former = fs::current_path();
    fs::current_path(folder_.path());

    EXPECT_EQ(find("x.csv"), "x.csv"); // nowhere
    put("cache/vgpualloc/traces/x.csv");
    EXPECT_EQ(find("x.csv"), at("cache/vgpualloc/traces/x.csv"));
    put("named/x.csv");
    EXPECT_EQ(find("x.csv"), at("named/x.csv"));
    EXPECT_EQ(vgputraces::find_trace("x.csv"), at("named/x.csv"));
    put("x.csv");
    EXPECT_EQ(find("x.csv"), "x.csv");
    EXPECT_EQ(vgputraces::find_trace("x.csv"), at("named/x.csv")); // which does not look here
    EXPECT_EQ(vgputraces::find_trace("./x.csv"), "");
    put("named/-");
    EXPECT_EQ(find("-"), "-");             // standard input
    EXPECT_EQ(find("./x.csv"), "./x.csv"); // not a bare name
    EXPECT_EQ(find(""), "");

    fs::current_path(former);
}

} // namespace
} // namespace vgputraces
