// vgpusim fetch: lists the public traces, or downloads one.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufetch/fetch.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgputraces/locate.hpp"

namespace vgpusim::cli {

namespace {

using vgpufetch::fetch_status;
using vgpufetch::fetched_file;
using vgpufetch::public_file;
using vgpufetch::public_trace;

struct fetch_options {
    std::string trace; // empty: list the known ones
    std::string folder;
    std::string list_path; // empty: the list in the binary
    std::vector<std::string> file_names;
    bool json = false;
};

[[nodiscard]] std::string shown_bytes(double bytes) {
    if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
    if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
    if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
    return fmt::format("{:.2f} GB", bytes / 1e9);
}

/// One line on stderr, redrawn in place; silent where stderr is not a terminal.
class progress_line {
public:
    void show(const public_file& file, std::int64_t done_bytes) {
        if (!terminal_) return;
        const clock::time_point now = clock::now();
        if (file.name != name_) {
            name_ = file.name;
            started_ = now;
            first_bytes_ = done_bytes; // what an earlier run loaded says nothing about today's rate
        } else if (done_bytes < file.size_bytes && now - drawn_ < std::chrono::milliseconds{100}) {
            return;
        }
        drawn_ = now;
        constexpr int width = 16;
        const double part = static_cast<double>(done_bytes) / static_cast<double>(file.size_bytes);
        const auto filled = static_cast<std::size_t>(part * width);
        const double passed_s = std::chrono::duration<double>(now - started_).count();
        std::string line =
            fmt::format("{} [{:-<{}}] {:3.0f} %", file.name, std::string(filled, '#'), width, part * 100);
        if (passed_s > 0 && done_bytes > first_bytes_) {
            const double rate = static_cast<double>(done_bytes - first_bytes_) / passed_s;
            const double left_s = static_cast<double>(file.size_bytes - done_bytes) / rate;
            line += fmt::format("  {}/s  ETA {:.0f} s", shown_bytes(rate), left_s);
        }
        draw(line);
    }

    /// Says for how long nothing has come, and how long that is waited for.
    void wait(const public_file& file, const vgpufetch::fetch_wait& waiting) {
        constexpr double silence_shown_min_s = 1.5; // a quick server is not waited for
        if (!terminal_ || waiting.silent_s < silence_shown_min_s) return;
        draw(fmt::format("{}: no byte for {:.0f} s, given up after {:.0f} s (try {} of {})", file.name,
                         waiting.silent_s, waiting.patience_s, waiting.tries, waiting.tries_max));
    }

    void clear() {
        if (drawn_once_) fmt::print(stderr, "\r\x1b[K");
        drawn_once_ = false;
        name_.clear();
    }

private:
    using clock = std::chrono::steady_clock;

