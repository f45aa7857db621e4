// A cluster at one moment: what is used, free and out of service, which shapes more pods could have, who uses it and
// who waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/largest.hpp"
#include "vgpuops/show/rounding.hpp"
#include "vgpuops/show/verdict.hpp"

namespace vgpuops::show {

/// GPUs of one pool and kind. Milli-GPU.
struct pool_row {
    std::string pool{}; ///< empty: its nodes have no pool label
    std::string kind{};
    std::vector<std::string> nodes{}; ///< ascending
    std::int64_t gpus = 0;
    three_parts parts{}; ///< used, free, out of service
    std::int64_t memory_mib = 0;
    std::int64_t memory_used_mib = 0;
    std::vector<largest_part> largest{};
    std::vector<std::pair<std::string, std::string>> out_because{}; ///< reason and node, each once
};

/// What is idle of the wrong kind, by what excludes it.
struct wrong_kinds {
    std::int64_t model = 0;
    std::int64_t layout = 0;
    std::int64_t rules = 0;
};

/// Pods that ask for the same with the same rules.
struct shape_row {
    std::string name{};
    std::map<std::string, std::int64_t> asks{}; ///< device resources, as the first pod has them
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::vector<std::string> rules{};
    std::int64_t run = 0;
    std::int64_t wait = 0;
    std::int64_t more = 0; ///< pods that fit, if those that wait are not there
    vgpualloc::idle_parts idle{};
    wrong_kinds wrong{};
    verdict first_verdict = verdict::fits_now; ///< of its pods that wait, the first in the order of the list
};

struct quota_amount {
    std::string resource{}; ///< "nvidia.com/gpu"
    std::string used{};     ///< as written; empty: the object does not say it
    std::string hard{};
};

/// Pods of one namespace. Milli-GPU.
struct user_row {
    std::string name{};
    std::int64_t run = 0;
    std::int64_t used = 0;
    std::int64_t wait = 0;
    std::int64_t asked = 0;
    std::vector<quota_amount> quotas{};
};

struct waiting_pod {
    std::string name{}; ///< with its namespace
    verdict why = verdict::never;
    std::string since{}; ///< as its object has it; empty: not said
};

struct overview {
    std::int64_t nodes_all = 0; ///< also those without GPUs
    std::int64_t nodes = 0;     ///< with GPUs
    std::int64_t gpus = 0;
    three_parts parts{};
    std::int64_t pods_all = 0; ///< also those without devices, and those that wait
    std::int64_t pods_run = 0; ///< with devices
    std::int64_t pods_wait = 0;
    std::vector<pool_row> rows{};    ///< by their first node
    std::vector<shape_row> shapes{}; ///< those that wait first, by verdict; then by how many run
    vgpualloc::idle_parts mean{};    ///< over the pods of all shapes
    std::int64_t mean_run = 0;       ///< pods of shapes
    std::int64_t mean_wait = 0;
    std::vector<user_row> users{};      ///< who uses most first
    std::vector<waiting_pod> waiting{}; ///< by name
    std::vector<std::string> not_looked_at{};
    std::vector<std::string> looked_for{}; ///< resources, where no node has a GPU
    std::vector<error> warnings{};         ///< of the snapshot
};

/// Errors: those of make_snapshot(); stopped.
[[nodiscard]] expected<overview> overview_of(const std::vector<kube::manifest>& objects,
                                             const vgpualloc::dialect_set& dialects, const stop_signal& stop = {});

/// Aligned tables, of which each adds up as it is printed; and a document (docs/show.md names the members).
[[nodiscard]] std::string overview_text(const overview& seen);
[[nodiscard]] std::string overview_json(const overview& seen);

} // namespace vgpuops::show
