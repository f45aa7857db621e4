#include "vgpusim/study/compare.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "vgpualloc/compat/all.hpp"
#include "vgpuformats/json.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/engine/volcano_placer.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/study/experiment.hpp"

namespace vgpusim {

namespace {

constexpr const char* report_name = "report.html";

error bad_policies(const std::string& value, const char* expectation) {
    return bad_value(error_code::malformed, "--policy", value, expectation);
}

} // namespace

std::string folder_of(std::string policy) {
    for (char& c : policy) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
        if (!plain) c = '-';
    }
    return policy;
}

expected<void> check_policies(const std::vector<std::string>& policies) {
    if (policies.size() < 2) {
        return unexpected(bad_policies("", "two policies or more to compare, each with its own --policy"));
    }
    std::set<std::string> folders;
    for (const std::string& policy : policies) {
        if (!folders.insert(folder_of(policy)).second) return unexpected(bad_policies(policy, "policies that differ"));
    }
    return {};
}

expected<void> check_policy_names(const std::vector<std::string>& policies) {
    for (const std::string& policy : policies) {
        if (policy == volcano_policy) continue;
        if (const auto known = vgpualloc::make_policy(policy, {.target = {}, .seed = 0}); !known) {
            return unexpected(known.error());
        }
    }
    return {};
}

expected<std::vector<run_record>> compare(const run_config& config, const loaded_input& loaded,
                                          const std::vector<std::string>& policies, const progress_maker& make_progress,
                                          const stop_signal& stop) {
    const experiment plan = experiment_of(config, policies, {config.seed, config.seed});
    const auto load = [&](const cell&, const run_config&) -> expected<shared_input> {
        return shared_input{shared_input{}, &loaded}; // which the caller owns
    };
    const auto measure = [&](const cell_run& run) {
        return replay(run.config, loaded, loaded.input.nodes,
                      make_progress ? make_progress(run.config.policy) : simulation::progress{}, {.stop = stop});
    };
    auto results = run_experiment<run_record>(plan, load, measure, {.stop = stop});
    if (!results) return unexpected(std::move(results).error());
    std::vector<run_record*> runs;
    for (run_record& record : results->runs) runs.push_back(&record);
    share_span(runs);
    return std::move(results->runs);
}

std::vector<std::string> comparison_file_names(const run_config& config, const std::vector<std::string>& policies) {
    std::vector<std::string> names{summaries_name, report_name};
    for (const std::string& policy : policies) {
        run_config of_policy = config;
        of_policy.policy = policy;
        for (const std::string& file : names_of_run_files(of_policy)) names.push_back(folder_of(policy) + "/" + file);
    }
    return names;
}

named_texts comparison_files(const std::vector<run_record>& records, const loaded_input& loaded,
                             const stop_signal& stop) {
    named_texts files;
    document summaries = document::list();
    std::vector<vgpureport::report_run> shown;
    for (const run_record& record : records) {
        shown.push_back(describe(record, loaded, stop));
        auto of_run = run_files(record, loaded, nullptr, stop);
        if (stop.raised()) return files;
        for (auto& [name, text] : of_run) {
            if (name == "summary.json") summaries.push_back(vgpuformats::parse_json(text, name).value());
            files.emplace_back(folder_of(record.config.policy) + "/" + name, std::move(text));
        }
    }
    rank_only_comparable(shown);
    shown.front().answer = verdict_of(records);
    files.emplace_back(summaries_name, vgpuformats::print_json(summaries, 2) + "\n");
    files.emplace_back(report_name, vgpureport::render_report(shown, vgpureport::built_in_charts(), stop));
    return files;
}

} // namespace vgpusim
