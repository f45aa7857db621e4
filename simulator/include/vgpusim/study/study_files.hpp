// The files of a study over policies, pod lists and seeds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/load_study.hpp"
#include "vgpusim/study/statistics.hpp"

namespace vgpusim {

inline constexpr const char* study_table_name = "study.csv";
inline constexpr const char* study_summary_name = "study.json";
inline constexpr std::string_view study_table_header = "policy,list,load_pct,metric,mean,sd,n\n";

/// study.csv: for every policy, list, whole percent of load and metric the mean over the seeds, the standard deviation
/// (empty with one seed) and the number of seeds whose run reaches that load. Texts with commas are in quotes, as
/// RFC 4180 has it.
[[nodiscard]] std::string study_csv(const experiment& study, const study_results& results);

/// study.json: what was replayed, from which files and lists of how many pods, how each policy does on each list at its
/// last common load and what it accepts until the end, and the times, in which alone two runs of the same study differ.
[[nodiscard]] std::string study_json(const experiment& study, const std::vector<input_file>& files,
                                     const std::vector<std::size_t>& list_sizes, const study_results& results);

/// A policy at the highest load that all seeds of a list reach.
struct study_headline {
    std::string policy;
    std::string list;
    std::size_t load_pct = 0;
    load_point mean{};
    load_point deviation{};
    double failed = 0.0;         ///< pods at the end, mean over the seeds
    seed_values accepted_gpus{}; ///< acceptance::gpu_ratio() at the end
    seed_values accepted_pods{}; ///< the part of the pods that was accepted, at the end
    std::vector<std::pair<std::string_view, seed_values>> by_size{}; ///< that of the pods of each size that arrives
};

/// At the highest load that all seeds of the list reach; nothing for a list that reaches none.
[[nodiscard]] std::vector<study_headline> headlines_of(const experiment& study, const study_results& results);

} // namespace vgpusim
