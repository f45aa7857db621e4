// The files that a run leaves, as names and texts.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// The files that every run leaves besides its report, in the order of run_files(); after them come prices_name where
/// policies use prices, and trace_name (chrome_trace.hpp) where it is asked for.
inline constexpr std::array<std::string_view, 3> run_file_names{"pods.csv", "timeseries.csv", "summary.json"};

inline constexpr std::string_view prices_name = "prices.json";

/// The names of the files of a run with this configuration besides its report.
[[nodiscard]] std::vector<std::string> names_of_run_files(const run_config& config);

/// Name and text, to be written into one folder.
using named_texts = std::vector<std::pair<std::string, std::string>>;

/// `baseline`: the run that this one is held against, or null. `with_trace`: with trace_name, even where the
/// configuration does not ask for it. Once the caller wants an end, texts are cut short and others left out.
[[nodiscard]] named_texts run_files(const run_record& record, const loaded_input& loaded,
                                    const run_record* baseline = nullptr, const stop_signal& stop = {},
                                    bool with_trace = false);

} // namespace vgpusim
