// The formats that a run's node and pod lists may have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vgpusim/engine/record.hpp"
#include "vgpusim/workload/input_reader.hpp"

namespace vgpusim {

struct input_format {
    std::string_view name;
    std::string_view summary;
    expected<loaded_input> (*load)(const run_config& config, input_reader& from);
    /// Keys of the configuration that say nothing here: set to anything but their defaults they are refused.
    std::span<const std::string_view> keys_without_use;
};

/// In the order of --help.
[[nodiscard]] std::span<const input_format> all_formats();

/// The names of all formats, ", " between them.
[[nodiscard]] std::string format_names();

/// Reads node and pod lists of the openb trace. Errors: those of the lists, modes that openb says nothing to, an
/// offered load without departures.
[[nodiscard]] expected<loaded_input> load_openb(const run_config& config, input_reader& from);

/// Reads a list of jobs and the nodes that they run on: an openb node list, or Node objects of Kubernetes, whichever
/// the text is. Errors: those of the files.
[[nodiscard]] expected<loaded_input> load_philly(const run_config& config, input_reader& from);
[[nodiscard]] expected<loaded_input> load_dlrm(const run_config& config, input_reader& from);
[[nodiscard]] expected<loaded_input> load_swf(const run_config& config, input_reader& from);

} // namespace vgpusim
