// Volcano's scheduler configuration.
#include "vgpualloc/kube/scheduler_config.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

using json = nlohmann::json;
using dialects::volcano::plugin_arguments;

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
expected<kubernetes::text_map> arguments_of(const json& plugin, const std::string& place) {
    kubernetes::text_map result;
    const auto entry = plugin.find("arguments");
    if (entry == plugin.end() || entry->is_null()) return result;
    if (!entry->is_object()) return unexpected(malformed(place, "arguments of deviceshare", "a map"));
    for (const auto& [key, value] : entry->items()) {
        result[key] =
            value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    return result;
}

/// The plugin's entry in the tiers.
expected<const json*> find_plugin(const json& root, const std::string& place) {
    const auto tiers = root.is_object() ? root.find("tiers") : root.end();
    if (!root.is_object() || tiers == root.end() || !tiers->is_array()) {
        return unexpected(malformed(place, "tiers", "a scheduler configuration with a list of tiers"));
    }
    const json* result = nullptr;
    for (const json& tier : *tiers) {
        if (!tier.is_object() || !tier.contains("plugins") || !tier["plugins"].is_array()) {
            return unexpected(malformed(place, "tiers", "tiers with a list of plugins each"));
        }
        for (const json& plugin : tier["plugins"]) {
            if (!plugin.is_object() || !plugin.contains("name") || plugin["name"] != plugin_name) continue;
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

} // namespace

expected<plugin_arguments> parse_scheduler_config(const std::string& text, const std::string& name) {
    const config_text from = find_config(text, name);
    const auto written = yaml_to_json_text(from.text, from.place);
    if (!written) return unexpected(written.error());
    const json root = json::parse(*written);
    const auto plugin = find_plugin(root, from.place);
    if (!plugin) return unexpected(plugin.error());
    const auto arguments = arguments_of(**plugin, from.place);
    if (!arguments) return unexpected(arguments.error());
    auto arguments_read = dialects::volcano::parse_plugin_arguments(*arguments);
    if (!arguments_read) {
        error failure = arguments_read.error();
        failure.where = from.place + ": " + failure.where;
        return unexpected(std::move(failure));
    }
    return arguments_read;
}

} // namespace vgpualloc::kube
