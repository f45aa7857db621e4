// Volcano's scheduler configuration.
#include "vgpualloc/kube/scheduler_config.hpp"

#include <utility>

#include "vgpualloc/kube/objects.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::kube {

using dialects::volcano::plugin_arguments;
using vgpuformats::document;

namespace {

constexpr const char* plugin_name = "deviceshare";

error malformed(const std::string& where, std::string field, std::string expected_text) {
    return {.code = error_code::malformed,
            .where = where,
            .field = std::move(field),
            .value = "",
            .expected = std::move(expected_text)};
}

/// The text of the configuration and what errors call it.
struct config_text {
    std::string text;
    std::string place;
};

config_text find_config(const std::string& text, const std::string& name) {
    if (const auto objects = read_manifests(text, name)) {
        for (const auto& object : *objects) {
            for (const auto& [key, value] : object.data) {
                if (object.kind == "ConfigMap" && key.ends_with(".conf")) return {value, object.place + ": " + key};
            }
        }
    }
    return {text, name};
}

/// Arguments are texts to the plugin, whatever YAML takes them for; a list or map is JSON.
expected<kubernetes::text_map> arguments_of(const document& plugin, const std::string& place) {
    kubernetes::text_map result;
    const document* const arguments = plugin.find("arguments");
    if (arguments == nullptr || arguments->is_null()) return result;
    if (!arguments->is_map()) return unexpected(malformed(place, "arguments of deviceshare", "a map"));
    for (const auto& [key, value] : arguments->members) {
        result[key] = value.is_text() ? value.text : vgpuformats::print_json(value);
    }
    return result;
}

/// The plugin's entry in the tiers.
expected<const document*> find_plugin(const document& root, const std::string& place) {
    const document* const tiers = root.find("tiers");
    if (tiers == nullptr || !tiers->is_list()) {
        return unexpected(malformed(place, "tiers", "a scheduler configuration with a list of tiers"));
    }
    const document* result = nullptr;
    for (const document& tier : tiers->items) {
        const document* const plugins = tier.find("plugins");
        if (plugins == nullptr || !plugins->is_list()) {
            return unexpected(malformed(place, "tiers", "tiers with a list of plugins each"));
        }
        for (const document& plugin : plugins->items) {
            const document* const name = plugin.find("name");
            if (name == nullptr || !name->is_text() || name->text != plugin_name) continue;
            if (result != nullptr) {
                return unexpected(error{.code = error_code::duplicate,
                                        .where = place,
                                        .field = "plugins",
                                        .value = plugin_name,
                                        .expected = "the plugin once"});
            }
            result = &plugin;
        }
    }
    if (result != nullptr) return result;
    return unexpected(error{.code = error_code::missing,
                            .where = place,
                            .field = "plugins",
                            .value = "",
                            .expected = "plugin deviceshare in one of the tiers"});
}

/// Whether an entry of `configurations` sets presetVirtualDevice, a text or a value of YAML.
bool presets_virtual_devices(const document& root) {
    const document* const configurations = root.find("configurations");
    if (configurations == nullptr || !configurations->is_list()) return false;
    for (const document& entry : configurations->items) {
        const document* const arguments = entry.find("arguments");
        const document* const preset = arguments == nullptr ? nullptr : arguments->find("presetVirtualDevice");
        if (preset == nullptr) continue;
        if ((preset->is_text() ? preset->text : vgpuformats::print_json(*preset)) == "true") return true;
    }
    return false;
}

} // namespace

expected<plugin_arguments> parse_scheduler_config(const std::string& text, const std::string& name) {
    const config_text from = find_config(text, name);
    const auto written = yaml_to_json_text(from.text, from.place);
    if (!written) return unexpected(written.error());
    const auto root = vgpuformats::parse_json(*written, from.place);
    if (!root) return unexpected(root.error());
    const auto plugin = find_plugin(*root, from.place);
    if (!plugin) return unexpected(plugin.error());
    const auto arguments = arguments_of(**plugin, from.place);
    if (!arguments) return unexpected(arguments.error());
    auto arguments_read = dialects::volcano::parse_plugin_arguments(*arguments);
    if (!arguments_read) {
        error failure = arguments_read.error();
        failure.where = from.place + ": " + failure.where;
        return unexpected(std::move(failure));
    }
    arguments_read->preset_virtual_devices = presets_virtual_devices(*root);
    return arguments_read;
}

} // namespace vgpualloc::kube
