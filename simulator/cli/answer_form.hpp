// How the answer to a question is printed.
#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpusim::cli {

/// -o FORMAT, and --json for one of them.
struct answer_form {
    std::string format{}; ///< empty: a table
    bool json = false;

    [[nodiscard]] bool is_json() const { return json || format == "json"; }
    [[nodiscard]] bool is_yaml() const { return format == "yaml"; }
    [[nodiscard]] bool is_table() const { return !is_json() && !is_yaml(); }

    /// Ends the program if both are there and differ.
    void check() const {
        if (!json || format.empty() || format == "json") return;
        end_with(bad_value(error_code::unsupported, "", format, "either this format or --json").at("-o"));
    }
    /// JSON as the form wants it, or the table; the other of the two may be empty.
    [[nodiscard]] std::string chosen_of(std::string table, std::string json_text) const {
        if (is_table()) return table;
        return is_yaml() ? or_end(vgpuformats::yaml_of_json(json_text)) : std::move(json_text);
    }
};

inline void add_answer_form(CLI::App& command, answer_form& form) {
    command.add_option("-o,--output", form.format, "table, json or yaml")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"table", "json", "yaml"}))
        ->default_str("table");
    command.add_flag("--json", form.json, "As -o json: everything, in whole numbers");
}

} // namespace vgpusim::cli
