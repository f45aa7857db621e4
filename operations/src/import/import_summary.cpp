// What was imported, in words and as a document.
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "../show/text_columns.hpp"
#include "vgpuops/import/imported_workload.hpp"

namespace vgpuops::importing {

namespace {

constexpr std::size_t classes_shown_max = 12;
constexpr double seconds_per_hour = 3600;

std::string hours(double seconds) { return fmt::format("{:.2f}", seconds / seconds_per_hour); }

std::string counted(std::int64_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string seconds_text(ticks time) { return fmt::format("{:.0f}", seconds_of(time)); }

std::string table_of(const imported_workload& workload) {
    show::text_columns table{{{.heading = "CLASS"},
                              {.heading = "JOBS", .is_number = true},
                              {.heading = "PODS", .is_number = true},
                              {.heading = "GPU-HOURS", .is_number = true},
                              {.heading = "MEDIAN RUN S", .is_number = true},
                              {.heading = "MEAN WAIT S", .is_number = true}}};
    imported_class rest{.name = "others"};
    double rest_wait_s = 0;
    for (std::size_t i = 0; i < workload.classes.size(); ++i) {
        const imported_class& of = workload.classes[i];
        const bool is_shown = i < classes_shown_max || workload.classes.size() == classes_shown_max + 1;
        if (is_shown) {
            table.add({of.name, std::to_string(of.jobs), std::to_string(of.pods), hours(of.gpu_seconds),
                       of.run_median ? seconds_text(*of.run_median) : "-", fmt::format("{:.0f}", of.wait_mean_s)});
            continue;
        }
        rest.jobs += of.jobs;
        rest.pods += of.pods;
        rest.gpu_seconds += of.gpu_seconds;
        rest_wait_s += of.wait_mean_s * static_cast<double>(of.jobs);
    }
    if (rest.jobs > 0) {
        table.add(
            {counted(std::ssize(workload.classes) - static_cast<std::ptrdiff_t>(classes_shown_max), "more class") +
                 "es",
             std::to_string(rest.jobs), std::to_string(rest.pods), hours(rest.gpu_seconds), "-",
             fmt::format("{:.0f}", rest_wait_s / static_cast<double>(rest.jobs))});
    }
    return table.text();
}

} // namespace

std::string summary_text(const imported_workload& workload) {
    std::string text =
        fmt::format("{} of {} ({} with GPUs), {} to {}: {} GPU-hours, mean wait {:.0f} s.\n",
                    counted(workload.jobs, "job"), counted(workload.users, "user"), workload.jobs_with_gpus,
                    workload.first, workload.last, hours(workload.gpu_seconds), workload.wait_mean_s);
    if (workload.jobs_running > 0) {
        text += fmt::format("{} had not ended: replayed, {} to the end.\n", counted(workload.jobs_running, "job"),
                            workload.jobs_running == 1 ? "it stays" : "they stay");
    }
    text += "\n" + table_of(workload) + "\n";
    for (const auto& [type, gpus] : workload.types_without_product) {
        text += fmt::format("note: {} of type {} may be any GPU in the replay; --gpu-type {}=PRODUCT names the nodes' "
                            "label nvidia.com/gpu.product\n",
                            counted(gpus, "GPU"), printable(type), printable(type));
    }
    for (const vgputraces::left_out_rows& left_out : workload.left_out) {
        text += fmt::format("left out: {}: {}\n", counted(left_out.count, "row"), left_out.reason);
    }
    if (workload.skipped.count > 0) {
        text += fmt::format("not read: {}, the first: {}\n", counted(workload.skipped.count, "row"),
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
    return document::map(
        {{"source", "sacct"},
         {"rows", workload.rows},
         {"jobs", workload.jobs},
         {"jobs_with_gpus", workload.jobs_with_gpus},
         {"jobs_running", workload.jobs_running},
         {"pods", std::ssize(workload.arrivals.rows)},
         {"users", workload.users},
         {"first_arrival", workload.first},
         {"last_arrival", workload.last},
         {"gpu_seconds", workload.gpu_seconds},
         {"gpu_hours", workload.gpu_seconds / seconds_per_hour},
         {"wait_mean_s", workload.wait_mean_s},
         {"classes", std::move(classes)},
         {"types_without_product", document::map_of(workload.types_without_product)},
         {"left_out_rows", std::move(left_out)},
         {"skipped_rows", document::map({{"count", workload.skipped.count}, {"first", std::move(first_skipped)}})}});
}

} // namespace vgpuops::importing
