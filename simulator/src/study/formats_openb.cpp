// Loading openb lists.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lists.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpusim/study/formats.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/openb.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim {

expected<void> check_paths(const run_config& config) {
    for (const auto& [path, key] : {std::pair{&config.nodes, "nodes"}, {&config.pods, "pods"}, {&config.out, "out"}}) {
        if (!path->empty()) continue;
        return unexpected(bad_input(error_code::missing, key, "missing", "a path"));
    }
    return {};
}

expected<const vgpualloc::sharing_mode*> openb_mode(const run_config& config) {
    const auto mode = vgpualloc::find_mode(config.mode);
    if (!mode) return unexpected(mode.error());
    // openb gives shares of a GPU, which says nothing to a mode that cuts by memory or by hardware.
    const std::string_view openb_modes[] = {"exclusive", "hami_core", "mps"};
    if (std::ranges::find(openb_modes, (*mode)->name()) == std::end(openb_modes)) {
        return unexpected(bad_value(error_code::unsupported, "mode", config.mode,
                                    "one of exclusive, hami_core, mps for openb lists"));
    }
    return *mode;
}

expected<loaded_input> load_openb(const run_config& config, input_reader& from) {
    const auto mode = openb_mode(config);
    if (!mode) return unexpected(mode.error());
    if (config.offered_load > 0.0 && !config.departures) {
        return unexpected(bad_value(error_code::unsupported, "offered_load", fmt::format("{}", config.offered_load),
                                    "departures beside it: a pod that stays has no duration"));
    }
    if (const auto present = check_paths(config); !present) return unexpected(present.error());
    loaded_input loaded;
    if (config.catalog.empty()) { // of the built-in catalog nothing else is needed, and the rest takes time to read
        loaded.power = vgpualloc::built_in_power_catalog();
    } else {
        auto catalog = load_catalog({config.catalog}, from);
        if (!catalog) return unexpected(std::move(catalog.error()));
        loaded.power = std::move(catalog->power);
    }
    const auto nodes = from.read_list(config.nodes, vgputraces::read_openb_nodes);
    if (!nodes) return unexpected(nodes.error());
    auto list = from.read_list(config.pods, [&](const vgpuformats::list_content& content, const std::string& name) {
        return vgputraces::read_openb_pods(content, name, {.skip_bad = config.skip_bad_rows});
    });
    if (!list) return unexpected(list.error());
    loaded.warnings = models_not_there(*nodes, list->pods);
    loaded.listed = list->pods.size();
    tell_skipped(list->skipped, from.records().back().path, loaded);
    auto input = build_openb_workload(*nodes, std::move(list->pods),
                                      {.tune = config.tune,
                                       .seed = config.seed,
                                       .offered_load = config.offered_load,
                                       .departures = config.departures,
                                       .mode = *mode,
                                       .stop = from.stop()});
    if (!input) return unexpected(input.error());
    loaded.input = *std::move(input);
    return loaded;
}

} // namespace vgpusim
