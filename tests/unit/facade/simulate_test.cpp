#include "vgpufacade/simulate.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_run.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpufacade/option_table.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace {

using facade_test::small_run;
using testing::ElementsAre;
using testing::HasSubstr;
using vgpufacade::simulate;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

std::string file_of(const vgpufacade::simulation_outcome& outcome, const std::string& name) {
    for (const auto& [file, text] : outcome.files()) {
        if (file == name) return text;
    }
    return "";
}

/// A cell as the CSV files have it; of real numbers with the digits of the column.
std::string cell(const vgpufacade::column& column, std::size_t row) {
    if (std::holds_alternative<vgpufacade::coded_column>(column.values)) return std::string{column.text(row)};
    if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
        return std::to_string((*whole)[row]);
    }
    if (const auto* const truth = std::get_if<std::vector<std::uint8_t>>(&column.values)) {
        return std::to_string((*truth)[row]);
    }
    const double value = std::get<std::vector<double>>(column.values)[row];
    if (std::isnan(value)) return "";
    std::array<char, 64> digits{};
    char* const end = digits.data() + digits.size();
    const auto written = column.name.starts_with("fragmentation")
                             ? std::to_chars(digits.data(), end, value, std::chars_format::fixed, 4)
                             : std::to_chars(digits.data(), end, value);
    return {digits.data(), written.ptr};
}

/// The table as a CSV.
std::vector<std::string> lines_of(const vgpufacade::table& table) {
    std::vector<std::string> lines(table.rows() + 1);
    for (const vgpufacade::column& column : table.columns) {
        for (std::string& line : lines) line += line.empty() && &column == &table.columns.front() ? "" : ",";
        lines.front() += column.name;
        for (std::size_t row = 0; row < table.rows(); ++row) lines[row + 1] += cell(column, row);
    }
    return lines;
}

TEST(simulate, gives_the_columns_of_its_files) {
    small_run run;
    run.options.config.departures = true;
    const auto outcome = run.outcome();
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(lines_of(*outcome->pods()), lines_of(file_of(*outcome, "pods.csv")));
    EXPECT_EQ(lines_of(*outcome->timeseries()), lines_of(file_of(*outcome, "timeseries.csv")));
    EXPECT_EQ(outcome->pods()->find("start_s")->unit, "s");
    const auto summary = outcome->summary();
    EXPECT_EQ(cell(*summary->find("pods.arrived"), 0), "5");
    EXPECT_EQ(cell(*summary->find("policy"), 0), "fgd");
    EXPECT_EQ(summary->find("gpu.total_milli")->unit, "milli-GPU");
    EXPECT_EQ(summary->rows(), 1U);
}

TEST(simulate, keeps_columns_when_the_outcome_is_gone) {
    std::shared_ptr<const vgpufacade::table> pods;
    {
        const auto outcome = small_run{}.outcome();
        ASSERT_TRUE(outcome);
        pods = outcome->pods();
    }
    EXPECT_EQ(pods->find("name")->text(0).empty(), false);
}

