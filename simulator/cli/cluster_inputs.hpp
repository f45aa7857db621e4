// Inputs that several commands take: catalog files, device configurations, Kubernetes objects.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace CLI {
class App;
} // namespace CLI

namespace vgpusim::cli {

/// Files that say what devices there are and how the dialects spell them.
struct dialect_files {
    std::vector<std::string> catalog; ///< the last one wins
    std::vector<std::string> config;  ///< device configurations, which add up
};

/// A path that a command is to read, and what it was given as.
struct named_input {
    std::string option;
    std::string path;
};

/// Fails if more than one of the inputs is standard input ("-"), which can be read once.
[[nodiscard]] vgpualloc::expected<void> read_stdin_once(const std::vector<named_input>& inputs);
void add_inputs(std::vector<named_input>& to, const std::string& option, const std::vector<std::string>& paths);
void add_inputs(std::vector<named_input>& to, const dialect_files& files);

/// Adds --file.
void add_catalog_files(CLI::App& command, std::vector<std::string>& to);
/// Adds --config and --file.
void add_dialect_files(CLI::App& command, dialect_files& to);

/// The built-in catalog with what the files add or replace. Errors: those of reading and merging.
[[nodiscard]] vgpualloc::expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files);

/// What the dialects are configured with. Errors: those of reading the files.
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect_config> load_dialects(const dialect_files& from);

/// The objects of all files, in their order.
[[nodiscard]] vgpualloc::expected<std::vector<vgpualloc::kube::manifest>>
load_objects(const std::vector<std::string>& files);

} // namespace vgpusim::cli
