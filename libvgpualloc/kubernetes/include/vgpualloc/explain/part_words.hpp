// Partitions in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::explaining {

/// `part` of a device, with the names that its mode gives to profiles and templates.
[[nodiscard]] explained_part describe_part(const device_spec& spec, const partition& part);

/// A share, and how many of a placement's are like it.
struct counted_share {
    const explained_share* share = nullptr;
    std::size_t times = 1;
};

/// The shares that differ in their device, their part or the name of their container, in order; `names`: by container,
/// where these count. Pointers are into `shares`.
[[nodiscard]] std::vector<counted_share> count_alike(const std::vector<explained_share>& shares,
                                                     const std::vector<std::string>& names = {});

/// "4 x slice 6144 MiB, 25 % of compute"
[[nodiscard]] std::string words_of(const counted_share& alike);

} // namespace vgpualloc::explaining