TEST(simulate, takes_columns_in_place_of_texts) {
    const std::string expected = small_run{}.texts();
    small_run run;
    const std::array<std::string_view, 2> node_names{"alpha", "beta"};
    const std::array<std::int32_t, 2> node_codes{0, 1};
    const std::array<std::string_view, 1> models{"T4"};
    const std::array<std::int32_t, 2> model_codes{0, 0};
    const std::array<std::int64_t, 2> node_cpu{32000, 32000};
    const std::array<std::int64_t, 2> node_memory{131072, 131072};
    const std::array<std::int64_t, 2> node_gpus{2, 1};
    const vgpuformats::column_table nodes{{{.name = "sn", .cells = vgpuformats::coded_texts{node_codes, node_names}},
                                           {.name = "cpu_milli", .cells = std::span<const std::int64_t>{node_cpu}},
                                           {.name = "memory_mib", .cells = std::span<const std::int64_t>{node_memory}},
                                           {.name = "gpu", .cells = std::span<const std::int64_t>{node_gpus}},
                                           {.name = "model", .cells = vgpuformats::coded_texts{model_codes, models}}}};
    const std::string names = "traininfer-ainfer-binfer-cwide";
    const std::array<std::int64_t, 6> ends{0, 5, 12, 19, 26, 30};
    const std::array<std::int64_t, 5> cpu{4000, 1000, 1000, 1000, 8000};
    const std::array<std::int64_t, 5> memory{16384, 4096, 4096, 4096, 32768};
    const std::array<std::int64_t, 5> gpus{1, 1, 1, 1, 2};
    const std::array<std::int64_t, 5> milli{1000, 500, 300, 500, 1000};
    vgpuformats::column_table pods{{{.name = "name", .cells = vgpuformats::joined_texts{ends, names}},
                                    {.name = "cpu_milli", .cells = std::span<const std::int64_t>{cpu}},
                                    {.name = "memory_mib", .cells = std::span<const std::int64_t>{memory}},
                                    {.name = "num_gpu", .cells = std::span<const std::int64_t>{gpus}},
                                    {.name = "gpu_milli", .cells = std::span<const std::int64_t>{milli}}}};
    run.source.add("nodes", nodes);
    run.source.add("pods", pods);
    const auto outcome = run.outcome();
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(expected.find(file_of(*outcome, "pods.csv")) != std::string::npos, true);
    EXPECT_EQ(expected.find(file_of(*outcome, "timeseries.csv")) != std::string::npos, true);

    pods.columns.back().cells = std::span<const std::int64_t>{milli}.first(4);
    EXPECT_EQ(run.outcome().error().message(), "pods: gpu_milli: expected 5 rows, as column name has, found 4");
    const std::array<double, 5> half{0.5, 1, 1, 1, 1};
    pods.columns.back().cells = std::span<const double>{half};
    EXPECT_THAT(run.outcome().error().message(),
                HasSubstr("pods row 0: gpu_milli: got '0.5', expected a whole number from 0"));
    pods.columns.pop_back();
    EXPECT_EQ(run.outcome().error().message(), "pods: gpu_milli: missing; expected this column");
}

TEST(simulate, says_what_is_wrong_as_the_command_line_does) {
    vgpufacade::simulate_options options;
    EXPECT_THAT(set_option(options, "polcy", "fgd").error().message(),
                HasSubstr("got 'polcy', expected one of the keys"));
    EXPECT_THAT(set_option(options, "seed", "x").error().message(), HasSubstr("seed: got 'x'"));
    EXPECT_THAT(set_option(options, "bound", "yes").error().message(), HasSubstr("bound: got 'yes', expected true or"));
    small_run run;
    run.options.config.pods = "list";
    EXPECT_EQ(run.outcome().error().message(), "list: missing; expected an input of that name");
    run.options.config.pods = "";
    EXPECT_EQ(run.outcome().error().message(), "pods: missing; expected a path");
    run.source.add("pods", "name,cpu_milli\na,1\n");
    run.options.config.pods = "pods";
    EXPECT_EQ(run.outcome().error().message(), "pods:1: memory_mib: missing; expected this column in the header");
}

TEST(simulate, ends_when_the_caller_wants_it) {
    small_run run;
    EXPECT_EQ(run.outcome({.tell = {}, .stop = [] { return true; }}).error().code, vgpualloc::error_code::stopped);
    std::string pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    for (int i = 0; i < 20'000; ++i) pods += "pod-" + std::to_string(100'000 + i) + ",100,100,1,10\n";
    run.source.add("pods", pods);
    int questions = 0;
    ASSERT_TRUE(run.outcome({.tell = {}, .stop = [&] { return ++questions < 0; }}));
    const int all = questions;
    EXPECT_GT(all, 20'000 / 256 * 2) << "both the list and the replay look";
    for (const int last : {1, all / 4, all / 2, all - 1}) {
        questions = 0;
        const auto outcome = run.outcome({.tell = {}, .stop = [&] { return ++questions > last; }});
        ASSERT_FALSE(outcome) << last;
        EXPECT_EQ(outcome.error().code, vgpualloc::error_code::stopped);
        EXPECT_EQ(questions, last + 1) << "nothing goes on after it";
    }
    const auto outcome = run.outcome();
    ASSERT_TRUE(outcome);
    questions = 0;
    const auto files = outcome->files({.tell = {}, .stop = [&] { return ++questions > 20; }});
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code, vgpualloc::error_code::stopped);
}

