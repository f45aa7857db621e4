// The files that a run leaves, as names and texts.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/study/record.hpp"

namespace vgpusim {

/// The files of a run besides its report, in the order of run_files().
inline constexpr std::array<std::string_view, 3> run_file_names{"pods.csv", "timeseries.csv", "summary.json"};

/// Name and text, to be written into one folder.
using named_texts = std::vector<std::pair<std::string, std::string>>;

/// `baseline`: the run that this one is held against, or null.
[[nodiscard]] named_texts run_files(const run_record& record, const loaded_input& loaded,
                                    const run_record* baseline = nullptr);

} // namespace vgpusim
