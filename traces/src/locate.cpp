#include "vgputraces/locate.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "vgpuformats/input.hpp"

namespace vgputraces {
namespace {

[[nodiscard]] bool exists(const std::string& path) {
    std::error_code failure; // what cannot be looked at is not there
    return std::filesystem::exists(std::filesystem::symlink_status(path, failure));
}

[[nodiscard]] std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

[[nodiscard]] std::string cache_folder() {
    // The XDG base directory specification says to ignore a path that is not absolute.
    if (const std::string cache = environment("XDG_CACHE_HOME"); cache.starts_with('/')) {
        return cache + "/vgpualloc/traces";
    }
    if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/vgpualloc/traces";
    return {};
}

} // namespace

std::string default_trace_folder() {
    const std::string named = environment("VGPUALLOC_TRACES");
    return named.empty() ? cache_folder() : named;
}

std::string find_trace(const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos) return {};
    for (const std::string& folder : {environment("VGPUALLOC_TRACES"), cache_folder()}) {
        if (!folder.empty() && exists(folder + "/" + name)) return folder + "/" + name;
    }
    return {};
}

std::string resolve_trace_path(const std::string& path) {
    if (path == vgpuformats::standard_input || exists(path)) return path;
    const std::string listed = find_trace(path);
    return listed.empty() ? path : listed;
}

} // namespace vgputraces