TEST(simulate, tells_how_far_it_is) {
    small_run run;
    std::string pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    for (int i = 0; i < 40'000; ++i) pods += "pod-" + std::to_string(100'000 + i) + ",100,100,1,10\n";
    run.source.add("pods", pods);
    std::vector<std::size_t> told;
    ASSERT_TRUE(run.outcome({.tell = [&](std::string_view what, std::size_t done, std::size_t total) {
        EXPECT_EQ(what, "fgd");
        EXPECT_EQ(total, 40'000U);
        told.push_back(done);
    }}));
    EXPECT_GE(told.size(), 2U);
}

TEST(simulate, takes_policies_and_disciplines_as_objects) {
    const std::string expected = small_run{"best_fit"}.texts();
    small_run run{"best_fit"};
    run.options.make_policies = [](const vgpualloc::policy_parameters& parameters, const vgpualloc::cluster& nodes) {
        EXPECT_FALSE(nodes.nodes.empty());
        return vgpualloc::make_policies("best_fit", "", parameters);
    };
    run.options.make_discipline = [] { return vgpusim::make_discipline<vgpusim::try_once>(); };
    EXPECT_EQ(run.texts(), expected);
}

TEST(simulate, compares_with_a_baseline) {
    small_run run;
    run.options.baseline = run.options.config;
    run.options.baseline->mode = "exclusive";
    const auto outcome = run.outcome();
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_NE(outcome->baseline(), nullptr);
    EXPECT_FALSE(outcome->answer().empty());
    EXPECT_FALSE(file_of(*outcome, "baseline/pods.csv").empty());
}

TEST(option_table, has_every_key_with_its_default) {
    const std::string json = vgpufacade::option_table_json();
    for (const auto& [key, value] : vgpusim::effective({})) {
        EXPECT_THAT(json, HasSubstr("\"name\": \"" + key + "\"")) << value;
    }
    EXPECT_THAT(vgpufacade::option_table_text(), HasSubstr("hami_core"));
    for (const auto& setting : vgpusim::all_settings()) {
        EXPECT_FALSE(setting.help.empty()) << setting.name;
        EXPECT_FALSE(setting.values.empty()) << setting.name;
        vgpusim::run_config config;
        EXPECT_TRUE(setting.set(config, setting.name, setting.get(config)) || setting.get(config).empty())
            << setting.name;
    }
}

TEST(simulate, runs_with_a_common_input_are_those_that_read_their_own) {
    const auto common = std::make_shared<vgpufacade::common_input>();
    for (const std::string policy : {"fgd", "best_fit", "spread"}) {
        small_run run{policy};
        const std::string alone = run.texts();
        run.options.input = common;
        EXPECT_EQ(run.texts(), alone) << policy;
    }
    small_run elsewhere;
    elsewhere.options.input = common;
    elsewhere.options.config.pods = "nowhere"; // is not read again
    EXPECT_TRUE(elsewhere.outcome());
    elsewhere.options.input = std::make_shared<vgpufacade::common_input>();
    EXPECT_FALSE(elsewhere.outcome());
    elsewhere.options.config.pods = "pods";
    EXPECT_TRUE(elsewhere.outcome()) << "what was not read is read by the next run";
}

TEST(simulate, a_run_of_which_figures_are_kept_has_the_same_figures) {
    small_run run;
    run.options.config.departures = true;
    const auto all = run.outcome();
    run.options.kept = vgpusim::kept_of_run::figures;
    const auto figures = run.outcome();
    ASSERT_TRUE(all && figures);
    EXPECT_EQ(vgpusim::figures_of(figures->record()).served_ratio, vgpusim::figures_of(all->record()).served_ratio);
    EXPECT_EQ(lines_of(*figures->timeseries()), lines_of(*all->timeseries()));
}

TEST(simulate, a_trace_is_written_where_the_caller_wants_one) {
    small_run run;
    run.options.baseline = run.options.config;
    const auto outcome = run.outcome();
    ASSERT_TRUE(outcome);
    const auto names = [&](bool with_trace) {
        std::string text;
        const auto files = outcome->files({}, with_trace);
        for (const auto& [name, content] : *files) text += name + " ";
        return text;
    };
    EXPECT_THAT(names(true), HasSubstr("trace.json baseline/pods.csv"));
    EXPECT_THAT(names(true), HasSubstr("baseline/trace.json"));
    EXPECT_EQ(names(false).find("trace.json"), std::string::npos);
}

} // namespace
