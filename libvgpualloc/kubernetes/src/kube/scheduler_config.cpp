// Volcano's scheduler configuration.
#include "vgpualloc/kube/scheduler_config.hpp"

#include <array>
#include <utility>

#include "objects_parts.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::kube {

using vgpuformats::document;

namespace {

constexpr std::string_view own_name = "vgpualloc";
constexpr std::string_view deviceshare_name = "deviceshare";

error malformed(const std::string& where, std::string field, const document* value, const std::string& expected_text) {
    if (value == nullptr) {
        return bad_input(error_code::missing, field, "missing", expected_text).at(where);
    }
    return bad_value(error_code::malformed, field, shown(*value), expected_text).at(where);
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

std::string text_of(const document& value) { return value.is_text() ? value.text : vgpuformats::print_json(value); }

/// The entry of a plugin in the tiers.
struct plugin_entry {
    std::string_view name;
    const document* value = nullptr;
    std::string place{};
};

std::string place_in(const std::string& place, const document& value) {
    return place + ":" + std::to_string(value.place.line);
}

/// The one plugin that gives out devices.
expected<plugin_entry> find_plugin(const document& root, const std::string& place) {
    const document* const tiers = root.find("tiers");
    if (tiers == nullptr || !tiers->is_list()) {
        return unexpected(malformed(place, "tiers", tiers, "a scheduler configuration with a list of tiers"));
    }
    std::array<plugin_entry, 2> known{{{.name = own_name}, {.name = deviceshare_name}}};
    for (const document& tier : tiers->items) {
        const document* const plugins = tier.find("plugins");
        if (plugins == nullptr || !plugins->is_list()) {
            return unexpected(
                malformed(place_in(place, tier), "tiers: plugins", plugins, "tiers with a list of plugins each"));
        }
        for (const document& plugin : plugins->items) {
            const document* const name = plugin.find("name");
            for (plugin_entry& entry : known) {
                if (name == nullptr || !name->is_text() || name->text != entry.name) continue;
                if (entry.value != nullptr) {
                    return unexpected(bad_value(error_code::duplicate, "plugins", name->text, "the plugin once")
                                          .at(place_in(place, plugin)));
                }
                entry.value = &plugin;
                entry.place = place_in(place, plugin);
            }
        }
    }
    const auto& [own, deviceshare] = known;
    if (own.value != nullptr && deviceshare.value != nullptr) {
        return unexpected(bad_value(error_code::unsupported, "plugins", "vgpualloc and deviceshare",
                                    "one of them: both would give out the same devices")
                              .at(place));
    }
    if (own.value != nullptr) return own;
    if (deviceshare.value != nullptr) return deviceshare;
    return unexpected(
        bad_input(error_code::missing, "plugins", "missing", "plugin vgpualloc or deviceshare in one of the tiers")
            .at(place));
}

/// Whether an entry of `configurations` sets presetVirtualDevice, a text or a value of YAML.
bool presets_virtual_devices(const document& root) {
    const document* const configurations = root.find("configurations");
    if (configurations == nullptr || !configurations->is_list()) return false;
    for (const document& entry : configurations->items) {
        const document* const arguments = entry.find("arguments");
        const document* const preset = arguments == nullptr ? nullptr : arguments->find("presetVirtualDevice");
        if (preset != nullptr && text_of(*preset) == "true") return true;
    }
    return false;
}

/// Has the arguments read, those of either plugin.
expected<void> read_arguments(const plugin_entry& plugin, const kubernetes::text_map& arguments, scheduler_config& to) {
    if (plugin.name == deviceshare_name) {
        auto read = dialects::volcano::parse_plugin_arguments(arguments);
        if (!read) return unexpected(std::move(read).error());
        to.deviceshare = *std::move(read);
        return {};
    }
    auto read = dialects::volcano::parse_vgpualloc_arguments(arguments);
    if (!read) return unexpected(std::move(read).error());
    to.deviceshare = read->deviceshare;
    to.own = *std::move(read);
    return {};
}

} // namespace

error scheduler_config::refusal_of(std::string_view argument, error problem) const {
    problem.where = places.find(argument)->second;
    problem.field = argument;
    return problem;
}

expected<scheduler_config> parse_scheduler_config(const std::string& text, const std::string& name) {
    const config_text from = find_config(text, name);
    const auto root = one_document(from.text, from.place);
    if (!root) return unexpected(root.error());
    const auto plugin = find_plugin(*root, from.place);
    if (!plugin) return unexpected(plugin.error());
    const std::string of_plugin = ": plugin " + std::string{plugin->name};
    const document* const arguments = plugin->value->find("arguments");
    if (arguments != nullptr && !arguments->is_null() && !arguments->is_map()) {
        return unexpected(malformed(plugin->place + of_plugin, "arguments", arguments, "a map"));
    }
    scheduler_config result;
    kubernetes::text_map texts; // what they are to the plugin, whatever YAML takes them for; a list or map is JSON
    if (arguments != nullptr) {
        for (const auto& [key, value] : arguments->members) {
            texts[key] = text_of(value);
            result.places[key] = place_in(from.place, value) + of_plugin;
        }
    }
    if (auto read = read_arguments(*plugin, texts, result); !read) {
        error failure = std::move(read).error();
        const auto argument = result.places.find(failure.field);
        const std::string& place = argument == result.places.end() ? plugin->place + of_plugin : argument->second;
        failure.where = place + (failure.where.empty() ? "" : ": " + failure.where);
        return unexpected(std::move(failure));
    }
    result.deviceshare.preset_virtual_devices = presets_virtual_devices(*root);
    if (result.own) result.own->deviceshare = result.deviceshare;
    return result;
}

} // namespace vgpualloc::kube
