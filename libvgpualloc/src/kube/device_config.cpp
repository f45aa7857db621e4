// Device configurations in files and ConfigMaps.
#include "vgpualloc/kube/device_config.hpp"

#include <utility>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

expected<dialect_config> read_device_config(dialect_config base, const std::string& text, const std::string& name) {
    std::string yaml = text;
    std::string place = name;
    if (const auto objects = read_manifests(text, name)) {
        for (const manifest& object : *objects) {
            const auto entry = object.data.find(device_config_key);
            if (object.kind != "ConfigMap" || entry == object.data.end()) continue;
            yaml = entry->second;
            place = object.place + ": " + device_config_key;
        }
    }
    const auto json = yaml_to_json_text(yaml, place);
    if (!json) return unexpected(json.error());
    return with_device_config(std::move(base), *json, place);
}

} // namespace vgpualloc::kube
