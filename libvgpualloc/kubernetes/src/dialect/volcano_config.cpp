// The device configuration of Volcano and HAMi, and the arguments of Volcano's deviceshare plugin and of ours.
#include "vgpualloc/dialect/volcano_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "config_keys.hpp"
#include "nvidia_config.hpp"
#include "text.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::volcano {

namespace {

using vgpuformats::cursor;
using vgpuformats::number_range;

constexpr number_range amounts{0, std::numeric_limits<std::int32_t>::max()};
constexpr number_range positive{1, amounts.most};
constexpr number_range factors{0, std::int64_t{1} << 20U};
constexpr std::int64_t scaling_max = 1000;
constexpr std::string_view hami_resources = "nvidia.com/";

constexpr auto root_keys = std::to_array<std::string_view>({"nvidia", "vnpus"});
/// Vendors that HAMi serves and this library does not.
constexpr auto other_vendors =
    std::to_array<std::string_view>({"amd", "awsneuron", "biren", "cambricon", "enflame", "hygon", "iluvatar",
                                     "iluvatars", "kunlun", "metax", "mthreads", "vastai"});
constexpr auto nvidia_keys = std::to_array<std::string_view>(
    {"resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName",
     "resourcePriorityName", "overwriteEnv", "defaultMemory", "defaultCores", "defaultGPUNum", "deviceSplitCount",
     "deviceMemoryScaling", "deviceCoreScaling", "disableCoreLimit", "gpuMemoryFactor", "memoryFactor",
     "passDeviceSpecs", "applyAllKeys", "knownMigGeometries", "migProfileAllowlist"});
/// Keys of HAMi's section that Volcano's does not have and that no request or node is read by.
constexpr auto other_nvidia_keys = std::to_array<std::string_view>(
    {"enableNumaTopology", "gpuCorePolicy", "libCudaLogLevel", "preConfiguredDeviceMemory", "runtimeClassName"});
constexpr auto vnpus_keys = std::to_array<std::string_view>({"hamiVnpuCore", "hamiVersion", "configs"});
constexpr auto vnpu_keys = std::to_array<std::string_view>(
    {"commonWord", "chipName", "resourceName", "resourceMemoryName", "resourceCoreName", "memoryAllocatable",
     "memoryCapacity", "memoryFactor", "superPod", "aiCore", "aiCPU", "templates"});
constexpr auto other_vnpu_keys = std::to_array<std::string_view>({"overwriteEnv", "runtimeClassName"});

std::vector<std::string> read_texts(const cursor& list) {
    std::vector<std::string> texts;
    for (const cursor& item : list.items(1)) texts.push_back(item.filled_text());
    return texts;
}

mig_kind read_kind(const cursor& from) {
    from.only({"name", "memory", "count"});
    return {.name = from.at("name").filled_text(),
            .memory = mib{from.at("memory").integer(positive)},
            .count = from.at("count").integer({1, volcano_vgpu::mig_slots_max})};
}

mig_group read_group(const cursor& from) {
    from.only({"group", "geometries"});
    mig_group group{.name = from.at("group").filled_text(), .kinds = {}};
    if (group.name.find_first_of("[]:;,") != std::string::npos) {
        from.at("group").fail(error_code::malformed, "a name without any of []:;, because ids of instances have it");
    }
    for (const cursor& kind : from.at("geometries").items(1)) group.kinds.push_back(read_kind(kind));
    return group;
}

volcano_vgpu::geometry read_geometry(const cursor& from) {
    from.only({"models", "allowedGeometries"});
    volcano_vgpu::geometry result;
    result.models = read_texts(from.at("models"));
    std::int64_t slots = 0;
    for (const cursor& group : from.at("allowedGeometries").items(1)) {
        result.groups.push_back(read_group(group));
        for (const mig_kind& kind : result.groups.back().kinds) slots += kind.count;
    }
    if (slots > volcano_vgpu::mig_slots_max) {
        from.at("allowedGeometries")
            .fail(error_code::out_of_range,
                  "at most " + std::to_string(volcano_vgpu::mig_slots_max) + " instances over all groups");
    }
    return result;
}

/// A factor such as 1 or 1.8, in percent.
std::int64_t read_scaling(const cursor& from, std::string_view key) {
    constexpr std::int64_t unscaled = 100;
    if (!from.has(key)) return unscaled;
    const std::int64_t percent = from.at(key).hundredths({0, scaling_max});
    if (percent == 0) from.at(key).fail(error_code::out_of_range, "a factor above 0");
    return percent;
}

/// Both schedulers call their section `nvidia` (volcano_config.hpp).
bool is_of_hami(const cursor& from) {
    const auto has = [&from](std::string_view key) { return from.has(key); };
    if (has("memoryFactor") || has("migProfileAllowlist") || std::ranges::any_of(other_nvidia_keys, has)) return true;
    return !has("gpuMemoryFactor") && from.maybe_text("resourceCountName").starts_with(hami_resources);
}

void read_plugin(const cursor& from, nvidia_plugin_config& plugin) {
    plugin.priority_name = from.maybe_text("resourcePriorityName");
    plugin.overwrite_env = read_flag(from, "overwriteEnv");
    plugin.memory_default = mib{from.maybe_integer("defaultMemory", amounts).value_or(0)};
    plugin.cores_default = core_percent{from.maybe_integer("defaultCores", amounts).value_or(0)};
    plugin.count_default = from.maybe_integer("defaultGPUNum", amounts).value_or(plugin.count_default);
    plugin.split_count = from.maybe_integer("deviceSplitCount", positive).value_or(plugin.split_count);
    plugin.memory_scaling_percent = read_scaling(from, "deviceMemoryScaling");
    plugin.cores_scaling_percent = read_scaling(from, "deviceCoreScaling");
    plugin.disable_core_limit = read_flag(from, "disableCoreLimit");
    plugin.pass_device_specs = read_flag(from, "passDeviceSpecs");
}

/// 0 stands for no factor, as it does upstream.
std::int64_t read_factor(const cursor& from, std::string_view key, number_range range) {
    return std::max<std::int64_t>(from.maybe_integer(key, range).value_or(1), 1);
}

/// The names of the resources, which the options of both dialects call alike.
template <class Options>
void read_names(const cursor& from, Options& to) {
    to.count_name = from.maybe_text("resourceCountName");
    to.memory_name = from.maybe_text("resourceMemoryName");
    to.cores_name = from.maybe_text("resourceCoreName");
    to.memory_percentage_name = from.maybe_text("resourceMemoryPercentageName");
}

void read_allowlist(const cursor& list, hami::options& to) {
    for (const cursor& entry : list.items(0)) {
        entry.only({"models", "profiles"});
        to.mig_allowlist.push_back(
            {.models = read_texts(entry.at("models")), .profiles = read_texts(entry.at("profiles"))});
    }
}

void read_hami(const cursor& from, device_config& to) {
    hami::options& configured = to.hami.emplace();
    read_names(from, configured);
    configured.memory_factor = read_factor(from, "memoryFactor", factors);
    configured.memory_default = to.nvidia.memory_default; // HAMi's factor is for what pods say
    configured.cores_default = to.nvidia.cores_default;
    configured.count_default = to.nvidia.count_default;
    if (from.has("migProfileAllowlist")) read_allowlist(from.at("migProfileAllowlist"), configured);
    for (const std::string_view key : {"gpuMemoryFactor", "knownMigGeometries"}) {
        if (!from.has(key)) continue;
        to.warnings.push_back(
            from.at(key).problem(error_code::unsupported, "a key of HAMi's section; it was not read"));
    }
}

void read_volcano(const cursor& from, volcano_vgpu::options& to) {
    read_names(from, to);
    to.memory_factor = read_factor(from, "gpuMemoryFactor", amounts);
    if (!from.has("knownMigGeometries")) return;
    for (const cursor& geometry : from.at("knownMigGeometries").items(0))
        to.geometries.push_back(read_geometry(geometry));
}

void read_nvidia(const cursor& from, device_config& to) {
    check_keys(from, nvidia_keys, other_nvidia_keys, to.warnings);
    read_plugin(from, to.nvidia);
    if (is_of_hami(from)) {
        read_hami(from, to);
    } else {
        to.names_vgpu = true;
        read_volcano(from, to.vgpu);
    }
}

npu_template read_template(const cursor& from) {
    from.only({"name", "memory", "aiCore", "aiCPU"});
    return {.name = from.at("name").filled_text(),
            .memory = mib{from.at("memory").integer(positive)},
            .ai_core = from.at("aiCore").integer(amounts),
            .ai_cpu = from.maybe_integer("aiCPU", amounts).value_or(0)};
}

vnpu_config read_vnpu(const cursor& from, std::vector<error>& warnings) {
    check_keys(from, vnpu_keys, other_vnpu_keys, warnings);
    vnpu_config entry{.chip_name = from.maybe_text("chipName"),
                      .resource_name = from.at("resourceName").filled_text(),
                      .resource_memory_name = from.maybe_text("resourceMemoryName"),
                      .resource_core_name = from.maybe_text("resourceCoreName"),
                      .memory_factor = read_factor(from, "memoryFactor", factors),
                      .super_pod = read_flag(from, "superPod"),
                      .kind = {.name = from.at("commonWord").filled_text(),
                               .memory_allocatable = mib{from.at("memoryAllocatable").integer(positive)},
                               .memory_capacity = mib{from.at("memoryCapacity").integer(positive)},
                               .ai_core = from.at("aiCore").integer(amounts),
                               .ai_cpu = from.maybe_integer("aiCPU", amounts).value_or(0),
                               .templates = {}}};
    if (!from.has("templates")) return entry;
    std::set<std::string> names;
    for (const cursor& item : from.at("templates").items(0)) {
        entry.kind.templates.push_back(read_template(item));
        if (!names.insert(entry.kind.templates.back().name).second && !item.failed()) {
            item.at("name").fail(error_code::duplicate, "a name that no template before has");
        }
    }
    return entry;
}

/// Of a version of HAMi ("2.9", "v2.10.0"): whether it is 2.10 or later.
bool is_from_2_10(const cursor& from) {
    const std::string written = from.filled_text();
    std::string_view rest{written};
    if (rest.starts_with('v')) rest.remove_prefix(1);
    std::array<std::int64_t, 2> numbers{};
    const char* at = rest.data();
    const char* const end = rest.data() + rest.size();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto [next, problem] = std::from_chars(at, end, numbers[i]);
        const bool goes_on = i + 1 < numbers.size() ? next != end && *next == '.' : next == end || *next == '.';
        if (problem != std::errc{} || numbers[i] < 0 || !goes_on) {
            if (!from.failed()) from.fail(error_code::malformed, "a version of HAMi in quotes, such as \"2.10\"");
            return false;
        }
        at = next == end ? next : next + 1;
    }
    return numbers >= std::array<std::int64_t, 2>{2, 10};
}

