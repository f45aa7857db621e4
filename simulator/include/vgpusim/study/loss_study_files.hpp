// The files of a study of loss systems.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpusim/study/loss_study.hpp"
#include "vgpusim/study/statistics.hpp"

namespace vgpusim {

inline constexpr std::string_view loss_table_header = "model,load,policy,measure,mean,half_95,sd,n\n";

/// What is compared, all of it shares from 0 to 1. accepted_gpu_ratio counts pods by the GPUs that they ask for
/// (acceptance::gpu_ratio()). moved_ratio is how many moves there were for each pod that started;
/// filled_memory_ratio, where no pod leaves, how much of the devices' memory is given out at the end.
inline constexpr std::string_view loss_measures[] = {"accepted_ratio", "accepted_memory_ratio", "moved_ratio",
                                                     "filled_memory_ratio", "accepted_gpu_ratio"};
inline constexpr std::size_t moved_measure = 2; ///< of which less is better; it is not compared

/// How a policy does against another one over the same arrivals.
struct loss_difference {
    std::size_t policy = 0;
    std::size_t against = 0;
    std::size_t measure = 0; ///< position in loss_measures
    bool is_best_baseline =
        false; ///< `against` is the baseline that is best in this cell and measure, found afterwards
    paired_difference difference{}; ///< policy - against
};

/// A model at a load.
struct loss_cell {
    std::size_t model = 0;
    std::size_t load = 0;
    std::vector<std::vector<seed_values>> policies{}; ///< by policy, then measure; one that is not there is empty
    std::vector<loss_difference> differences{};       ///< with two seeds or more
};

/// By model, then load.
[[nodiscard]] std::vector<loss_cell> loss_cells_of(const experiment& study, const loss_results& results);

/// The load of a cell; nothing where it is the model's.
[[nodiscard]] std::optional<double> load_of(const experiment& study, const loss_cell& cell);

/// study.csv: for every model, load (empty: the model's), policy and measure the mean over the seeds, half of its 95 %
/// interval, the standard deviation (both empty with one seed) and the number of seeds. Measures are loss_measures, and
/// accepted_ratio:CLASS for the pods of each class, and accepted_ratio_by_size:SIZE for those of each size (gpu_sizes).
[[nodiscard]] std::string loss_study_csv(const experiment& study, const loss_results& results);

/// study.json: what was replayed, from which files; of every cell the measures with the value of each seed, and the
/// paired differences; and the times, in which alone two runs of the same study differ.
[[nodiscard]] std::string loss_study_json(const experiment& study, const loss_results& results);

} // namespace vgpusim
