// Keys of configurations.
#include "config_keys.hpp"

#include <algorithm>
#include <string>

#include "text.hpp"

namespace vgpualloc::dialects {

void check_keys(const vgpuformats::cursor& from, key_list ours, key_list others, std::vector<error>& warnings) {
    for (const auto& [key, value] : from.entries()) {
        if (std::ranges::find(ours, key) != ours.end() || std::ranges::find(others, key) != others.end()) continue;
        const auto meant =
            std::ranges::find_if(ours, [&](std::string_view known) { return text::is_misspelled(key, known); });
        if (meant != ours.end()) {
            value.fail(error_code::unknown_name, "the key " + std::string{*meant});
        } else {
            warnings.push_back(value.problem(error_code::unknown_name, "a key that is known; it was not read"));
        }
    }
}

bool read_flag(const vgpuformats::cursor& from, std::string_view key) { return from.has(key) && from.at(key).flag(); }

} // namespace vgpualloc::dialects
