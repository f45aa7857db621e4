#include "other_modes.hpp"

#include <cstddef>

#include "vgpualloc/mode/all.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpuops::whatif {

vgpualloc::dialects::node_reading read_in(const own_devices& own, const std::string& mode) {
    std::vector<vgpualloc::device_registration> registered;
    for (const kube::snapshot_device* device : own.devices) {
        registered.push_back(device->registered);
        registered.back().mode = mode;
        registered.back().healthy = true; // what is read as unhealthy could not be made
    }
    auto written = *own.node;
    vgpualloc::kubernetes::text_map config_map;
    own.spoken->write_node(registered, written, config_map);
    return own.spoken->read_node({.object = written, .config_map = &config_map});
}

bool reads_all(const vgpualloc::dialects::node_reading& reading, const own_devices& own, const std::string& mode) {
    for (std::size_t d = 0; d < own.devices.size(); ++d) {
        const bool is_read = d < reading.devices.size() && reading.devices[d].mode == mode &&
                             reading.devices[d].uuid == own.devices[d]->registered.uuid;
        if (!is_read) return false;
    }
    return true;
}

error no_word_for(const mode_change& wanted, const own_devices& own) {
    const bool is_cut_by_layouts = own.spoken->name() == "nvidia"; // and not by a mode alone
    std::vector<std::string> possible;
    if (is_cut_by_layouts) possible = {"exclusive", "mig:LAYOUT"};
    for (const auto& entry : vgpualloc::mode_list) {
        const std::string mode{entry.name};
        if (is_cut_by_layouts && (mode == "exclusive" || mode == "mig")) continue;
        if (reads_all(read_in(own, mode), own, mode)) possible.push_back(mode);
    }
    return bad_value(error_code::unsupported, "node " + wanted.node, wanted.mode,
                     "a mode in which dialect " + std::string{own.spoken->name()} +
                         " registers such devices: " + vgpuformats::some_of(possible))
        .at("--set-mode");
}

} // namespace vgpuops::whatif
