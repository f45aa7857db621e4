#include "vgputraces/file_source.hpp"

#include <filesystem>
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

} // namespace vgputraces
