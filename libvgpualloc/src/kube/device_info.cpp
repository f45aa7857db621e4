// MindCluster's ConfigMaps.
#include "device_info.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace vgpusim {

namespace {

using vgpualloc::dialect::mindcluster::device_info;

constexpr std::string_view name_prefix = "mindx-dl-deviceinfo-";

std::optional<device_info> info_of(const vgputraces::manifest& from) {
    const auto found = from.data.find("DeviceInfoCfg");
    if (found == from.data.end()) return std::nullopt;
    const auto parsed = nlohmann::json::parse(found->second, nullptr, false);
    const nlohmann::json::json_pointer list_at{"/DeviceInfo/DeviceList"};
    if (!parsed.is_object() || !parsed.contains(list_at) || !parsed.at(list_at).is_object()) return std::nullopt;
    device_info info;
    for (const auto& [key, each] : parsed.at(list_at).items()) {
        if (!each.is_string()) return std::nullopt;
        info.device_list[key] = each.get<std::string>();
    }
    return info;
}

} // namespace

std::map<std::string, device_info> read_device_infos(std::span<const vgputraces::manifest> objects) {
    std::map<std::string, device_info> infos;
    for (const auto& each : objects) {
        if (each.kind != "ConfigMap" || !each.name.starts_with(name_prefix)) continue;
        if (auto info = info_of(each)) infos[each.name.substr(name_prefix.size())] = *std::move(info);
    }
    return infos;
}

vgpualloc::dialect::mindcluster::options options_for(vgpualloc::dialect::mindcluster::options with,
                                                     std::span<const vgputraces::manifest> objects) {
    std::set<std::int64_t> sizes;
    for (const auto& each : objects) {
        const auto cores = each.node ? vgpualloc::dialect::mindcluster::cores_per_chip(*each.node) : std::nullopt;
        if (cores) sizes.insert(*cores);
    }
    if (sizes.empty()) return with;
    with.chip_cores.assign(sizes.begin(), sizes.end());
    with.usual_chips = false;
    return with;
}

} // namespace vgpusim
