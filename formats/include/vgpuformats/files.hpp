// Files as whole texts: read one, write several so that either all appear complete or none does.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpuformats {

/// The whole file. Error io: not found, not readable, a folder, a device.
[[nodiscard]] vgpualloc::expected<std::string> read_file(const std::string& path);

/// Refuses to overwrite what was read: fails if one of `names` in `folder` is one of the input files, by whatever path.
[[nodiscard]] vgpualloc::expected<void> keep_inputs(const std::string& folder, const std::vector<std::string>& names,
                                                    const std::vector<std::string>& inputs);

/// Why files could not be written.
struct write_failure : vgpualloc::error {
    bool of_system = false; ///< a full disk, a limit of the system, a broken device; else the folder that was named
};

/// A content that is made while it is written, so that it is never in memory as a whole: puts the next piece in the
/// place of what it is given; false at the end.
using piece_source = std::function<bool(std::string& piece)>;

struct output_file {
    std::string name;              ///< relative to the folder given
    std::string_view content = {}; ///< must outlive the call
    piece_source pieces = {};      ///< instead of `content`; called to its end once
};

/// Creates `folder` (not empty) and its parents if needed, writes every file under a temporary name beside its own,
/// then renames all. If anything fails, the temporary files (and a folder made by this call) are removed and what was
/// there before is kept; so it is where a signal would end the program, which waits until then. A process that is
/// killed while files are renamed is completed by the next one that writes into the folder, which also removes what
/// killed ones have left. A file that is replaced keeps its permissions. Links stay and the files that they name are
/// replaced; pipes and character devices are written into, before anything is renamed, and so is a file that a link in
/// /proc leads to because it is open. Error: a folder, a socket or a block device in the place of a file.
[[nodiscard]] tl::expected<void, write_failure> write_files(const std::string& folder,
                                                            const std::vector<output_file>& files);

/// Removes files of `folder`, and folders in it that they leave empty.
[[nodiscard]] tl::expected<void, write_failure> remove_files(const std::string& folder,
                                                             const std::vector<std::string>& names);

} // namespace vgpuformats
