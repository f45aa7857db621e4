// Making the mode of an Ascend 310P.
#include "vgpualloc/mode/mindcluster_310p.hpp"

#include "errors.hpp"

namespace vgpualloc::modes {

expected<std::shared_ptr<const mindcluster_310p>> make_mindcluster_310p(core_percent cores_per_chip,
                                                                        std::int64_t ai_cpu) {
    const auto refuse = [](const char* field, std::int64_t value, const char* allowed) {
        return unexpected(out_of_range(field, value, allowed, mindcluster_310p::id));
    };
    if (cores_per_chip != core_percent{8} && cores_per_chip != core_percent{10}) {
        return refuse("cores_per_chip", cores_per_chip.count(), "8 or 10");
    }
    if (ai_cpu < 1 || ai_cpu > 100) return refuse("ai_cpu", ai_cpu, "1 to 100");
    return std::shared_ptr<const mindcluster_310p>{new mindcluster_310p{cores_per_chip, ai_cpu}};
}

expected<shared_mode> mindcluster_310p::make(const device_registration& device, const mig_catalog&) {
    constexpr std::int64_t ai_cpu_of_known_chips = 7;
    return make_mindcluster_310p(device.cores, device.npu.ai_cpu > 0 ? device.npu.ai_cpu : ai_cpu_of_known_chips);
}

device_registration mindcluster_310p::example() {
    device_registration chip;
    chip.mode = id;
    chip.memory = mib{21527};
    chip.cores = core_percent{8};
    chip.slots = 8;
    return chip;
}

} // namespace vgpualloc::modes
