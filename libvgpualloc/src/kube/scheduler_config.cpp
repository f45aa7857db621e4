// Volcano's scheduler configuration and plugin deviceshare.
#include "vgpualloc/kube/scheduler_config.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpusim {

using json = nlohmann::json;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;
using vgpualloc::dialect::volcano::plugin_arguments;
namespace kubernetes = vgpualloc::kubernetes;

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
    if (const auto objects = vgputraces::read_manifests(text, name)) {
        for (const auto& each : *objects) {
            for (const auto& [key, value] : each.data) {
                if (each.kind == "ConfigMap" && key.ends_with(".conf")) return {value, each.place + ": " + key};
            }
        }
    }
    return {text, name};
}

/// Arguments are texts to the plugin, whatever YAML takes them for; a list or map is JSON.
expected<kubernetes::text_map> arguments_of(const json& plugin, const std::string& place) {
    kubernetes::text_map made;
    const auto found = plugin.find("arguments");
    if (found == plugin.end() || found->is_null()) return made;
    if (!found->is_object()) return unexpected(malformed(place, "arguments of deviceshare", "a map"));
    for (const auto& [key, value] : found->items()) {
        made[key] =
            value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    return made;
}

/// The plugin's entry in the tiers.
expected<const json*> find_plugin(const json& root, const std::string& place) {
    const auto tiers = root.is_object() ? root.find("tiers") : root.end();
    if (!root.is_object() || tiers == root.end() || !tiers->is_array()) {
        return unexpected(malformed(place, "tiers", "a scheduler configuration with a list of tiers"));
    }
    const json* made = nullptr;
    for (const json& tier : *tiers) {
        if (!tier.is_object() || !tier.contains("plugins") || !tier["plugins"].is_array()) {
            return unexpected(malformed(place, "tiers", "tiers with a list of plugins each"));
        }
        for (const json& plugin : tier["plugins"]) {
            if (!plugin.is_object() || !plugin.contains("name") || plugin["name"] != plugin_name) continue;
            if (made != nullptr) {
                return unexpected(error{.code = error_code::duplicate,
                                        .where = place,
                                        .field = "plugins",
                                        .value = plugin_name,
                                        .expected = "the plugin once"});
            }
            made = &plugin;
        }
    }
    if (made != nullptr) return made;
    return unexpected(error{.code = error_code::missing,
                            .where = place,
                            .field = "plugins",
                            .value = "",
                            .expected = "plugin deviceshare in one of the tiers"});
}

/// The argument that enables what serves such a pod, and whether it does.
std::pair<const char*, bool> switch_for(const plugin_arguments& arguments, std::string_view dialect,
                                        const kubernetes::pod& asked) {
    if (dialect == "volcano_vgpu") return {"VGPUEnable", arguments.vgpu};
    if (dialect == "ascend_hami") return {"AscendHAMiVNPUEnable", arguments.hami_vnpu};
    if (dialect == "mindcluster") return {"AscendMindClusterVNPUEnable", arguments.mindcluster_vnpu};
    if (dialect != "gpushare") return {nullptr, false};
    const std::string memory = vgpualloc::dialect::gpushare::options{}.memory_name;
    const bool by_memory =
        std::ranges::any_of(asked.containers, [&memory](const auto& each) { return each.limits.contains(memory); });
    if (by_memory) return {"GPUSharingEnable", arguments.gpu_sharing};
    return {"GPUNumberEnable", arguments.gpu_number};
}

} // namespace

expected<plugin_arguments> parse_scheduler_config(const std::string& text, const std::string& name) {
    const config_text from = find_config(text, name);
    const auto written = vgputraces::yaml_to_json_text(from.text, from.place);
    if (!written) return unexpected(written.error());
    const json root = json::parse(*written);
    const auto plugin = find_plugin(root, from.place);
    if (!plugin) return unexpected(plugin.error());
    const auto arguments = arguments_of(**plugin, from.place);
    if (!arguments) return unexpected(arguments.error());
    auto read = vgpualloc::dialect::volcano::parse_plugin_arguments(*arguments);
    if (!read) {
        error failure = read.error();
        failure.where = from.place + ": " + failure.where;
        return unexpected(std::move(failure));
    }
    return read;
}

expected<void> check_enabled(const plugin_arguments& arguments, std::string_view dialect,
                             const kubernetes::pod& asked) {
    if (dialect.empty()) return {};
    const auto [name, enabled] = switch_for(arguments, dialect, asked);
    if (enabled) return {};
    return unexpected(error{.code = error_code::unsupported,
                            .where = {},
                            .field = "dialect",
                            .value = std::string{dialect},
                            .expected = name == nullptr
                                            ? "a dialect that plugin deviceshare serves: volcano_vgpu, gpushare, "
                                              "ascend_hami, mindcluster"
                                            : "argument deviceshare." + std::string{name} + ": true"});
}

std::int64_t ai_cores_of(const kubernetes::node& of) {
    const std::string& text = kubernetes::value_of(of.allocatable, "huawei.com/npu-core");
    std::int64_t cores = 0;
    std::from_chars(text.data(), text.data() + text.size(), cores);
    return cores;
}

} // namespace vgpusim
