// What a live GPU says of its MIG profiles goes before the catalog.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc {

/// The model that a device registered for mig without groups is cut by: that of the catalog, or, where the device has
/// offers, one with exactly their profiles, in their order, and their memory, compute slices and placements. Of a model
/// that the catalog knows, it keeps what offers do not say (grid, engines, multiprocessors, most instances of a
/// profile); of another one, the grid ends with the last placement and compute slices are those that the instances of
/// some profile have together. Positions in mig_model::profiles are mig_instance::profile.
/// Errors: without offers that of find_model; out_of_range for an offer without places.
[[nodiscard]] expected<mig_model> model_of(const mig_catalog& catalog, const device_registration& from);

/// What a GPU of this model would say of those of its profiles that are among `names`, in the model's order; compute is
/// the share of the compute slices. Memory that the catalog does not know is 0.
[[nodiscard]] std::vector<mig_offer> offers_of(const mig_model& model, std::span<const std::string> names);

/// The share of the GPU's compute that an instance has, rounded down: that of the profile of this name in the catalog;
/// of a model or profile that is not there, n of 7 slices for a name like "<n>g.10gb", as no MIG GPU has more slices; 0
/// where the name says nothing.
[[nodiscard]] core_percent compute_of_instance(const mig_catalog& catalog, std::string_view model,
                                               std::string_view profile);

inline constexpr std::int64_t mig_compute_slices_max = 7; ///< of any MIG GPU so far
/// Compute slices by a name like "<n>g.10gb"; 0 where it says nothing.
[[nodiscard]] std::int64_t compute_slices_by_name(std::string_view profile);

/// `groups` with the compute and the slices of every kind that they do not say them of; slices only of models and
/// profiles of the catalog.
[[nodiscard]] std::vector<mig_group> with_slices(const mig_catalog& catalog, std::string_view model,
                                                 std::vector<mig_group> groups);

} // namespace vgpualloc
