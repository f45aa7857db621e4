// Plugin deviceshare's rankings.
#include "vgpualloc/explain/deviceshare.hpp"

#include <utility>

#include "vgpualloc/policy/deviceshare.hpp"

namespace vgpualloc::explaining {

std::unique_ptr<policy> make_deviceshare_policy(deviceshare_ranking ranking, deviceshare_options options) {
    const auto order = policies::deviceshare_order_of(options.policy);
    switch (ranking) {
    case deviceshare_ranking::gpus:
        return std::make_unique<policies::deviceshare_vgpu>(order, options.weight);
    case deviceshare_ranking::npus:
        return std::make_unique<policies::deviceshare_ascend>(order, options.weight);
    case deviceshare_ranking::npu_chips:
        return std::make_unique<policies::deviceshare_310p>(options.weight, std::move(options.extended),
                                                            std::move(options.extended_booked));
    case deviceshare_ranking::first_fit:
        break;
    }
    return std::make_unique<policies::first_devices>();
}

} // namespace vgpualloc::explaining
