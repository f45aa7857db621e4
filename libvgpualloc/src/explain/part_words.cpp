// Partitions in words.
#include "part_words.hpp"

#include <fmt/format.h>

#include "vgpualloc/mode/ascend_vir.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"

namespace vgpualloc::explaining {

namespace {

/// A slice is software's: its compute is in percent, also on an NPU.
explained_part slice_words(const slice& part) {
    const std::string compute =
        part.cores.count() == 0 ? "compute not limited" : fmt::format("{} % of compute", part.cores.count());
    return {.kind = "slice",
            .name = {},
            .group = {},
            .memory = part.memory,
            .cores = part.cores.count(),
            .words = fmt::format("slice {} MiB, {}", part.memory.count(), compute)};
}

explained_part whole_words(const device_spec& spec) {
    return {.kind = "whole_device",
            .name = {},
            .group = {},
            .memory = spec.memory,
            .cores = spec.cores.count(),
            .words = "the whole device"};
}

/// Kinds are numbered through all groups of the registered geometry; without one, profiles are the model's.
explained_part instance_words(const device_spec& spec, const device_registration& registered,
                              const mig_instance& part) {
    explained_part result{.kind = "mig_instance",
                          .name = {},
                          .group = {},
                          .start = static_cast<std::int64_t>(part.start),
                          .memory = {},
                          .cores = part.cores.count(),
                          .words = {}};
    if (const auto* by_model = dynamic_cast<const modes::mig*>(spec.mode); by_model != nullptr) {
        const auto& profile = by_model->model().profiles[part.profile];
        result.name = profile.name;
        result.memory = charged_memory(by_model->model(), profile, spec.memory);
        result.words = fmt::format("mig {} at placement {}", result.name, part.start);
        return result;
    }
    std::size_t number = 0;
    for (const auto& group : registered.geometry) {
        for (const auto& kind : group.kinds) {
            if (number++ != part.profile) continue;
            result.name = kind.name;
            result.group = group.name;
            result.memory = kind.memory;
            result.words = fmt::format("mig {} at slot {} of group {}", kind.name, part.start, group.name);
        }
    }
    return result;
}

explained_part template_words(const device_spec& spec, const vir_template& part) {
    explained_part result{.kind = "vir_template",
                          .name = {},
                          .group = {},
                          .memory = part.memory,
                          .cores = part.cores.count(),
                          .words = {}};
    if (const auto* npu = dynamic_cast<const modes::ascend_vir*>(spec.mode); npu != nullptr) {
        const auto& known = npu->kind().templates;
        result.name = part.index < known.size() ? known[part.index].name : "";
        result.words = result.name.empty() ? fmt::format("the whole card, {} MiB", part.memory.count())
                                           : fmt::format("template {}, {} MiB", result.name, part.memory.count());
        return result;
    }
    using modes::mindcluster_310p;
    if (part.index < mindcluster_310p::rows.size()) result.name = mindcluster_310p::rows[part.index].name;
    result.words =
        fmt::format("template {}, {} AI {}", result.name, result.cores, result.cores == 1 ? "core" : "cores");
    return result;
}

} // namespace

explained_part describe_part(const device_spec& spec, const device_registration& registered, const partition& part) {
    if (const auto* cut = std::get_if<slice>(&part)) return slice_words(*cut);
    if (const auto* cut = std::get_if<mig_instance>(&part)) return instance_words(spec, registered, *cut);
    if (const auto* cut = std::get_if<vir_template>(&part)) return template_words(spec, *cut);
    return whole_words(spec);
}

std::string unit_of(rejection_code code, const device_spec* spec, const device_request* request) {
    const std::string_view mode = spec == nullptr ? "" : spec->mode->name();
    const bool by_model = spec != nullptr && dynamic_cast<const modes::mig*>(spec->mode) != nullptr;
    const bool in_percent = by_model && request != nullptr && request->memory_percent.has_value();
    const bool in_ai_cores =
        mode == "mindcluster_310p" || (mode == "ascend_vir" && request != nullptr && !request->soft);
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
        return in_percent ? "%" : "MiB";
    case rejection_code::request_not_valid:
        if (mode == "mindcluster_310p") return "AI cores";
        return mode == "cce" ? "" : "MiB";
    case rejection_code::insufficient_device_cores:
        return in_ai_cores ? "AI cores" : "%";
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

} // namespace vgpualloc::explaining
