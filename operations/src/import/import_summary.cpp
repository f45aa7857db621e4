// What was imported, in words and as a document.
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "../show/text_columns.hpp"
#include "class_devices.hpp"
#include "vgpuops/import/imported_workload.hpp"

namespace vgpuops::importing {

namespace {

constexpr std::size_t classes_shown_max = 12;
constexpr double seconds_per_hour = 3600;

std::string hours(double seconds) { return fmt::format("{:.2f}", seconds / seconds_per_hour); }

std::string counted(std::int64_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 || word == "series" ? "" : "s");
}

std::string seconds_text(ticks time) { return fmt::format("{:.0f}", seconds_of(time)); }

/// What a source calls its things, in the singular.
struct source_words {
    const char* name;
    const char* job;
    const char* user;
    const char* left_out; ///< what is counted of what is left out
    const char* row;      ///< that cannot be read
};

source_words words_of(vgputraces::accounting_source source) {
    switch (source) {
    case vgputraces::accounting_source::prometheus:
        return {.name = "prometheus", .job = "pod", .user = "namespace", .left_out = "pod", .row = "series"};
    case vgputraces::accounting_source::audit:
        return {.name = "audit", .job = "pod", .user = "namespace", .left_out = "pod", .row = "event"};
    case vgputraces::accounting_source::kueue:
        return {.name = "kueue", .job = "Workload", .user = "namespace", .left_out = "Workload", .row = "Workload"};
    case vgputraces::accounting_source::sacct:
        break;
    }
    return {.name = "sacct", .job = "job", .user = "user", .left_out = "row", .row = "row"};
}

bool is_of_pods(vgputraces::accounting_source source) { return std::string_view{words_of(source).job} == "pod"; }

std::string table_of(const imported_workload& workload) {
    std::vector<show::text_columns::column> columns{{.heading = "CLASS"},
                                                    {.heading = "JOBS", .is_number = true},
                                                    {.heading = "PODS", .is_number = true},
                                                    {.heading = "GPU-HOURS", .is_number = true},
                                                    {.heading = "MEDIAN RUN S", .is_number = true},
                                                    {.heading = "MEAN WAIT S", .is_number = true}};
    const bool has_jobs = !is_of_pods(workload.source); // where every pod is a job, one column has both
    if (!has_jobs) columns.erase(columns.begin() + 1);
    show::text_columns table{std::move(columns)};
    const auto add = [&](const std::string& name, const imported_class& of, const std::string& run_median,
                         double wait_s) {
        std::vector<std::string> cells{
            name,       std::to_string(of.jobs),      std::to_string(of.pods), hours(of.gpu_seconds),
            run_median, fmt::format("{:.0f}", wait_s)};
        if (!has_jobs) cells.erase(cells.begin() + 1);
        table.add(std::move(cells));
    };
    imported_class rest{.name = "others"};
    double rest_wait_s = 0;
    for (std::size_t i = 0; i < workload.classes.size(); ++i) {
        const imported_class& of = workload.classes[i];
        const bool is_shown = i < classes_shown_max || workload.classes.size() == classes_shown_max + 1;
        if (is_shown) {
            add(of.name, of, of.run_median ? seconds_text(*of.run_median) : "-", of.wait_mean_s);
            continue;
        }
        rest.jobs += of.jobs;
        rest.pods += of.pods;
        rest.gpu_seconds += of.gpu_seconds;
        rest_wait_s += of.wait_mean_s * static_cast<double>(of.jobs);
    }
    if (rest.jobs > 0) {
        const auto more = std::ssize(workload.classes) - static_cast<std::ptrdiff_t>(classes_shown_max);
        add(counted(more, "more class") + "es", rest, "-", rest_wait_s / static_cast<double>(rest.jobs));
    }
    return table.text();
}

} // namespace

