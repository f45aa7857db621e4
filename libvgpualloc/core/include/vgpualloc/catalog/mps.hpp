// How many clients of MPS a GPU can have at once, by CUDA version and compute capability.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

/// The CUDA version that a driver serves, as 13.1.
struct cuda_version {
    std::int64_t major_number = 0;
    std::int64_t minor_number = 0;

    auto operator<=>(const cuda_version&) const = default;
};

/// A limit, and the GPUs and drivers that it is of. A condition that is empty holds everywhere.
struct mps_limit {
    std::int64_t clients_max = 0; ///< CUDA contexts of clients on one GPU
    std::optional<std::int64_t> compute_major_least;
    std::optional<std::int64_t> compute_major_most;
    std::optional<cuda_version> cuda_least;
    provenance from;
};

struct mps_limits {
    std::vector<mps_limit> limits;   ///< the first whose conditions hold is the one
    std::int64_t clients_unsaid = 0; ///< where nobody says enough to know one
    source_list sources;             ///< what the codes of `from` stand for
};

/// Reads a file of limits (docs/catalog.md). `name` is how errors call it. The first thing wrong is the error. Codes:
/// malformed, missing, out_of_range, unknown_name.
[[nodiscard]] expected<mps_limits> read_mps_limits(const vgpuformats::document& file, std::string_view name);

/// The limits that this library knows without a file (data/mps-limits.json).
[[nodiscard]] const mps_limits& built_in_mps_limits();

/// The clients that a GPU can have, whose compute capability begins with `compute_major` (7 is Volta's), under a driver
/// that serves this CUDA version. Empty if no limit is known to hold: a condition on what nobody says does not.
[[nodiscard]] std::optional<std::int64_t> mps_clients_max(const mps_limits& limits, std::optional<cuda_version> cuda,
                                                          std::optional<std::int64_t> compute_major);

} // namespace vgpualloc
