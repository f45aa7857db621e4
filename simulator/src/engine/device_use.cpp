#include "vgpusim/engine/device_use.hpp"

#include <algorithm>

namespace vgpusim {

using vgpualloc::device_view;

std::vector<std::optional<power_draw>> power_of_kinds(const vgpualloc::device_kinds& cluster,
                                                      const vgpualloc::power_catalog& catalog) {
    std::vector<std::optional<power_draw>> power(cluster.kinds.size());
    for (std::size_t kind = 0; kind < power.size(); ++kind) {
        const vgpualloc::device_power* board = find_power(catalog, cluster.kinds[kind].model);
        if (board == nullptr || !board->is_known()) continue;
        power[kind] = {.idle = *board->idle_w, .busy = *board->busy_w};
    }
    return power;
}

const device_use& device_use_model::compute(const vgpualloc::device_config& config) {
    device_use sum;
    afresh_slices_.assign(profiles().size(), 0);
    for (const device_view* device : config.devices) {
        const vgpualloc::use_vector use = device->spec->mode->use(*device->spec, device->state);
        sum.memory_mib += use.memory.count();
        sum.compute_milli += device->spec->mode->used_compute(*device->spec, device->state).count();
        const bool is_off = device->service == vgpualloc::service_state::failed && device->is_idle();
        if (device->kind < power_.size() && power_[device->kind] && !is_off) {
            sum.watts += device->is_idle() ? power_[device->kind]->idle : power_[device->kind]->busy;
        }
        if (!profiles().empty()) stranded_.add(*device, afresh_slices_);
    }
    last_ = config.id;
    if (config.id == vgpualloc::not_interned) return afresh_ = sum;
    if (config.id >= known_.size()) {
        known_.resize(std::max<std::size_t>(config.id + 1, known_.size() * 2));
        slices_.resize(known_.size() * profiles().size());
    }
    known_[config.id] = {.use = sum, .known = true};
    std::ranges::copy(afresh_slices_, slices_.begin() + static_cast<std::ptrdiff_t>(config.id * profiles().size()));
    return known_[config.id].use;
}

} // namespace vgpusim
