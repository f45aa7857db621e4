// Volcano's scheduler configuration: what its plugin deviceshare is told, or ours in its place.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc::kube {

/// The one of the two plugins that the configuration has.
struct scheduler_config {
    /// Arguments of plugin vgpualloc; none: the plugin is deviceshare.
    std::optional<dialects::volcano::vgpualloc_arguments> own{};
    /// Those of deviceshare, which vgpualloc takes as well.
    dialects::volcano::plugin_arguments deviceshare{};
    std::map<std::string, std::string, std::less<>> places{}; ///< "file:line: plugin <name>" by argument that is given

    /// What is wrong with the value of an argument that is given, with its place.
    [[nodiscard]] error refusal_of(std::string_view argument, error problem) const;
};

/// Reads volcano-scheduler.conf itself, or a ConfigMap that holds it under a key that ends with ".conf". `name` is the
/// file's, for errors: malformed, missing (neither plugin), duplicate (one of them twice), unsupported (both of them),
/// and those of parse_plugin_arguments() and parse_vgpualloc_arguments(), with file, line and plugin.
[[nodiscard]] expected<scheduler_config> parse_scheduler_config(const std::string& text, const std::string& name);

} // namespace vgpualloc::kube
