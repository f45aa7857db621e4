#include "vgpualloc/alloc/refusal.hpp"

namespace vgpualloc {

namespace {

std::string_view word_of(amount_unit unit) {
    switch (unit) {
    case amount_unit::memory_mib:
        return "MiB";
    case amount_unit::percent:
        return "%";
    case amount_unit::ai_cores:
        return "AI cores";
    case amount_unit::replicas:
        return "replicas";
    case amount_unit::none:
        break;
    }
    return "";
}

} // namespace

std::string_view unit_of(rejection_code code, const device_spec* spec, const device_request* request) {
    switch (code) {
    case rejection_code::too_many_pods:
        return "pods";
    case rejection_code::insufficient_cpu:
        return "mCPU";
    case rejection_code::insufficient_memory:
        return "MiB";
    case rejection_code::insufficient_device_memory:
    case rejection_code::no_free_instance:
    case rejection_code::instance_memory_unknown:
    case rejection_code::request_not_valid:
    case rejection_code::insufficient_device_cores:
        if (spec != nullptr && request != nullptr) return word_of(spec->mode->unit_of(code, *request));
        return code == rejection_code::insufficient_device_cores ? "%" : "MiB";
    case rejection_code::insufficient_device_cpus:
        return "AI CPUs";
    case rejection_code::insufficient_device_slots:
        return "slots";
    case rejection_code::too_few_devices:
        return "devices";
    default:
        return "";
    }
}

std::optional<std::size_t> closest_device(const node_decision& decision, rejection_code code) {
    std::optional<std::size_t> closest;
    for (std::size_t d = 0; d < decision.stopped_by.size(); ++d) {
        const auto& answer = decision.stopped_by[d];
        if (!answer || answer->refusal.code != code) continue;
        if (closest && answer->refusal.available <= decision.stopped_by[*closest]->refusal.available) continue;
        closest = d;
    }
    return closest;
}

} // namespace vgpualloc
