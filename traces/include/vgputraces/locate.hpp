// Where traces lie on this machine: the folder the user names, else the cache that `vgpusim fetch` fills.
#pragma once

#include <string>

namespace vgputraces {

/// The folder `vgpusim fetch` writes to: $VGPUALLOC_TRACES, else $XDG_CACHE_HOME/vgpualloc/traces, else
/// ~/.cache/vgpualloc/traces. Empty when none of these is known (no HOME).
[[nodiscard]] std::string default_trace_folder();

/// The file meant by `path`. A bare file name is looked for in $VGPUALLOC_TRACES first, then as it stands, then in the
/// cache; anything with a '/' stands as it is. What is found nowhere is returned unchanged, so that the error which
/// follows names what the user wrote.
[[nodiscard]] std::string resolve_trace_path(const std::string& path);

} // namespace vgputraces
