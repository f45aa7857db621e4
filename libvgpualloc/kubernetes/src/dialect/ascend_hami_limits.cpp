// The ascend_hami dialect: requests that can be read, but that no card, or only some nodes serve.
#include <algorithm>
#include <utility>

#include "ascend_hami_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"

namespace vgpualloc::dialects::ascend_hami {

namespace {

/// What an idle card of that kind answers, on a node that can limit in software as well or not.
rejection_detail answer_of(const npu_kind& npu, bool soft, const device_request& request, const idle_answer& ask) {
    device_registration card;
    card.family = npu.name;
    card.mode = mode_name;
    card.memory = npu.memory_allocatable;
    if (soft || npu.ai_core > 0) card.cores = soft ? whole_compute : core_percent{npu.ai_core};
    card.npu = npu;
    card.soft = soft;
    return ask(card, request);
}

void check_kind(const kind& npus, const device_request& request, const std::string& container, const idle_answer& ask,
                request_findings& findings) {
    const auto refuse = [&](const std::string& field, std::int64_t value, std::string expected_text) {
        findings.errors.push_back(
            bad_value(error_code::out_of_range, field, std::to_string(value), std::move(expected_text))
                .at("container " + container));
    };
    const auto at_best = answer_of(npus.npu, true, request, ask).code;
    if (at_best == rejection_code::insufficient_device_cores) {
        text::check_percent(npus.resource_core, request.cores.count(), container, findings);
        return;
    }
    if (request.memory > npus.npu.memory_capacity) {
        refuse(npus.resource_memory, request.memory.count(),
               "at most " + std::to_string(npus.npu.memory_capacity.count()) + " MiB, what one " + npus.npu.name +
                   " has");
        return;
    }
    if (at_best == rejection_code::request_not_valid) {
        refuse(npus.resource, request.count,
               "1 where " + npus.resource_memory + " asks for a part of a card (" +
                   std::to_string(request.memory.count()) + " MiB); several are only given whole");
        return;
    }
    if (request.memory > npus.npu.memory_allocatable) {
        findings.notes.push_back("container " + container + ": " + npus.resource_memory + " asks for " +
                                 std::to_string(request.memory.count()) + " MiB of each card; it gets a whole " +
                                 npus.npu.name + ", of which " + std::to_string(npus.npu.memory_allocatable.count()) +
                                 " MiB can be used");
    }
    const auto by_template = answer_of(npus.npu, false, request, ask);
    if (request.soft || by_template.code != rejection_code::insufficient_device_cores) return;
    findings.notes.push_back("container " + container + ": " + npus.resource_core + " " +
                             std::to_string(request.cores.count()) +
                             ": only nodes that can limit in software (hami-vnpu-core) give it; on others a card has " +
                             std::to_string(by_template.available) + " AI cores");
}

} // namespace

request_findings ascend_dialect::check(const device_request& request, const std::string& container,
                                       const idle_answer& ask) const {
    request_findings findings;
    for (const kind& npus : options_.kinds) {
        if (npus.npu.name == request.family) check_kind(npus, request, container, ask, findings);
    }
    return findings;
}

request_findings ascend_dialect::check_pod(const kubernetes::pod& pod) const {
    request_findings findings;
    for (const kubernetes::container* container : text::all_containers(pod)) {
        for (const kind& npus : options_.kinds) {
            text::check_amounts(*container, npus.resource, {}, mib{1}, findings);
            const auto cores = container->limits.find(npus.resource_core);
            if (!options_.slices_by_node || soft_pod(pod) || cores == container->limits.end()) continue;
            findings.errors.push_back(bad_value(error_code::unsupported, npus.resource_core,
                                                std::to_string(cores->second),
                                                "annotation huawei.com/vnpu-mode: hami-core beside it: HAMi's "
                                                "webhook denies the pod without, from 2.10 on")
                                          .at("container " + container->name));
        }
    }
    hami_text::check_privileged(pod, findings);
    return findings;
}

} // namespace vgpualloc::dialects::ascend_hami
