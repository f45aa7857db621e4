// Plugin deviceshare's rankings, by dialect.
#include "vgpualloc/explain/deviceshare.hpp"

#include <utility>

#include "vgpualloc/policy/deviceshare.hpp"

namespace vgpusim {

std::unique_ptr<vgpualloc::policy> make_deviceshare_policy(std::string_view dialect, deviceshare_ranking with) {
    namespace policies = vgpualloc::policies;
    const auto order = policies::deviceshare_order_of(with.policy);
    if (dialect == "volcano_vgpu") return std::make_unique<policies::deviceshare_vgpu>(order, with.weight);
    if (dialect == "ascend_hami") return std::make_unique<policies::deviceshare_ascend>(order, with.weight);
    if (dialect == "mindcluster") {
        return std::make_unique<policies::deviceshare_310p>(with.weight, std::move(with.ai_cores),
                                                            std::move(with.ai_cores_booked));
    }
    return std::make_unique<policies::first_fit>();
}

} // namespace vgpusim