std::string summary_text(const imported_workload& workload) {
    const source_words words = words_of(workload.source);
    std::string text =
        fmt::format("{} of {} ({} with GPUs), {} to {}: {} GPU-hours, mean wait {:.0f} s.\n",
                    counted(workload.jobs, words.job), counted(workload.users, words.user), workload.jobs_with_gpus,
                    workload.first, workload.last, hours(workload.gpu_seconds), workload.wait_mean_s);
    if (workload.own_gpu_seconds) {
        text += fmt::format("{} GPU-hours by the samples alone, as PromQL adds them up.\n",
                            hours(*workload.own_gpu_seconds));
    }
    if (workload.jobs_running > 0) {
        text += fmt::format("{} had not ended: replayed, {} to the end.\n", counted(workload.jobs_running, words.job),
                            workload.jobs_running == 1 ? "it stays" : "they stay");
    }
    text += "\n" + table_of(workload) + "\n";
    for (const std::string& note : workload.notes) text += fmt::format("note: {}\n", printable(note));
    for (const auto& [type, gpus] : workload.types_without_product) {
        text += fmt::format("note: {} of type {} may be any GPU in the replay; --gpu-type {}=PRODUCT names the nodes' "
                            "label nvidia.com/gpu.product\n",
                            counted(gpus, "GPU"), printable(type), printable(type));
    }
    for (const vgputraces::left_out_rows& left_out : workload.left_out) {
        text += fmt::format("left out: {}: {}\n", counted(left_out.count, words.left_out), left_out.reason);
    }
    if (workload.skipped.count > 0) {
        text += fmt::format("not read: {}, the first: {}\n", counted(workload.skipped.count, words.row),
                            workload.skipped.first.front().message());
    }
    return text;
}

document summary_json(const imported_workload& workload) {
    document classes = document::list();
    for (const imported_class& of : workload.classes) {
        document entry = document::map({{"name", of.name},
                                        {"gpus", of.gpus},
                                        {"profile", of.profile.empty() ? document{} : document{of.profile}},
                                        {"product", of.product.empty() ? document{} : document{of.product}},
                                        {"cpu_milli", of.cpu.count()},
                                        {"memory_mib", of.memory_mib},
                                        {"devices", document::map_of(devices_of(of))},
                                        {"jobs", of.jobs},
                                        {"pods", of.pods},
                                        {"gpu_seconds", of.gpu_seconds},
                                        {"wait_mean_s", of.wait_mean_s}});
        entry["run_median_s"] = of.run_median ? document{seconds_of(*of.run_median)} : document{};
        classes.push_back(std::move(entry));
    }
    document left_out = document::list();
    for (const vgputraces::left_out_rows& rows : workload.left_out) {
        left_out.push_back(document::map({{"reason", rows.reason}, {"count", rows.count}}));
    }
    document first_skipped = document::list();
    for (const error& failure : workload.skipped.first) first_skipped.push_back(failure.message());
    const auto& own = workload.own_gpu_seconds;
    return document::map(
        {{"source", words_of(workload.source).name},
         {"rows", workload.rows},
         {"jobs", workload.jobs},
         {"jobs_with_gpus", workload.jobs_with_gpus},
         {"jobs_running", workload.jobs_running},
         {"pods", std::ssize(workload.arrivals.rows)},
         {words_of(workload.source).user + std::string{"s"}, workload.users},
         {"first_arrival", workload.first},
         {"last_arrival", workload.last},
         {"gpu_seconds", workload.gpu_seconds},
         {"gpu_hours", workload.gpu_seconds / seconds_per_hour},
         {"gpu_hours_of_source", own ? document{*own / seconds_per_hour} : document{}},
         {"wait_mean_s", workload.wait_mean_s},
         {"notes", document::list_of(workload.notes)},
         {"classes", std::move(classes)},
         {"types_without_product", document::map_of(workload.types_without_product)},
         {"left_out_rows", std::move(left_out)},
         {"skipped_rows", document::map({{"count", workload.skipped.count}, {"first", std::move(first_skipped)}})}});
}

} // namespace vgpuops::importing
