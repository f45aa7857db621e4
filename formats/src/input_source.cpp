#include "vgpuformats/input_source.hpp"

#include <filesystem>
#include <utility>

namespace vgpuformats {

vgpualloc::expected<input_text> memory_source::read(const std::string& name, const input_options& options) const {
    const auto input = inputs_.find(name);
    if (input == inputs_.end()) {
        return vgpualloc::unexpected(
            bad_input(vgpualloc::error_code::missing, "", "missing", "an input of that name").at(name));
    }
    if (const auto* const columns = std::get_if<const column_table*>(&input->second)) {
        input_text result{.name = name, .text = {}, .sha256 = {}, .table = *columns};
        if (!options.hashed) return result;
        if (const auto checked = check_table(**columns, name); !checked) return vgpualloc::unexpected(checked.error());
        result.sha256 = sha256_of_table(**columns);
        return result;
    }
    return text_of_bytes(std::string{std::get<std::string_view>(input->second)}, name, options);
}

std::string memory_source::resolve_from(const std::string& from, const std::string& name) const {
    if (name.empty()) return name;
    const std::string beside = (std::filesystem::path{from}.parent_path() / name).lexically_normal().string();
    return has(beside) ? beside : name;
}

} // namespace vgpuformats