void read_vnpus(const cursor& list, device_config& to) {
    std::set<std::string> words;
    for (const cursor& item : list.items(0)) {
        to.vnpus.push_back(read_vnpu(item, to.warnings));
        if (!words.insert(to.vnpus.back().kind.name).second && !item.failed()) {
            item.at("commonWord").fail(error_code::duplicate, "a word that no entry before has");
        }
    }
}

/// The fields of plugin_arguments that are true or false.
struct flag_argument {
    std::string_view name;
    bool plugin_arguments::* field;
};
constexpr std::array flag_arguments{
    flag_argument{"deviceshare.GPUSharingEnable", &plugin_arguments::gpu_sharing},
    flag_argument{"deviceshare.GPUNumberEnable", &plugin_arguments::gpu_number},
    flag_argument{"deviceshare.VGPUEnable", &plugin_arguments::vgpu},
    flag_argument{"deviceshare.NodeLockEnable", &plugin_arguments::node_lock},
    flag_argument{"deviceshare.AscendMindClusterVNPUEnable", &plugin_arguments::mindcluster_vnpu},
    flag_argument{"deviceshare.AscendHAMiVNPUEnable", &plugin_arguments::hami_vnpu},
};
struct text_argument {
    std::string_view name;
    std::string plugin_arguments::* field;
};
constexpr std::array text_arguments{
    text_argument{"deviceshare.SchedulePolicy", &plugin_arguments::schedule_policy},
    text_argument{"deviceshare.KnownGeometriesCMName", &plugin_arguments::config_map_name},
    text_argument{"deviceshare.KnownGeometriesCMNamespace", &plugin_arguments::config_map_namespace},
};
constexpr std::string_view weight_argument = "deviceshare.ScheduleWeight";
constexpr std::string_view rules_argument = "deviceshare.GPUExclusiveRules";

