// What jobs of a trace ask for instead of whole devices: rules of a scenario (docs/traces.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpusim/workload/input_reader.hpp"
#include "vgpusim/workload/pod_classes.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgpusim {

/// A rule: which jobs it is for, and what their pods ask for.
struct mapping_rule {
    std::int64_t devices_min = 0;
    std::int64_t devices_max = vgputraces::job_devices_max;
    std::optional<std::string> queue; ///< absent: any
    double fraction = 1.0;            ///< of the jobs that come to this rule and that it is for
    bool once_per_device = false;     ///< the pods are there for each device that the job asks for
    pod_class request;
};

/// Reads a list of rules, JSON: [{devices, queue, fraction, per, request}]. `devices` is a number or [least, most];
/// `per` is "job" or "device"; `request` is the path of a manifest, a manifest itself, or what one container asks for:
/// {count, profile, mode, memory_mib, memory_percent, cores_percent, models, cpu_milli, host_memory_mib}. Files that
/// rules name are recorded. Errors name the rule and its member, or the place in the manifest.
[[nodiscard]] expected<std::vector<mapping_rule>>
read_mapping(std::string_view text, const vgpualloc::dialect_set& dialects, input_reader& from);

/// The first rule for the job whose draw does not leave it out; null where there is none. Draws depend on the seed, the
/// job's row and the rule's position, so that what becomes of one job says nothing of another.
[[nodiscard]] const mapping_rule* rule_for(std::span<const mapping_rule> rules, const vgputraces::trace_job& job,
                                           std::uint64_t seed);

} // namespace vgpusim
