// What another system has run, read from its own records, as a workload that can be replayed.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/import/imported_workload.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct import_question {
    vgputraces::accounting_source source = vgputraces::accounting_source::sacct;
    std::vector<std::string> records; ///< inputs; of sacct one
    vgputraces::row_options rows{};
    vgpuops::importing::import_options options{};
};

/// Errors: those of the inputs and of vgputraces::read_sacct() or the reader of the source; unsupported for several
/// inputs of a source that takes one; stopped.
[[nodiscard]] expected<vgpuops::importing::imported_workload>
import_records(const import_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

} // namespace vgpufacade
