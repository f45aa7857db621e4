// Which profiles a GPU has.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "machine.hpp"

namespace fake_nvml {

namespace {

struct recorded_table {
    std::string_view name;
    std::string_view model;
    std::vector<std::int64_t> profile_ids;
};

/// The recorded fake knew placements and compute slices, and no other limit.
[[nodiscard]] vgpualloc::mig_model unlimited(const vgpualloc::mig_model& model, const std::vector<std::int64_t>& ids) {
    vgpualloc::mig_model result = model;
    result.engines = {};
    std::erase_if(result.profiles, [&](const vgpualloc::mig_profile& profile) {
        return std::ranges::find(ids, profile.profile_id) == ids.end();
    });
    for (vgpualloc::mig_profile& profile : result.profiles) {
        profile.max_instances = result.units.count() / profile.size.count();
    }
    return result;
}

[[nodiscard]] std::map<std::string, vgpualloc::mig_model, std::less<>> make_recorded_tables() {
    const std::vector<std::int64_t> seven_slices{19, 20, 15, 14, 9, 5, 0};
    const std::array<recorded_table, 4> recorded{{{"a100-40", "A100-40GB", seven_slices},
                                                  {"a100-80", "A100-80GB", seven_slices},
                                                  {"h100-80", "H100-80GB", seven_slices},
                                                  {"a30", "A30-24GB", {14, 5, 0}}}};
    std::map<std::string, vgpualloc::mig_model, std::less<>> result;
    for (const recorded_table& table : recorded) {
        const auto model = vgpualloc::find_model(vgpualloc::built_in_mig_catalog(), table.model);
        if (model) result.emplace(table.name, unlimited(**model, table.profile_ids));
    }
    return result;
}

} // namespace

const vgpualloc::mig_model* table_of(std::string_view table, std::string_view gpu_name) {
    if (table == "none") return nullptr;
    static const auto recorded_tables = make_recorded_tables();
    if (const auto recorded = recorded_tables.find(table); recorded != recorded_tables.end()) return &recorded->second;
    const auto model = vgpualloc::find_model(vgpualloc::built_in_mig_catalog(), table.empty() ? gpu_name : table);
    return model ? *model : nullptr;
}

} // namespace fake_nvml
