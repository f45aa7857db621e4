#include "vgputraces/file_source.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "vgputraces/locate.hpp"

namespace vgputraces {

bool file_source::has(const std::string& name) const {
    std::error_code absent; // a file that cannot be looked at is not there
    return std::filesystem::exists(name, absent);
}

std::string file_source::resolve(const std::string& name) const { return resolve_trace_path(name); }

std::string file_source::resolve_from(const std::string& from, const std::string& name) const {
    const std::filesystem::path relative{name};
    if (relative.empty() || relative.is_absolute() || name == vgpuformats::standard_input) return name;
    const std::string beside = (std::filesystem::path{from}.parent_path() / relative).lexically_normal().string();
    if (has(beside)) return beside;
    const std::string listed = find_trace(name);
    return listed.empty() ? beside : listed;
}

std::string file_source::version_of(const std::string& name) const {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(name, failure)) return {};
    const auto size = std::filesystem::file_size(name, failure);
    if (failure) return {};
    const auto changed = std::filesystem::last_write_time(name, failure);
    if (failure) return {};
    const std::chrono::nanoseconds since_epoch = changed.time_since_epoch();
    return std::to_string(size) + " " + std::to_string(since_epoch.count());
}

} // namespace vgputraces