/// The arguments of plugin vgpualloc that deviceshare does not have.
constexpr std::string_view deviceshare_prefix = "deviceshare.";
constexpr std::string_view own_policy_argument = "vgpualloc.policy";
constexpr std::string_view own_device_policy_argument = "vgpualloc.device-policy";
constexpr std::string_view own_weight_argument = "vgpualloc.weight";
constexpr std::string_view own_log_argument = "vgpualloc.decision-log";
constexpr std::string_view own_log_limit_argument = "vgpualloc.decision-log-max-mib";

error argument_error(error_code code, std::string_view name, std::string_view value, std::string expected) {
    return bad_value(code, name, value.empty() ? "\"\"" : std::string{value}, std::move(expected));
}

error unknown_argument(const std::string& name, const std::string& known) {
    return bad_input(error_code::unknown_name, name, "unknown argument, the arguments are " + known);
}

std::optional<error> read_rules(const std::string& written, plugin_arguments& to) {
    const auto document = vgpuformats::parse_json(written, rules_argument);
    if (!document) return document.error();
    std::optional<error> failure;
    const cursor root{*document, rules_argument, failure};
    for (const cursor& rule : root.items(0)) {
        kubernetes::text_map& labels = to.exclusive_rules.emplace_back();
        for (const auto& [label, value] : rule.entries()) labels.emplace(label, value.text());
    }
    return failure;
}

