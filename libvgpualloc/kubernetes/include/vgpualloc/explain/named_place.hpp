// A placement by the names that its node and devices have outside.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc::explaining {

struct named_place {
    std::string node;
    std::vector<explained_share> shares{};
};

/// A placement on the nodes of a snapshot.
[[nodiscard]] named_place name_place(const kube::snapshot& state, const placement& where);

/// A map with `node` and the list `shares`: `container`, `device`, `uuid`, `kind`, `name`, `memory_mib`, `cores`,
/// `words`.
[[nodiscard]] vgpuformats::document place_json(const named_place& place);

} // namespace vgpualloc::explaining
