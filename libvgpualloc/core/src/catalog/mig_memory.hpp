// Between which amounts the memory of an instance is, also where no source says it.
#pragma once

#include <cstdint>
#include <optional>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc {

/// What every instance has at least of its share of the GPU's memory slices, in thousandths. The least that a driver
/// was seen to leave is 864.7, of a 1g.23gb of a GB200 (20480 MiB of 189471 / 8; GB200ISSUE in data/mig-profiles.json).
inline constexpr std::int64_t mig_memory_least_permille = 864;

struct mig_memory_bounds {
    mib at_least;               ///< usable in an instance; 0 where nothing is known
    std::optional<mib> at_most; ///< empty where nothing is known

    bool operator==(const mig_memory_bounds&) const = default;
};

/// Both are the memory of the profile where the catalog knows it. Otherwise the memory is no less than
/// mig_memory_least_permille of the share of the memory slices and than a known profile of no more units has, and no
/// more than the share and than a known profile of no fewer units has. The share is of the GPU's memory as the driver
/// reports it, or as in the product's name: no less than 10^9 bytes for a GB, and no more than 2^30.
[[nodiscard]] mig_memory_bounds memory_bounds(const mig_model& model, const mig_profile& profile) noexcept;

} // namespace vgpualloc
