// What an earlier run, comparison or study has left in a folder.
#pragma once

#include <string>
#include <vector>

#include "vgpuformats/files.hpp"
#include "vgpusim/outputs/run_files.hpp"

namespace vgpusim {

/// The files in `folder` that an earlier run, comparison or study of this program wrote and that are not among
/// `written`, as names in it. They are known by what they say and not by their names alone: somebody else's file is not
/// among them, nor is the folder of a run that was written by itself, which has a report.
[[nodiscard]] std::vector<std::string> stale_outputs(const std::string& folder,
                                                     const std::vector<std::string>& written);

/// Writes all files into a folder, or none, and removes what an earlier run has left there.
[[nodiscard]] tl::expected<void, vgpuformats::write_failure> write_outputs(const std::string& folder,
                                                                           const named_texts& files);

} // namespace vgpusim
