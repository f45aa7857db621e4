// How several commands are told their inputs: catalog files, device configurations, Kubernetes objects.
#pragma once

#include <string>
#include <vector>

#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace CLI {
class App;
} // namespace CLI

namespace vgpusim::cli {

/// A path that a command is to read, and what it was given as.
struct named_input {
    std::string option;
    std::string path;
};

/// Ends the command if more than one of the inputs is standard input ("-"), which can be read once.
void read_stdin_once(const std::vector<named_input>& inputs);
void add_inputs(std::vector<named_input>& to, const std::string& option, const std::vector<std::string>& paths);
void add_inputs(std::vector<named_input>& to, const dialect_files& files);

/// Refuses outputs in the folder that would replace one of the inputs.
void keep_inputs(const std::string& folder, const std::vector<std::string>& outputs,
                 const std::vector<named_input>& inputs);

/// Where one file is to be written.
struct output_place {
    std::string folder;
    std::string name;
};
/// Error io, at the option: a folder, or "-": an output is written as a whole or not at all.
[[nodiscard]] expected<output_place> place_of(const std::string& path, const std::string& option);
/// Refuses an output that would replace one of the inputs. `value` is what the option was given.
void keep_inputs(const output_place& place, const std::string& value, const std::string& option,
                 const std::vector<named_input>& inputs);

/// The files of this machine, which every command reads.
[[nodiscard]] const vgpuformats::input_source& files_here();

/// Adds CLUSTER: the objects of a cluster, as `kubectl` or `vgpusim snapshot` writes them.
void add_cluster(CLI::App& command, std::vector<std::string>& to);
/// Adds --file.
void add_catalog_files(CLI::App& command, std::vector<std::string>& to);
/// Adds --config and --file.
void add_dialect_files(CLI::App& command, dialect_files& to);

} // namespace vgpusim::cli
