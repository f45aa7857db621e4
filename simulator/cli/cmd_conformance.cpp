// vgpusim conformance: recorded decisions of other systems against our models of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"
#include "vgpuconformance/conformance.hpp"
#include "vgpuformats/json.hpp"

namespace vgpusim::cli {

namespace {

using vgpuconformance::event_difference;
using vgpuconformance::explanation;

struct conformance_options {
    std::string implementation;
    std::vector<std::string> files;
    std::size_t show = 5;
    bool json = false;
    bool print = false;
};

struct file_result {
    std::string path;
    vgpuconformance::replay_result result;
};

std::string in_one_line(const event_difference& difference) {
    return fmt::format("{} event {} {}: recorded {}, decided {}", difference.case_id, difference.event, difference.at,
                       difference.recorded, difference.decided);
}

/// What became of all events together.
struct conformance_totals {
    std::int64_t passed = 0;
    std::int64_t failed = 0;
    std::int64_t as_without_quirks = 0;
    std::int64_t explained = 0;       ///< of those passed: by named quirks, by more than three, follow-ups
    std::int64_t more_than_three = 0; ///< with the follow-ups
    std::int64_t follow_ups = 0;
    std::map<std::size_t, std::int64_t> by_quirk; ///< by its place in the list of names

    [[nodiscard]] std::int64_t equal() const { return passed - explained; }
};

conformance_totals totals_of(const std::vector<file_result>& files) {
    conformance_totals all;
    const auto& names = vgpualloc::compat::volcano::quirk_names;
    for (const file_result& file : files) {
        all.passed += file.result.passed;
        all.failed += file.result.failed;
        all.as_without_quirks += file.result.as_without_quirks;
        for (const event_difference& difference : file.result.differences) {
            if (difference.why == explanation::none) continue;
            ++all.explained;
            if (difference.why != explanation::quirks) ++all.more_than_three;
            if (difference.why == explanation::follow_up) ++all.follow_ups;
            for (const std::string& name : difference.explained_by) {
                ++all.by_quirk[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
            }
        }
    }
    return all;
}

void print_table(const std::vector<file_result>& files, std::size_t show) {
    for (const file_result& file : files) {
        fmt::print("{}: {} passed, {} failed\n", printable(file.path), file.result.passed, file.result.failed);
        std::vector<const event_difference*> failed;
        for (const event_difference& difference : file.result.differences) {
            if (difference.why == explanation::none) failed.push_back(&difference);
        }
        for (std::size_t i = 0; i < std::min(show, failed.size()); ++i)
            fmt::print("  {}\n", printable(in_one_line(*failed[i])));
        if (failed.size() > show) fmt::print("  … and {} more\n", failed.size() - show);
    }
}

/// "N equal, M explained (Q1 a, Q2 b), K unexplained"; an event that several quirks explain together counts for each.
std::string attribution(const conformance_totals& all) {
    std::vector<std::string> parts;
    for (const auto& [quirk, count] : all.by_quirk) {
        parts.push_back(fmt::format("{} {}", vgpualloc::compat::volcano::quirk_names[quirk], count));
    }
    if (all.more_than_three > 0) parts.push_back(fmt::format("{} by more than three", all.more_than_three));
    if (all.follow_ups > 0) parts.back() += fmt::format(", {} of them only following earlier ones", all.follow_ups);
    const std::string list = parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
    return fmt::format("{} equal, {} explained{}, {} unexplained", all.equal(), all.explained, list, all.failed);
}

std::string_view word_of(explanation why) {
    constexpr std::array<std::string_view, 4> words{"none", "quirks", "more_than_three", "follow_up"};
    return words[static_cast<std::size_t>(why)];
}

document differences_document(const std::vector<event_difference>& differences, bool natively) {
    document list = document::list();
    for (const event_difference& difference : differences) {
        document entry = document::map({{"case", difference.case_id},
                                        {"event", difference.event},
                                        {"at", difference.at},
                                        {"recorded", difference.recorded},
                                        {"decided", difference.decided},
                                        {"explained_by", document::list_of(difference.explained_by)}});
        if (natively) entry["explanation"] = word_of(difference.why);
        list.push_back(std::move(entry));
    }
    return list;
}

/// What the lines of text say of native, number by number.
void add_attribution(document& to, const conformance_totals& all) {
    document quirks = document::map();
    for (const auto& [quirk, count] : all.by_quirk) {
        quirks[vgpualloc::compat::volcano::quirk_names[quirk]] = count;
    }
    to["equal"] = all.equal();
    to["explained"] = all.explained;
    to["explained_by"] = std::move(quirks);
    to["by_more_than_three"] = all.more_than_three;
    to["follow_ups"] = all.follow_ups;
    to["unexplained"] = all.failed;
    to["decided_as_without_quirks"] = all.as_without_quirks;
}

void print_json(const std::vector<file_result>& files, const conformance_totals& all, bool natively) {
    document file_list = document::list();
    for (const file_result& file : files) {
        document entry = document::map({{"path", file.path},
                                        {"passed", file.result.passed},
                                        {"failed", file.result.failed},
                                        {"differences", differences_document(file.result.differences, natively)}});
        if (natively) add_attribution(entry, totals_of({file}));
        file_list.push_back(std::move(entry));
    }
    document root = document::map({{"files", std::move(file_list)}, {"passed", all.passed}, {"failed", all.failed}});
    if (natively) add_attribution(root, all);
    fmt::print("{}\n", vgpuformats::print_json(root, 2));
}

void print_decisions(const std::vector<std::string>& files) {
    std::string all; // whole, or nothing where a file is bad
    for (const std::string& path : files) {
        all += or_end(vgpuconformance::decide_recording(path));
    }
    fmt::print("{}", all);
}

void run(const conformance_options& chosen) {
    const auto known = vgpuconformance::implementations();
    if (std::ranges::find(known, chosen.implementation) == known.end()) {
        end_with(bad_value(error_code::unknown_name, "", chosen.implementation,
                           fmt::format("one of {}", fmt::join(known, ", ")))
                     .at("--impl"));
    }
    if (chosen.print && chosen.implementation == "native") {
        end_with(bad_value(error_code::unsupported, "", chosen.implementation,
                           "compat:volcano, which decides in the recordings' words")
                     .at("--print"));
    }
    std::vector<named_input> inputs;
    add_inputs(inputs, "FILE", chosen.files);
    read_stdin_once(inputs);
    if (chosen.print) return print_decisions(chosen.files);
    std::vector<file_result> files;
    for (const std::string& path : chosen.files) {
        files.push_back(
            {.path = path, .result = or_end(vgpuconformance::replay_recording(path, chosen.implementation))});
    }
    const conformance_totals all = totals_of(files);
    const bool natively = chosen.implementation == "native";
    if (chosen.json) {
        print_json(files, all, natively);
    } else {
        print_table(files, chosen.show);
        if (natively) {
            fmt::print("{} of {} decided as compat:volcano without quirks\n", all.as_without_quirks,
                       all.passed + all.failed);
            fmt::print("{}\n", attribution(all));
        }
        fmt::print("{} passed, {} failed\n", all.passed, all.failed);
    }
    if (all.failed > 0) throw command_end{exit_failed};
}

} // namespace

void add_conformance(CLI::App& app) {
    auto chosen = std::make_shared<conformance_options>();
    CLI::App* command = app.add_subcommand("conformance", "Replay recorded decisions of other systems and compare");
    command->add_option("FILE", chosen->files, "Recordings, JSON lines (docs/formats.md); - is standard input")
        ->type_name("")
        ->required();
    command
        ->add_option("--impl", chosen->implementation, "What is compared with the recordings: native or compat:volcano")
        ->type_name("NAME")
        ->required();
    command->add_option("--show", chosen->show, "Differences to print per file")
        ->type_name("NUMBER")
        ->capture_default_str();
    CLI::Option* const json = command->add_flag("--json", chosen->json, "As JSON, with all differences");
    command->add_flag("--print", chosen->print, "Print the cases with what the implementation decides; compare nothing")
        ->excludes(json);
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
