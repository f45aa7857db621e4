// The same workload under several policies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/run.hpp"

namespace vgpusim {

/// The name of the file with the summaries of all runs.
inline constexpr const char* summaries_name = "compare.json";

/// A policy's spelling as the name of the folder for its run.
[[nodiscard]] std::string folder_of(std::string policy);

/// Refuses fewer than two policies, and policies whose folders would be one. The field of the errors is "--policy".
[[nodiscard]] expected<void> check_policies(const std::vector<std::string>& policies);

/// Refuses spellings that no policy has. A replay refuses them too, but others may have run for long before it.
[[nodiscard]] expected<void> check_policy_names(const std::vector<std::string>& policies);

/// Makes the progress display of one policy's replay; may be empty.
using progress_maker = std::function<simulation::progress(const std::string& policy)>;

/// Replays the workload under each of the policies; means are over one span (share_span()). The first replay that fails
/// ends it.
[[nodiscard]] expected<std::vector<run_record>> compare(const run_config& config, const loaded_input& loaded,
                                                        const std::vector<std::string>& policies,
                                                        const progress_maker& make_progress,
                                                        const stop_signal& stop = {});

/// The names of the files of a comparison: compare.json, report.html, and a folder per policy with the files of its
/// run.
[[nodiscard]] std::vector<std::string> comparison_file_names(const run_config& config,
                                                             const std::vector<std::string>& policies);

/// These files, in another order. Once an end is wanted, some are missing.
[[nodiscard]] named_texts comparison_files(const std::vector<run_record>& records, const loaded_input& loaded,
                                           const stop_signal& stop = {});

} // namespace vgpusim
