// Reading the options of living clusters.
#include "vgpualloc/live/live_options.hpp"

#include <string>
#include <utility>

#include "live/parts.hpp"
#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc {

expected<kube::scheduler_config> read_scheduler_config(const std::string& text, const std::string& name,
                                                       std::span<const policy_entry> policies) {
    auto scheduler = kube::parse_scheduler_config(text, name);
    if (!scheduler || !scheduler->own) return scheduler;
    const auto& own = *scheduler->own;
    live_options options{.device_policy = own.device_policy, .policies = policies};
    if (!own.policy.empty()) options.policy = own.policy;
    auto possible = make_live_policies(options, {}, {});
    if (possible) return scheduler;
    // SchedulePolicy of deviceshare has two values that are both policies.
    const bool is_device = possible.error().field == "device_policy";
    return unexpected(
        scheduler->refusal_of(is_device ? "vgpualloc.device-policy" : "vgpualloc.policy", std::move(possible).error()));
}

expected<live_options> read_live_options(const live_option_texts& texts, const live_option_names& names,
                                         std::span<const policy_entry> policies) {
    live_options result{.policies = policies};
    if (texts.policy) result.policy = *texts.policy;
    if (texts.device_policy) result.device_policy = *texts.device_policy;
    auto catalog = built_in_catalog();
    if (texts.catalog) {
        const auto file = vgpuformats::parse_json(*texts.catalog, names.catalog);
        if (!file) return unexpected(file.error());
        auto merged = merge_file(catalog, *file, names.catalog);
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
        auto scheduler = read_scheduler_config(*texts.scheduler_config, names.scheduler_config, policies);
        if (!scheduler) return unexpected(std::move(scheduler).error());
        if (scheduler->own && !texts.policy && !scheduler->own->policy.empty()) result.policy = scheduler->own->policy;
        if (scheduler->own && !texts.device_policy) result.device_policy = scheduler->own->device_policy;
        apply_arguments(scheduler->deviceshare, result.config);
        result.deviceshare = std::move(scheduler->deviceshare);
    }
    return result;
}

} // namespace vgpualloc
