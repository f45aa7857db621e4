// Requests that can be read, but that no cluster serves.
#include "request_limits.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "../kube/dialects.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/ascend_vir.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::rejection_code;

namespace {

error problem(error_code code, const understood_request& of, std::string field, std::string value,
              std::string expected) {
    return {.code = code,
            .where = "container " + of.container,
            .field = std::move(field),
            .value = std::move(value),
            .expected = std::move(expected)};
}

/// Percent of one card; more than all of it fits nowhere.
void check_percent(const understood_request& of, const std::string& resource, std::int64_t value, object_report& to) {
    constexpr std::int64_t most = 100;
    if (value <= most) return;
    add_error(to, problem(error_code::out_of_range, of, resource, std::to_string(value),
                          "at most 100, percent of one card; no card serves more"));
}

void check_vgpu(const understood_request& of, const validate_options& with, object_report& to) {
    const device_request& asked = of.asked;
    check_percent(of, with.vgpu.memory_percentage_name, asked.memory_percent.value_or(0), to);
    check_percent(of, with.vgpu.cores_name, asked.cores.count(), to);
    if (asked.mode.empty() || vgpualloc::find_mode(asked.mode)) return;
    const auto equals = asked.mode.find('='); // what the dialect makes of a text that names no mode
    add_error(to, problem(error_code::unknown_name, of, asked.mode.substr(0, equals), asked.mode.substr(equals + 1),
                          "hami-core, mig or mps; no card is in another mode"));
}

/// What an idle card of that kind answers, on a node that can limit in software as well or not.
vgpualloc::rejection_detail answer_of(const vgpualloc::npu_kind& kind, bool soft, const device_request& asked) {
    const auto mode = vgpualloc::modes::make_ascend_vir(kind, soft);
    if (!mode) return {};
    vgpualloc::device_spec card;
    card.family = kind.name;
    card.memory = kind.memory_capacity;
    card.mode = mode->get();
    return (*mode)->why_not((*mode)->adapted(std::move(card)), {}, asked);
}

void check_npu(const understood_request& of, const vgpualloc::dialect::ascend_hami::kind& kind, object_report& to) {
    const auto names = resources_of(kind);
    const device_request& asked = of.asked;
    const auto at_best = answer_of(kind.npu, true, asked);
    if (at_best.code == rejection_code::insufficient_device_cores) {
        check_percent(of, names.core, asked.cores.count(), to);
    } else if (asked.memory > kind.npu.memory_capacity) {
        add_error(to, problem(error_code::out_of_range, of, names.memory, std::to_string(asked.memory.count()),
                              fmt::format("at most {} MiB, what one {} has", kind.npu.memory_capacity.count(),
                                          kind.npu.name)));
    } else if (at_best.code == rejection_code::request_not_valid) {
        add_error(to, problem(error_code::out_of_range, of, names.count, std::to_string(asked.count),
                              fmt::format("1 where {} asks for a part of a card ({} MiB); several are only given whole",
                                          names.memory, asked.memory.count())));
    } else if (const auto plain = answer_of(kind.npu, false, asked);
               !asked.soft && plain.code == rejection_code::insufficient_device_cores) {
        to.notes.push_back(
            fmt::format("container {}: {} {}: only nodes that can limit in software (hami-vnpu-core) give "
                        "it; on others a card has {} AI cores",
                        of.container, names.core, asked.cores.count(), plain.available));
    }
}

} // namespace

void check_limits(const std::string& dialect, const understood_request& of, const validate_options& with,
                  object_report& to) {
    if (dialect == "volcano_vgpu") check_vgpu(of, with, to);
    if (dialect != "ascend_hami") return;
    for (const auto& each : with.ascend.kinds) {
        if (each.npu.name == of.asked.family) check_npu(of, each, to);
    }
}

} // namespace vgpusim
