#include "vgpusim/study/stale.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "vgpuformats/json.hpp"
#include "vgpusim/outputs/chrome_trace.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/compare.hpp"
#include "vgpusim/study/loss_study_files.hpp"
#include "vgpusim/study/study_files.hpp"
#include "vgpusim/workload/prices.hpp"

namespace vgpusim {

namespace {

/// Whether earlier outputs can be in it. A pipe would wait for a writer and give away what others are to read.
bool is_regular(const std::string& path) {
    std::error_code unknown; // what cannot be looked at is left alone
    return std::filesystem::is_regular_file(path, unknown);
}

/// The document in a regular file, if it is there and can be read.
std::optional<document> json_in(const std::string& path) {
    if (!is_regular(path)) return std::nullopt;
    const auto text = vgpuformats::read_file(path);
    if (!text) return std::nullopt;
    auto value = vgpuformats::parse_json(*text, path);
    return value ? std::optional{*std::move(value)} : std::nullopt;
}

/// Whether this is what a run says of itself in summary.json.
bool is_summary(const document& value) {
    const auto* const policy = value.find("policy");
    const auto* const config = value.find("config");
    const auto* const inputs = value.find("inputs");
    return value.find("version") != nullptr && policy != nullptr && policy->is_text() && config != nullptr &&
           config->is_map() && inputs != nullptr && inputs->is_list();
}

bool begins_with(const std::string& path, std::string_view beginning) {
    if (!is_regular(path)) return false;
    std::ifstream file{path, std::ios::binary};
    std::string read(beginning.size(), '\0');
    return file.read(read.data(), static_cast<std::streamsize>(read.size())) && read == beginning;
}

/// Whether this is a page of this program, whose title says so.
bool is_report(const std::string& path) {
    if (!is_regular(path)) return false;
    constexpr std::size_t title_end_max = 16384; // policies may have long names
    std::ifstream file{path, std::ios::binary};
    std::string beginning(title_end_max, '\0');
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    return beginning.find(" vgpusim report</title>") != std::string::npos;
}

/// The files of a run in `folder`, which is below `base` and ends in "/" if it is not empty.
void add_run(const std::string& base, const std::string& folder, std::vector<std::string>& to) {
    const std::string path = base + "/" + folder;
    const auto summary = json_in(path + "summary.json");
    if (!summary || !is_summary(*summary)) return;
    if (begins_with(path + "pods.csv", "order,name,")) to.push_back(folder + "pods.csv");
    if (begins_with(path + "timeseries.csv", "event,time,")) to.push_back(folder + "timeseries.csv");
    if (begins_with(path + std::string{trace_name}, trace_beginning)) to.push_back(folder + std::string{trace_name});
    if (begins_with(path + std::string{prices_name}, prices_beginning)) to.push_back(folder + std::string{prices_name});
    to.push_back(folder + "summary.json");
}

void add_comparison(const std::string& base, std::vector<std::string>& to) {
    const auto summaries = json_in(base + "/" + summaries_name);
    const bool of_seeds = summaries && summaries->is_map() && summaries->find("version") != nullptr &&
                          summaries->find("seeds") != nullptr && summaries->find("differences") != nullptr;
    if (of_seeds) to.emplace_back(summaries_name);
    if (!summaries || summaries->items.empty() || !std::ranges::all_of(summaries->items, is_summary)) return;
    for (const document& summary : summaries->items) {
        const std::string folder = folder_of(summary.find("policy")->text);
        std::error_code unknown; // a folder that cannot be looked at is left alone
        if (folder != "." && folder != ".." &&
            !std::filesystem::exists(base + "/" + folder + "/report.html", unknown)) {
            add_run(base, folder + "/", to);
        }
    }
    to.emplace_back(summaries_name);
}

void add_study(const std::string& base, std::vector<std::string>& to) {
    const auto summary = json_in(base + "/" + study_summary_name);
    if (!summary || !summary->is_map()) return;
    for (const char* key : {"version", "config", "policies", "inputs", "runs"}) {
        if (summary->find(key) == nullptr) return;
    }
    const bool is_of_lists = summary->find("lists") != nullptr && summary->find("headlines") != nullptr;
    if (!is_of_lists && summary->find("cells") == nullptr) return;
    const auto header = is_of_lists ? study_table_header : loss_table_header;
    if (begins_with(base + "/" + study_table_name, header)) to.emplace_back(study_table_name);
    to.emplace_back(study_summary_name);
}

} // namespace

std::vector<std::string> stale_outputs(const std::string& folder, const std::vector<std::string>& written) {
    std::vector<std::string> earlier;
    add_run(folder, "", earlier);
    if (!earlier.empty()) add_run(folder, "baseline/", earlier); // which a run has only beside its own files
    add_comparison(folder, earlier);
    if (!earlier.empty() && is_report(folder + "/report.html")) earlier.emplace_back("report.html");
    add_study(folder, earlier);
    std::vector<std::string> stale;
    std::ranges::copy_if(earlier, std::back_inserter(stale), [&written](const std::string& name) {
        return std::ranges::find(written, name) == written.end();
    });
    return stale;
}

tl::expected<void, vgpuformats::write_failure> write_outputs(const std::string& folder, const named_texts& files) {
    std::vector<vgpuformats::output_file> outputs;
    std::vector<std::string> names;
    for (const auto& [name, text] : files) {
        outputs.push_back({.name = name, .content = text});
        names.push_back(name);
    }
    const auto stale = stale_outputs(folder, names); // while what was written before still says what it wrote
    if (auto written = vgpuformats::write_files(folder, outputs); !written) return written;
    return vgpuformats::remove_files(folder, stale);
}

} // namespace vgpusim
