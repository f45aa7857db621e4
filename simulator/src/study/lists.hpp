// Reading the lists that a configuration names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/engine/record.hpp"
#include "vgpusim/workload/input_reader.hpp"

namespace vgpusim {

/// The prices that the configuration names; none if it names none.
[[nodiscard]] expected<std::optional<vgpualloc::learned_prices>> load_prices(const run_config& config,
                                                                             input_reader& from);

/// Warns of prices that list kinds of devices, but none of the cluster's.
void warn_of_other_prices(const run_config& config, const std::optional<vgpualloc::learned_prices>& prices,
                          const vgpualloc::cluster& nodes, std::vector<error>& warnings);

/// Keeps the rows that were passed over, and warns of them.
void tell_skipped(const vgputraces::skipped_rows& skipped, const std::string& name, loaded_input& loaded);

/// Warns of rows of a list that are not replayed, and why.
void warn_left_out(std::int64_t rows, const std::string& reason, const std::string& name, loaded_input& loaded);

/// Refuses a configuration that does not say where the lists are and the output goes.
[[nodiscard]] expected<void> check_paths(const run_config& config);

/// The mode in which the GPUs of an openb node list are shared. Error: one that a GPU without a size cannot have.
[[nodiscard]] expected<const vgpualloc::sharing_mode*> openb_mode(const run_config& config);

} // namespace vgpusim
