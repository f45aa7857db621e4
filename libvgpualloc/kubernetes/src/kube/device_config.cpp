// Device configurations in files and ConfigMaps.
#include "vgpualloc/kube/device_config.hpp"

#include <utility>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

expected<dialect_config> read_device_config(dialect_config base, const std::string& text, const std::string& name) {
    const auto add = [&base](const std::string& yaml, const std::string& place) -> expected<void> {
        const auto json = yaml_to_json_text(yaml, place);
        if (!json) return unexpected(json.error());
        auto sum = with_device_config(std::move(base), *json, place);
        if (!sum) return unexpected(std::move(sum).error());
        base = *std::move(sum);
        return {};
    };
    bool is_in_config_maps = false;
    if (const auto objects = read_manifests(text, name)) {
        for (const manifest& object : *objects) {
            const auto entry = object.data.find(device_config_key);
            if (object.kind != "ConfigMap" || entry == object.data.end()) continue;
            is_in_config_maps = true;
            if (auto added = add(entry->second, object.place + ": " + device_config_key); !added) {
                return unexpected(std::move(added).error());
            }
        }
    }
    if (is_in_config_maps) return base;
    if (auto added = add(text, name); !added) return unexpected(std::move(added).error());
    return base;
}

} // namespace vgpualloc::kube
