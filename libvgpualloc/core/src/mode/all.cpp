// Modes by name.
#include "vgpualloc/mode/all.hpp"

#include <algorithm>
#include <string>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

const std::vector<shared_mode>& examples() {
    static const std::vector<shared_mode> modes = [] {
        std::vector<shared_mode> result;
        for (const mode_entry& entry : mode_list) {
            auto mode = entry.make(entry.example(), built_in_mig_catalog());
            VGA_ASSERT(mode.has_value(), "the example of a listed mode can be made");
            result.push_back(*std::move(mode));
        }
        return result;
    }();
    return modes;
}

} // namespace

expected<const mode_entry*> find_mode_entry(std::string_view name) {
    const auto entry = std::ranges::find(mode_list, name, &mode_entry::name);
    if (entry != mode_list.end()) return &*entry;
    std::string names;
    for (const mode_entry& known : mode_list) names += (names.empty() ? "" : ", ") + std::string{known.name};
    return unexpected(bad_value(error_code::unknown_name, "mode", name, "one of " + names));
}

expected<const sharing_mode*> find_mode(std::string_view name) {
    const auto entry = find_mode_entry(name);
    if (!entry) return unexpected(entry.error());
    return all_modes()[static_cast<std::size_t>(*entry - mode_list.data())];
}

const std::vector<const sharing_mode*>& all_modes() {
    static const std::vector<const sharing_mode*> modes = [] {
        std::vector<const sharing_mode*> result;
        for (const shared_mode& mode : examples()) result.push_back(mode.get());
        return result;
    }();
    return modes;
}

} // namespace vgpualloc