    void draw(const std::string& line) {
        constexpr std::size_t columns = 79; // a line that wraps cannot be redrawn in place
        fmt::print(stderr, "\r{}\x1b[K", line.substr(0, columns));
        std::fflush(stderr);
        drawn_once_ = true;
    }

    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool drawn_once_ = false;
    std::string name_;
    std::int64_t first_bytes_ = 0;
    clock::time_point started_;
    clock::time_point drawn_;
};

void print(const document& value) { fmt::print("{}\n", vgpuformats::print_json(value, 2)); }

void list_traces(const std::vector<public_trace>& traces, bool json) {
    document all = document::list();
    for (const public_trace& trace : traces) {
        std::int64_t total_bytes = 0;
        document files = document::list();
        for (const public_file& file : trace.files) {
            total_bytes += file.size_bytes;
            files.push_back(document::map(
                {{"name", file.name}, {"url", file.url}, {"bytes", file.size_bytes}, {"sha256", file.sha256}}));
        }
        all.push_back(document::map({{"name", trace.name},
                                     {"description", trace.description},
                                     {"licence", trace.licence},
                                     {"source", trace.source},
                                     {"note", trace.note},
                                     {"files", files}}));
        if (json) continue;
        fmt::print("{}: {} {}, {}\n  {}\n  licence: {}\n  source: {}\n", printable(trace.name), trace.files.size(),
                   trace.files.size() == 1 ? "file" : "files", shown_bytes(static_cast<double>(total_bytes)),
                   printable(trace.description), printable(trace.licence), printable(trace.source));
        if (!trace.note.empty()) fmt::print("  note: {}\n", printable(trace.note));
        for (const public_file& file : trace.files)
            fmt::print("    {} ({} bytes)\n", printable(file.name), file.size_bytes);
    }
    if (json) print(document::map({{"traces", all}}));
}

template <class Named>
[[nodiscard]] Named find_named(const std::vector<Named>& known, const std::string& name, const char* option) {
    const auto named = std::find_if(known.begin(), known.end(), [&](const Named& item) { return item.name == name; });
    if (named != known.end()) return *named;
    end_with(bad_value(error_code::unknown_name, option, name, "one of: " + vgpuformats::joined(known, &Named::name))
                 .at("fetch"));
}

[[nodiscard]] std::vector<public_trace> read_list(const fetch_options& chosen) {
    if (chosen.list_path.empty()) {
        return or_end(vgpufetch::parse_trace_list(vgpufetch::built_in_trace_list(), "public.json"));
    }
    const auto input = or_end(vgpuformats::read_input(chosen.list_path));
    return or_end(vgpufetch::parse_trace_list(input.text, chosen.list_path));
}

/// The files of the trace, or those of them that --file names.
[[nodiscard]] std::vector<public_file> wanted_files(const public_trace& trace, const std::vector<std::string>& names) {
    if (names.empty()) return trace.files;
    for (const std::string& name : names) static_cast<void>(find_named(trace.files, name, "--file"));
    std::vector<public_file> files; // in list order, each once
    std::copy_if(trace.files.begin(), trace.files.end(), std::back_inserter(files), [&](const public_file& file) {
        return std::find(names.begin(), names.end(), file.name) != names.end();
    });
    return files;
}

void print_results(const std::string& trace, const std::string& folder, const std::vector<fetched_file>& results) {
    document files = document::list();
    for (const fetched_file& result : results) {
        document entry = document::map({{"name", result.file.name},
                                        {"path", result.path},
                                        {"bytes", result.file.size_bytes},
                                        {"sha256", result.file.sha256},
                                        {"status", vgpufetch::name_of(result.status)}});
        if (result.failure) entry["error"] = result.failure->message();
        files.push_back(std::move(entry));
    }
    print(document::map({{"trace", trace}, {"folder", folder}, {"files", files}}));
}

void run_fetch(const fetch_options& chosen) {
    const auto traces = read_list(chosen);
    if (chosen.trace.empty()) {
        if (!chosen.file_names.empty()) {
            end_with(bad_value(error_code::missing, "--file", "", "needs the name of a trace before it").at("fetch"));
        }
        list_traces(traces, chosen.json);
        return;
    }
    const auto trace = find_named(traces, chosen.trace, "NAME");
    const auto files = wanted_files(trace, chosen.file_names);

    vgpufetch::fetch_options how;
    how.folder = chosen.folder.empty() ? vgputraces::default_trace_folder() : chosen.folder;
    if (how.folder.empty()) {
        end_with(bad_value(error_code::missing, "--out", "", "needed, because HOME is not set").at("fetch"));
    }
    progress_line progress;
    how.on_progress = [&](const public_file& file, std::int64_t done_bytes) { progress.show(file, done_bytes); };
    how.on_wait = [&](const public_file& file, const vgpufetch::fetch_wait& waiting) { progress.wait(file, waiting); };
    how.on_file_end = [&](const fetched_file& result) {
        progress.clear();
        if (result.failure) fmt::print(stderr, "vgpusim: {}\n", result.failure->message());
        if (chosen.json) return;
        std::string status{vgpufetch::name_of(result.status)};
        std::replace(status.begin(), status.end(), '_', ' ');
        fmt::print("{}: {}\n", printable(result.path), status);
        std::fflush(stdout); // the next file may take long
    };
    const auto results = or_end(vgpufetch::fetch_files(files, how));
    if (chosen.json) print_results(trace.name, how.folder, results);
    const bool all_there = std::all_of(results.begin(), results.end(), [](const fetched_file& result) {
        return result.status != fetch_status::failed && result.status != fetch_status::not_tried;
    });
    if (!all_there) throw command_end{exit_failed};
}

} // namespace

void add_fetch(CLI::App& app) {
    const auto chosen = std::make_shared<fetch_options>();
    CLI::App* command = app.add_subcommand("fetch", "Download a public trace, or list those known");
    command->add_option("NAME", chosen->trace, "The trace to download; without it the known traces are listed")
        ->type_name("");
    add_filled(*command, "--out", chosen->folder, "FOLDER",
               "Folder for the files (default: $VGPUALLOC_TRACES, else $XDG_CACHE_HOME/vgpualloc/traces, "
               "else ~/.cache/vgpualloc/traces)");
    CLI::Option* list =
        command
            ->add_option("--list", chosen->list_path,
                         "Read the list of traces from this JSON file; without FILE the known traces are listed")
            ->type_name("FILE")
            ->expected(0, 1);
    add_repeatable(*command, "--file", chosen->file_names, "NAME", "Only this file of the trace; may be repeated");
    command->add_flag("--json", chosen->json, "Print the result as JSON");
    command->callback([chosen, list] {
        if (list->count() > 0 && chosen->list_path.empty()) chosen->trace.clear(); // a name beside it changes nothing
        run_fetch(*chosen);
    });
}

} // namespace vgpusim::cli
