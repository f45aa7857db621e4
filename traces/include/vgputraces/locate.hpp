// Where traces lie on this machine: the folder the user names, else the cache that `vgpusim fetch` fills.
#pragma once

#include <string>

namespace vgputraces {

/// The folder `vgpusim fetch` writes to: $VGPUALLOC_TRACES, else $XDG_CACHE_HOME/vgpualloc/traces, else
/// ~/.cache/vgpualloc/traces. Empty when none of these is known (no HOME).
[[nodiscard]] std::string default_trace_folder();

/// The file of that name in $VGPUALLOC_TRACES, else in the cache. Empty: it is in neither, or `name` has a '/'.
[[nodiscard]] std::string find_trace(const std::string& name);

/// The file meant by `path`: what lies there, seen from the current folder, else what find_trace() finds. "-" stands
/// for standard input. What is found nowhere is returned unchanged, so that the error which follows names what the user
/// wrote.
[[nodiscard]] std::string resolve_trace_path(const std::string& path);

} // namespace vgputraces