std::optional<error> read_weight(const std::string& written, plugin_arguments& to) {
    const bool negative = written.starts_with('-');
    const auto value = text::whole_number(std::string_view{written}.substr(negative ? 1 : 0), amounts.most);
    if (!value) return argument_error(error_code::malformed, weight_argument, written, "a whole 32-bit number");
    to.schedule_weight = negative ? -*value : *value;
    return std::nullopt;
}

std::string known_arguments() {
    std::string all;
    for (const auto& argument : flag_arguments) all += std::string{argument.name} + ", ";
    for (const auto& argument : text_arguments) all += std::string{argument.name} + ", ";
    return all + std::string{weight_argument} + ", " + std::string{rules_argument};
}

std::optional<error> read_argument(const std::string& name, const std::string& written, plugin_arguments& to) {
    if (const auto* const flag = std::ranges::find(flag_arguments, name, &flag_argument::name);
        flag != flag_arguments.end()) {
        const auto value = text::truth(written);
        if (!value) return argument_error(error_code::malformed, name, written, "true or false");
        to.*(flag->field) = *value;
        return std::nullopt;
    }
    if (const auto* const entry = std::ranges::find(text_arguments, name, &text_argument::name);
        entry != text_arguments.end()) {
        to.*(entry->field) = written;
        return std::nullopt;
    }
    if (name == weight_argument) return read_weight(written, to);
    if (name == rules_argument) return read_rules(written, to);
    return unknown_argument(name, known_arguments());
}

std::optional<error> read_log_limit(const std::string& written, vgpualloc_arguments& to) {
    const auto limit = text::whole_number(written, std::numeric_limits<std::uint32_t>::max());
    if (!limit) {
        return argument_error(error_code::malformed, own_log_limit_argument, written,
                              "a whole number of MiB, or 0 for no limit");
    }
    to.decision_log_mib_max = *limit;
    return std::nullopt;
}

/// The one of our own weight or deviceshare's, which may be a fraction here.
std::optional<error> read_own_weight(const std::string& name, const std::string& written, vgpualloc_arguments& to) {
    const char* const end = written.data() + written.size();
    const auto [stop, failure] = std::from_chars(written.data(), end, to.weight);
    if (failure == std::errc{} && stop == end && to.weight >= 0.0 && std::isfinite(to.weight)) return std::nullopt;
    return argument_error(error_code::malformed, name, written, "a number that is not below 0");
}

} // namespace

