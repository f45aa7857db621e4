// Why pods of one owner wait: a Deployment, a Job or whatever else made them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/waiting.hpp"

namespace vgpuops::why {

/// Pods that run.
struct running_pods {
    std::vector<std::string> names{}; ///< with their namespaces, ascending
    std::vector<std::string> nodes{}; ///< ascending, each once
    std::int64_t used_milli = 0;
};

struct owner_answer {
    std::string name{}; ///< with its namespace
    std::string kind{};
    running_pods running{};
    waiting_answer waiting{};                 ///< of its pods alone
    std::optional<show::held_job> not_made{}; ///< what keeps it from making more
    std::vector<counted_pod> counted{};       ///< for the quota of `not_made`
    std::vector<tried_change> changes{};      ///< after which one more is made; each alone is enough
};

/// An owner of pods with devices, by "namespace/name" or by its name if no owner of another namespace has it: any
/// object that made pods, or that made what made them. None: there is none. Errors: unknown_name for a name in several
/// namespaces, at "--pod"; those of make_snapshot(); stopped.
[[nodiscard]] expected<std::optional<owner_answer>> owner_of(const std::vector<kube::manifest>& objects,
                                                             const vgpualloc::dialect_set& dialects,
                                                             const std::string& name, const stop_signal& stop = {});

/// A sentence and a table; and a document (docs/why.md names the members). `inputs` are the arguments that name the
/// cluster.
[[nodiscard]] std::string owner_text(const owner_answer& answered, const std::vector<std::string>& inputs);
[[nodiscard]] std::string owner_json(const owner_answer& answered);

} // namespace vgpuops::why
