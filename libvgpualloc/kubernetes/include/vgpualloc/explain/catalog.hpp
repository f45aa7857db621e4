// The hardware catalogs as people read them, and as the files they are written in.
#pragma once

#include <string>

#include "vgpualloc/catalog/catalog.hpp"

namespace vgpualloc::explaining {

/// One line for each model, chip or board.
[[nodiscard]] std::string list_models(const mig_catalog& catalog);
[[nodiscard]] std::string list_chips(const ascend_catalog& catalog);
[[nodiscard]] std::string list_power(const power_catalog& catalog);

/// A model with its profiles, its placements drawn on the grid, and how many layouts it has. A star marks what was
/// derived and not read from such a board.
[[nodiscard]] std::string describe(const mig_model& model);

/// A chip with its templates.
[[nodiscard]] std::string describe(const ascend_chip& chip);

/// What a board draws, and where the figures come from.
[[nodiscard]] std::string describe(const device_power& device);

/// MindCluster's templates and selection table.
[[nodiscard]] std::string describe(const mindcluster_catalog& catalog);

/// A catalog file (docs/catalog.md) of all that `catalog` holds. Parts that are empty are left out; reading the file
/// gives the same values again.
[[nodiscard]] std::string catalog_file(const hardware_catalog& catalog);

} // namespace vgpualloc::explaining
