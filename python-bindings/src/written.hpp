// Files that a caller in Python has written.
#pragma once

#include <string>
#include <vector>

#include "vgpusim/outputs/run_files.hpp"

namespace vgpupython {

/// Writes all files into a folder, or none, as the command line does, and returns their names. Raises what Python's own
/// calls raise, and InputError where one of `inputs` would be overwritten. Has the GIL.
std::vector<std::string> written(const std::string& folder, const vgpusim::named_texts& files,
                                 const std::vector<std::string>& inputs);

} // namespace vgpupython