expected<device_config> parse_device_config(std::string_view json, std::string_view name) {
    const auto document = vgpuformats::parse_json(json, name);
    if (!document) return unexpected(document.error());
    std::optional<error> failure;
    const cursor root{*document, name, failure};
    device_config config;
    if (root.has("flags") || root.has("sharing")) {
        config.nvidia_plugin = read_own_plugin(root, config.warnings);
        if (failure) return unexpected(*failure);
        return config;
    }
    check_keys(root, root_keys, other_vendors, config.warnings);
    // Some other file, whose keys would all be passed over with a warning.
    if (document->size() > 0 && config.warnings.size() == document->size()) {
        root.fail(error_code::missing,
                  "a device configuration, which has a section nvidia or vnpus, or the own one of NVIDIA's device "
                  "plugin, which has a section flags or sharing");
    }
    if (root.has("nvidia")) {
        read_nvidia(root.at("nvidia"), config);
    } else if (!failure) {
        // Nothing of Volcano's is configured here; with_device_config() keeps what it has of it.
        config.vgpu.count_name = config.vgpu.memory_name = config.vgpu.cores_name = config.vgpu.memory_percentage_name =
            "";
    }
    if (root.has("vnpus")) {
        const cursor vnpus = root.at("vnpus");
        config.names_npus = true;
        if (document->find("vnpus")->is_list()) {
            read_vnpus(vnpus, config);
        } else {
            check_keys(vnpus, vnpus_keys, {}, config.warnings);
            config.hami_vnpu_core = read_flag(vnpus, "hamiVnpuCore");
            if (vnpus.has("hamiVersion")) config.npus_of_hami_2_10 = is_from_2_10(vnpus.at("hamiVersion"));
            if (vnpus.has("configs")) read_vnpus(vnpus.at("configs"), config);
        }
    }
    if (failure) return unexpected(*failure);
    return config;
}

bool is_enabled(const plugin_arguments& arguments, std::string_view name) {
    const auto* const flag = std::ranges::find(flag_arguments, name, &flag_argument::name);
    return flag != flag_arguments.end() && arguments.*(flag->field);
}

bool enables_something(const plugin_arguments& arguments) {
    return arguments.gpu_sharing || arguments.gpu_number || arguments.vgpu || arguments.mindcluster_vnpu ||
           arguments.hami_vnpu;
}

expected<plugin_arguments> parse_plugin_arguments(const kubernetes::text_map& arguments) {
    plugin_arguments result;
    for (const auto& [name, written] : arguments) {
        if (const auto failure = read_argument(name, written, result)) return unexpected(*failure);
    }
    const std::string& policy = result.schedule_policy;
    if (!policy.empty() && policy != "binpack" && policy != "spread") {
        return unexpected(
            argument_error(error_code::unknown_name, "deviceshare.SchedulePolicy", policy, "binpack or spread"));
    }
    if (!policy.empty() && !arguments.contains(std::string{weight_argument})) {
        result.schedule_weight = 1;
        result.weight_assumed = true;
    }
    if ((result.gpu_sharing && result.gpu_number) || (result.vgpu && (result.gpu_sharing || result.gpu_number))) {
        return unexpected(bad_value(error_code::unsupported, "deviceshare", "",
                                    "at most one of GPUSharingEnable, GPUNumberEnable and VGPUEnable"));
    }
    return result;
}

expected<vgpualloc_arguments> parse_vgpualloc_arguments(const kubernetes::text_map& arguments) {
    vgpualloc_arguments result;
    kubernetes::text_map of_deviceshare;
    for (const auto& [name, written] : arguments) { // by name: of both weights ours comes later, and counts
        if (name == own_policy_argument) {
            result.policy = written;
        } else if (name == own_device_policy_argument) {
            result.device_policy = written;
        } else if (name == own_log_argument) {
            result.decision_log = written;
        } else if (name == own_log_limit_argument) {
            if (auto failure = read_log_limit(written, result)) return unexpected(*std::move(failure));
        } else if (name == own_weight_argument || name == weight_argument) {
            if (auto failure = read_own_weight(name, written, result)) return unexpected(*std::move(failure));
        } else if (name.starts_with(deviceshare_prefix)) {
            of_deviceshare.emplace(name, written);
        } else {
            std::string known = known_arguments();
            for (const std::string_view own : {own_policy_argument, own_device_policy_argument, own_weight_argument,
                                               own_log_argument, own_log_limit_argument}) {
                known += ", " + std::string{own};
            }
            return unexpected(unknown_argument(name, known));
        }
    }
    auto deviceshare = parse_plugin_arguments(of_deviceshare);
    if (!deviceshare) return unexpected(std::move(deviceshare).error());
    result.deviceshare = *std::move(deviceshare);
    if (result.policy.empty()) result.policy = result.deviceshare.schedule_policy;
    return result;
}

} // namespace vgpualloc::dialects::volcano
