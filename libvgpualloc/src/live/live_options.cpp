// Reading the options of living clusters.
#include "vgpualloc/live/live_options.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"

namespace vgpualloc {

expected<live_options> read_live_options(const live_option_texts& texts, const live_option_names& names) {
    live_options result;
    if (texts.policy) result.policy = *texts.policy;
    if (texts.device_policy) result.device_policy = *texts.device_policy;
    auto catalog = built_in_catalog();
    if (texts.catalog) {
        auto merged = merge_file(catalog, *texts.catalog, names.catalog);
        if (!merged) return unexpected(std::move(merged).error());
        catalog = *std::move(merged);
    }
    result.config = make_dialect_config(catalog);
    if (texts.device_config) {
        auto config = kube::read_device_config(std::move(result.config), *texts.device_config, names.device_config);
        if (!config) return unexpected(std::move(config).error());
        result.config = *std::move(config);
    }
    if (texts.scheduler_config) {
        auto arguments = kube::parse_scheduler_config(*texts.scheduler_config, names.scheduler_config);
        if (!arguments) return unexpected(std::move(arguments).error());
        apply_arguments(*arguments, result.config);
        result.deviceshare = *std::move(arguments);
    }
    return result;
}

std::optional<error> check_served(const live_options& options, const dialect_set& dialects,
                                  const kube::snapshot_pod& pod) {
    const dialect* const spoken = dialects.find(pod.dialect);
    if (spoken == nullptr || !options.deviceshare) return std::nullopt;
    const std::string_view argument = spoken->deviceshare(pod.object).argument;
    if (argument == "AscendMindClusterVNPUEnable" && options.deviceshare->preset_virtual_devices) {
        return error{.code = error_code::unsupported,
                     .where = {},
                     .field = "presetVirtualDevice",
                     .value = "true",
                     .expected = "false: NPUs are cut as pods come"};
    }
    if (argument.empty() || !enables_something(*options.deviceshare) ||
        is_enabled(*options.deviceshare, "deviceshare." + std::string{argument})) {
        return std::nullopt;
    }
    return error{.code = error_code::unsupported,
                 .where = {},
                 .field = "dialect",
                 .value = pod.dialect,
                 .expected = "argument deviceshare." + std::string{argument} + ": true"};
}

} // namespace vgpualloc
