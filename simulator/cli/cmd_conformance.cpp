// vgpusim conformance: recorded decisions of other systems against our models of them.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"
#include "vgpuconformance/conformance.hpp"

namespace vgpusim::cli {

namespace {

using vgpuconformance::event_difference;

struct options {
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

void print_table(const std::vector<file_result>& files, std::size_t show) {
    for (const file_result& file : files) {
        fmt::print("{}: {} passed, {} failed\n", file.path, file.result.passed, file.result.failed);
        std::vector<const event_difference*> failed;
        for (const event_difference& difference : file.result.differences) {
            if (difference.explained_by.empty()) failed.push_back(&difference);
        }
        for (std::size_t i = 0; i < std::min(show, failed.size()); ++i) fmt::print("  {}\n", in_one_line(*failed[i]));
        if (failed.size() > show) fmt::print("  … and {} more\n", failed.size() - show);
    }
}

void print_json(const std::vector<file_result>& files, std::int64_t passed, std::int64_t failed) {
    nlohmann::ordered_json root;
    root["files"] = nlohmann::ordered_json::array();
    for (const file_result& file : files) {
        nlohmann::ordered_json differences = nlohmann::ordered_json::array();
        for (const event_difference& difference : file.result.differences) {
            differences.push_back({{"case", difference.case_id},
                                   {"event", difference.event},
                                   {"at", difference.at},
                                   {"recorded", difference.recorded},
                                   {"decided", difference.decided},
                                   {"explained_by", difference.explained_by}});
        }
        root["files"].push_back({{"path", file.path},
                                 {"passed", file.result.passed},
                                 {"failed", file.result.failed},
                                 {"differences", std::move(differences)}});
    }
    root["passed"] = passed;
    root["failed"] = failed;
    fmt::print("{}\n", root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// "N equal, M explained (Q1 a, Q2 b), K unexplained"; an event that several quirks explain together counts for each.
std::string attribution(const std::vector<file_result>& files, std::int64_t passed, std::int64_t failed) {
    std::int64_t explained = 0;
    std::map<std::size_t, std::int64_t> counts; // by the quirk's place in the list
    const auto& names = vgpualloc::compat::volcano::quirk_names;
    for (const file_result& file : files) {
        for (const event_difference& difference : file.result.differences) {
            if (!difference.explained_by.empty()) ++explained;
            for (const std::string& name : difference.explained_by) {
                ++counts[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
            }
        }
    }
    std::vector<std::string> parts;
    for (const auto& [quirk, count] : counts) parts.push_back(fmt::format("{} {}", names[quirk], count));
    const std::string list = parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
    return fmt::format("{} equal, {} explained{}, {} unexplained", passed - explained, explained, list, failed);
}

int print_decisions(const std::vector<std::string>& files) {
    std::string all; // whole, or nothing where a file is bad
    for (const std::string& path : files) {
        const auto cases = vgpuconformance::decide_recording(path);
        if (!cases) return report_error(cases.error());
        all += *cases;
    }
    fmt::print("{}", all);
    return exit_done;
}

int run(const options& chosen) {
    const auto known = vgpuconformance::implementations();
    if (std::ranges::find(known, chosen.implementation) == known.end()) {
        return report_error({vgpualloc::error_code::unknown_name,
                             "--impl",
                             {},
                             chosen.implementation,
                             fmt::format("one of {}", fmt::join(known, ", "))});
    }
    if (chosen.print && chosen.implementation == "native") {
        return report_error({vgpualloc::error_code::unsupported,
                             "--print",
                             {},
                             chosen.implementation,
                             "compat:volcano, which decides in the recordings' words"});
    }
    if (chosen.print) return print_decisions(chosen.files);
    std::vector<file_result> files;
    std::int64_t passed = 0;
    std::int64_t failed = 0;
    for (const std::string& path : chosen.files) {
        auto result = vgpuconformance::replay_recording(path, chosen.implementation);
        if (!result) return report_error(result.error());
        passed += result->passed;
        failed += result->failed;
        files.push_back({.path = path, .result = std::move(*result)});
    }
    if (chosen.json) {
        print_json(files, passed, failed);
    } else {
        print_table(files, chosen.show);
        if (chosen.implementation == "native") fmt::print("{}\n", attribution(files, passed, failed));
        fmt::print("{} passed, {} failed\n", passed, failed);
    }
    return failed == 0 ? exit_done : exit_failed;
}

} // namespace

void add_conformance(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand("conformance", "Replay recorded decisions of other systems and compare");
    command->add_option("FILE", chosen->files, "Recordings, JSON lines (docs/formats.md)")->required();
    command
        ->add_option("--impl", chosen->implementation, "What is compared with the recordings: native or compat:volcano")
        ->required();
    command->add_option("--show", chosen->show, "Differences to print per file")->capture_default_str();
    CLI::Option* const json = command->add_flag("--json", chosen->json, "As JSON, with all differences");
    command->add_flag("--print", chosen->print, "Print the cases with what the implementation decides; compare nothing")
        ->excludes(json);
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
