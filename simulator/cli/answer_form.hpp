// How the answer to a question is printed.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "print_pieces.hpp"
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
};

/// Prints what the form wants of an answer. `table` and `document`, which is JSON, make a text; one of them is called.
template <class Table, class Document>
void print_answer(const answer_form& form, const Table& table, const Document& document) {
    if (form.is_table()) return print_in_pieces(table());
    if (form.is_yaml()) return print_in_pieces(or_end(vgpuformats::yaml_of_json(document())));
    print_in_pieces(document());
}

inline void add_answer_form(CLI::App& command, answer_form& form, const char* formats = "table, json or yaml",
                            const CLI::Validator& check = CLI::IsMember({"table", "json", "yaml"})) {
    command.add_option("-o,--output", form.format, formats)->type_name("FORMAT")->check(check)->default_str("table");
    command.add_flag("--json", form.json, "As -o json: everything, in whole numbers");
}

} // namespace vgpusim::cli
