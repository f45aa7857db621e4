// vgpusim show: what of a cluster is used, free and out of service, who uses it and who waits.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "answer_form.hpp"
#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/show.hpp"

namespace vgpusim::cli {

namespace {

struct show_options {
    vgpufacade::show_question question;
    answer_form form; ///< also "wide", or "html=" and the name of a file
    bool lists_all = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        if (!question.prices.empty()) named.push_back({"--prices", question.prices});
        return named;
    }
};

constexpr std::string_view html_format = "html=";

/// Why a format is none; empty: it is one.
std::string refusal_of(const std::string& format) {
    if (format == "html" || format == html_format) return "got '" + format + "', expected html=FILE, the page to write";
    const bool is_known = format == "table" || format == "wide" || format == "json" || format == "yaml";
    if (is_known || format.starts_with(html_format)) return {};
    return "got '" + format + "', expected table, wide, json, yaml or html=FILE";
}

void write_page(const show_options& chosen) {
    const std::string& format = chosen.form.format;
    const std::string path = format.substr(html_format.size());
    if (chosen.form.json) {
        end_with(bad_value(error_code::unsupported, "", format, "either a page or --json").at("-o"));
    }
    std::error_code unknown;
    const auto type = std::filesystem::status(path, unknown).type();
    using std::filesystem::file_type;
    const bool is_folder = type == file_type::directory; // of which place_of() says more
    if (!is_folder && type != file_type::not_found && type != file_type::none && type != file_type::regular) {
        end_with(bad_value(error_code::unsupported, "", format, "html=FILE where there is nothing or a file").at("-o"));
    }
    const output_place place = or_end(place_of(path, "-o"));
    keep_inputs(place, format, "-o", chosen.inputs());
    const auto page = or_end(vgpufacade::show_page(chosen.question, chosen.lists_all, files_here()));
    or_end(vgpuformats::write_files(place.folder, {{.name = place.name, .content = page.html}}));
    fmt::print("{}\nwritten: {}\n", page.sentence, printable(path));
}

void run(const show_options& chosen) {
    read_stdin_once(chosen.inputs());
    if (chosen.form.format.starts_with(html_format)) return write_page(chosen);
    chosen.form.check();
    const auto seen = or_end(vgpufacade::show(chosen.question, files_here()));
    const vgpuops::show::table_options options{.is_wide = chosen.form.format == "wide", .lists_all = chosen.lists_all};
    if (chosen.form.is_yaml()) return print_in_pieces(vgpuops::show::overview_yaml(seen));
    print_answer(
        chosen.form, [&] { return vgpuops::show::overview_text(seen, options); },
        [&] { return vgpuops::show::overview_json(seen); });
}

} // namespace

void add_show(CLI::App& app) {
    auto chosen = std::make_shared<show_options>();
    CLI::App* command = app.add_subcommand(
        "show", "Show a cluster: GPUs used, free and out of service, how many more pods fit, who uses it, who waits");
    add_cluster(*command, chosen->question.cluster);
    auto& selection = chosen->question.chosen;
    add_filled(*command, "-l", selection.nodes, "SET",
               "Only these nodes: names, globs and ranges (a100-1,'a100-*','a100-[1-3]'), or labels (zone=b, 'pool in "
               "(train,dev)', '!spare'); "
               "zone is the one label that ends in /zone");
    add_filled(*command, "-n", selection.ns, "NAMESPACE",
               "List only pods of this namespace; what is free is counted with all");
    add_filled(*command, "--by", selection.by, "WORD",
               "Rows of the first table: pool, kind, node, resource, namespace, queue, owner, or a label of nodes")
        ->capture_default_str();
    command->add_flag("--all", chosen->lists_all, "Print every row");
    add_filled(*command, "--prices", chosen->question.prices, "FILE",
               "Also print what the GPUs cost a day, by these prices of GPU-hours and of energy (docs/show.md)");
    add_answer_form(*command, chosen->form,
                    "table, wide, json, yaml, or html=FILE: a page with this answer, written there",
                    CLI::Validator{refusal_of, ""});
    add_dialect_files(*command, chosen->question.dialects);
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
