// Inputs that several commands take.
#include "cluster_inputs.hpp"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "options.hpp"
#include "vgpucli/command_line.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/input.hpp"
#include "vgputraces/file_source.hpp"

namespace vgpusim::cli {

namespace {

bool keeps_inputs = false;

} // namespace

void keep_inputs_between_calls() { keeps_inputs = true; }

const vgpuformats::input_source& files_here() {
    static const vgputraces::file_source files;
    static vgpuformats::kept_values kept;
    static const vgputraces::file_source keeping_files{kept};
    return keeps_inputs ? keeping_files : files;
}

void add_cluster(CLI::App& command, std::vector<std::string>& to) {
    command
        .add_option("CLUSTER", to,
                    "Nodes and pods, YAML or JSON, as kubectl or vgpusim snapshot writes them; - is standard input")
        ->type_name("FILE")
        ->check(not_empty)
        ->required();
}

void add_catalog_files(CLI::App& command, std::vector<std::string>& to) {
    add_repeatable(command, "--file", to, "FILE",
                   "Catalog file that adds or replaces models (docs/catalog.md); repeatable; - is standard input");
}

void add_dialect_files(CLI::App& command, dialect_files& to) {
    add_repeatable(command, "--config", to.config, "FILE",
                   "Device configuration (device-config.yaml, or its ConfigMap): resource names, NPUs, geometries; "
                   "repeatable, each adds");
    add_catalog_files(command, to.catalog);
}

void read_stdin_once(const std::vector<named_input>& inputs) {
    const named_input* reader = nullptr;
    for (const named_input& input : inputs) {
        if (input.path != vgpuformats::standard_input) continue;
        if (reader != nullptr) {
            end_with(bad_value(error_code::duplicate, "", input.path,
                               "a file: standard input can be read once, and is by " + reader->option)
                         .at(input.option));
        }
        reader = &input;
    }
}

void keep_inputs(const std::string& folder, const std::vector<std::string>& outputs,
                 const std::vector<named_input>& inputs) {
    std::vector<std::string> paths;
    for (const named_input& input : inputs) paths.push_back(input.path);
    or_end(vgpuformats::keep_inputs(folder, outputs, paths));
}

void keep_inputs(const output_place& place, const std::string& value, const std::string& option,
                 const std::vector<named_input>& inputs) {
    std::vector<std::string> paths;
    for (const named_input& input : inputs) paths.push_back(input.path);
    if (vgpuformats::keep_inputs(place.folder, {place.name}, paths)) return;
    end_with(bad_value(error_code::unsupported, "", value, "a file that is not an input").at(option));
}

expected<output_place> place_of(const std::string& path, const std::string& option) {
    const std::filesystem::path file{path};
    const bool is_stream = path == vgpuformats::standard_input;
    if (is_stream || file.filename().empty()) {
        const char* const wanted =
            is_stream ? "a file: what is written is written as a whole or not at all" : "a file, not a folder";
        return unexpected(bad_value(error_code::io, "", path, wanted).at(option));
    }
    return output_place{.folder = file.has_parent_path() ? file.parent_path().string() : std::string{"."},
                        .name = file.filename().string()};
}

void add_inputs(std::vector<named_input>& to, const std::string& option, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) to.push_back({option, path});
}

void add_inputs(std::vector<named_input>& to, const dialect_files& files) {
    add_inputs(to, "--file", files.catalog);
    add_inputs(to, "--config", files.config);
}

} // namespace vgpusim::cli
