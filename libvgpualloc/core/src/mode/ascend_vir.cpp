// Vetting the templates of an NPU and making its mode.
#include "vgpualloc/mode/ascend_vir.hpp"

#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::modes {

namespace {

/// What is wrong with a table of templates, if anything. Where: "npu <name>".
std::optional<error> why_bad(const npu_kind& kind) {
    constexpr std::int64_t memory_mib_max = device_memory_max.count();
    constexpr std::int64_t units_max = ai_units_max;
    std::optional<error> result;
    const auto need = [&](const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
        if (result || (value >= least && value <= most)) return;
        result = bad_value(error_code::out_of_range, field, std::to_string(value),
                           std::to_string(least) + " to " + std::to_string(most))
                     .at("npu " + kind.name);
    };
    need("memory_allocatable", kind.memory_allocatable.count(), 1, memory_mib_max);
    need("memory_capacity", kind.memory_capacity.count(), kind.memory_allocatable.count(), memory_mib_max);
    need("ai_core", kind.ai_core, 0, units_max);
    need("ai_cpu", kind.ai_cpu, 0, units_max);
    need("templates", static_cast<std::int64_t>(kind.templates.size()), 0, ascend_vir::templates_max);
    for (const npu_template& cut : kind.templates) {
        need(cut.name + ".memory", cut.memory.count(), 1, memory_mib_max);
        need(cut.name + ".ai_core", cut.ai_core, 0, units_max);
        need(cut.name + ".ai_cpu", cut.ai_cpu, 0, units_max);
        const bool twice = std::ranges::count(kind.templates, cut.name, &npu_template::name) > 1;
        if (twice && !result) {
            result =
                bad_value(error_code::duplicate, "templates", cut.name, "every template once").at("npu " + kind.name);
        }
    }
    return result;
}

} // namespace

expected<std::shared_ptr<const ascend_vir>> make_ascend_vir(npu_kind kind, bool soft, bool soft_only) {
    if (auto bad = why_bad(kind)) return unexpected(*std::move(bad));
    return std::shared_ptr<const ascend_vir>{new ascend_vir{std::move(kind), soft, soft_only}};
}

expected<shared_mode> ascend_vir::make(const device_registration& device, const mig_catalog&) {
    return make_ascend_vir(device.npu, device.soft, device.soft_only);
}

device_registration ascend_vir::example() {
    device_registration card;
    card.mode = id;
    card.memory = mib{65536};
    card.cores = core_percent{20};
    card.slots = 4;
    card.npu = {.name = "Ascend910B3",
                .memory_allocatable = mib{65536},
                .memory_capacity = mib{65536},
                .ai_core = 20,
                .ai_cpu = 7,
                .templates = {{.name = "vir05_1c_16g", .memory = mib{16384}, .ai_core = 5, .ai_cpu = 1},
                              {.name = "vir10_3c_32g", .memory = mib{32768}, .ai_core = 10, .ai_cpu = 3}}};
    return card;
}

} // namespace vgpualloc::modes
