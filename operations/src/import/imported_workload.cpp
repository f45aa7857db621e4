#include "vgpuops/import/imported_workload.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "vgpuformats/json.hpp"

namespace vgpuops::importing {

namespace {

using vgputraces::accounted_job;

/// What a pod asks for.
struct pod_amounts {
    std::int64_t gpus = 0;
    std::string profile; ///< of MIG instances; empty: whole GPUs
    std::string product;
    vgpualloc::milli_cpu cpu;
    std::int64_t memory_mib = 0;

    auto operator<=>(const pod_amounts&) const = default;
};

constexpr std::int64_t milli_per_cpu = 1000;
constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20;
constexpr std::int64_t mib_per_gib = 1024;

/// "2026-11-01 10:00:00", of local time.
std::string date_of(ticks time) {
    const std::chrono::sys_seconds second{std::chrono::seconds{time.count() / vgpualloc::ticks_per_second.count()}};
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", second);
}

/// The MIG profile in a type of GPU, as Slurm's NVML plugin makes it: "1g.5gb" of "a100_1g.5gb". Empty: none.
std::string_view profile_in(std::string_view type) {
    const std::string_view last = type.substr(type.rfind('_') + 1);
    const auto is_number = [](std::string_view text) {
        return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::size_t point = last.find("g.");
    const bool is_profile = point != std::string_view::npos && last.ends_with("gb") && last.size() > point + 4 &&
                            is_number(last.substr(0, point)) &&
                            is_number(last.substr(point + 2, last.size() - point - 4));
    return is_profile ? last : std::string_view{};
}

/// What pod number `pod` of a job asks for.
pod_amounts amounts_of(const accounted_job& job, std::int64_t pod, const std::string& product) {
    const auto part = [&](std::int64_t all) { return all / job.nodes + (pod < all % job.nodes ? 1 : 0); };
    const std::int64_t memory = (job.memory.count() + job.nodes - 1) / job.nodes;
    return {.gpus = part(job.gpus),
            .profile = std::string{profile_in(job.gpu_type)},
            .product = product,
            .cpu = vgpualloc::milli_cpu{part(job.cpu.count() / milli_per_cpu) * milli_per_cpu},
            .memory_mib = (memory + bytes_per_mib - 1) / bytes_per_mib};
}

/// "4gpu-48cpu-192gi", with the product where one is asked for; what Kubernetes takes as a name.
std::string name_of(const pod_amounts& pod) {
    std::string name;
    if (pod.gpus > 0) name = fmt::format("{}{}-", pod.gpus, pod.profile.empty() ? "gpu" : "mig-" + pod.profile);
    name += fmt::format("{}cpu", pod.cpu.count() / milli_per_cpu);
    if (pod.memory_mib > 0 && pod.memory_mib % mib_per_gib == 0) {
        name += fmt::format("-{}gi", pod.memory_mib / mib_per_gib);
    } else if (pod.memory_mib > 0) {
        name += fmt::format("-{}mi", pod.memory_mib);
    }
    if (pod.product.empty()) return name;
    name += '-';
    for (const char letter : pod.product) {
        const bool is_upper = letter >= 'A' && letter <= 'Z';
        const bool is_kept = is_upper || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        name += is_upper ? static_cast<char>(letter - 'A' + 'a') : is_kept ? letter : '-';
    }
    while (name.ends_with('-')) name.pop_back();
    return name;
}

const std::string& queue_of(const accounted_job& job, queue_source source) {
    static const std::string none;
    switch (source) {
    case queue_source::partition:
        return job.partition;
    case queue_source::account:
        return job.account;
    case queue_source::user:
        return job.user;
    case queue_source::qos:
        return job.qos;
    case queue_source::none:
        break;
    }
    return none;
}

/// Makes rows and classes, job by job.
class workload_maker {
public:
    explicit workload_maker(const import_options& options) : options_{&options} {
        result_.arrivals.source = "arrivals.csv";
    }

    void add(const accounted_job& job, ticks begin) {
        ++result_.jobs;
        result_.jobs_with_gpus += job.gpus > 0 ? 1 : 0;
        result_.jobs_running += job.is_running ? 1 : 0;
        users_.insert(job.user);
        const double wait_s = std::max(0.0, seconds_of(job.start - job.arrival));
        wait_s_ += wait_s;
        result_.gpu_seconds += static_cast<double>(job.gpus) * seconds_of(job.elapsed);
        const auto known = options_->products.find(job.gpu_type);
        const std::string_view profile = profile_in(job.gpu_type);
        const std::string product = job.gpus > 0 && known != options_->products.end() ? known->second : std::string{};
        if (job.gpus > 0 && product.empty() && !job.gpu_type.empty() && job.gpu_type != profile) {
            result_.types_without_product[job.gpu_type] += job.gpus;
        }
        std::set<std::size_t> classes_of_job;
        for (std::int64_t pod = 0; pod < job.nodes; ++pod) {
            const pod_amounts amounts = amounts_of(job, pod, product);
            const std::size_t number = class_of(amounts);
            imported_class& of = result_.classes[number];
            ++of.pods;
            of.gpu_seconds += static_cast<double>(amounts.gpus) * seconds_of(job.elapsed);
            if (classes_of_job.insert(number).second) {
                ++of.jobs;
                of.wait_mean_s += wait_s;
                if (!job.is_running) runs_[number].push_back(job.elapsed);
            }
            add_row(job, pod, number, begin);
        }
    }

    [[nodiscard]] imported_workload finish() {
        for (std::size_t i = 0; i < result_.classes.size(); ++i) {
            imported_class& of = result_.classes[i];
            of.wait_mean_s /= static_cast<double>(of.jobs);
            std::vector<ticks>& runs = runs_[i];
            if (runs.empty()) continue;
            const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
            std::ranges::nth_element(runs, middle);
            of.run_median = *middle;
        }
        for (const imported_class& of : result_.classes) result_.arrivals.classes.push_back(of.name);
        std::ranges::sort(result_.classes, [](const imported_class& a, const imported_class& b) {
            return std::tie(b.gpu_seconds, a.name) < std::tie(a.gpu_seconds, b.name);
        });
        result_.users = static_cast<std::int64_t>(users_.size());
        result_.wait_mean_s = wait_s_ / static_cast<double>(result_.jobs);
        return std::move(result_);
    }

private:
    std::size_t class_of(const pod_amounts& amounts) {
        const auto [at, is_new] = numbers_.try_emplace(amounts, result_.classes.size());
        if (!is_new) return at->second;
        std::string name = name_of(amounts);
        for (int number = 2; !names_.insert(name).second; ++number) {
            name = name_of(amounts) + "-" + std::to_string(number);
        }
        result_.classes.push_back({.name = std::move(name),
                                   .gpus = amounts.gpus,
                                   .profile = amounts.profile,
                                   .product = amounts.product,
                                   .cpu = amounts.cpu,
                                   .memory_mib = amounts.memory_mib});
        runs_.emplace_back();
        return at->second;
    }

    void add_row(const accounted_job& job, std::int64_t pod, std::size_t pod_class, ticks begin) {
        vgputraces::arrival_table& table = result_.arrivals;
        vgputraces::arrival_row row{.name = job.nodes > 1 ? job.id + "-" + std::to_string(pod) : job.id,
                                    .pod_class = static_cast<std::uint32_t>(pod_class),
                                    .queue = number_of(queues_, table.queues, queue_of(job, options_->queue)),
                                    .arrival = job.arrival - begin,
                                    .duration = job.is_running ? std::optional<ticks>{} : job.elapsed,
                                    .estimate = job.limit};
        const std::string& gang = job.gang.empty() ? job.id : job.gang;
        if (job.nodes > 1 || !job.gang.empty()) row.gang = number_of(gangs_, table.gangs, gang);
        table.rows.push_back(std::move(row));
    }

    static std::uint32_t number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                                   std::vector<std::string>& texts, const std::string& text) {
        const auto [at, is_new] = numbers.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
        if (is_new) texts.push_back(text);
        return at->second;
    }

    const import_options* options_;
    imported_workload result_{};
    std::map<pod_amounts, std::size_t> numbers_{}; ///< of classes
    std::set<std::string> names_{};
    std::set<std::string> users_{};
    std::vector<std::vector<ticks>> runs_{};                  ///< by class
    std::unordered_map<std::string, std::uint32_t> queues_{}; ///< only looked up, never walked
    std::unordered_map<std::string, std::uint32_t> gangs_{};  ///< likewise
    double wait_s_ = 0;
};

/// Components of a heterogeneous job arrive together, with the last of them, in the queue of the first.
void align_gangs(std::vector<accounted_job>& jobs) {
    std::map<std::string, accounted_job> first_of;
    for (const accounted_job& job : jobs) {
        if (job.gang.empty()) continue;
        ticks& arrival = first_of.try_emplace(job.gang, job).first->second.arrival;
        arrival = std::max(arrival, job.arrival);
    }
    for (accounted_job& job : jobs) {
        if (job.gang.empty()) continue;
        const accounted_job& first = first_of.at(job.gang);
        job.arrival = first.arrival;
        job.user = first.user;
        job.account = first.account;
        job.partition = first.partition;
        job.qos = first.qos;
    }
    std::ranges::stable_sort(jobs, {}, &accounted_job::arrival);
}

} // namespace

imported_workload workload_of(vgputraces::accounting accounted, const import_options& options) {
    align_gangs(accounted.jobs);
    workload_maker maker{options};
    for (const accounted_job& job : accounted.jobs) maker.add(job, accounted.jobs.front().arrival);
    imported_workload result = maker.finish();
    result.used = usage_of(accounted.jobs);
    result.first = date_of(accounted.jobs.front().arrival);
    result.last = date_of(accounted.jobs.back().arrival);
    result.rows = accounted.rows;
    result.skipped = std::move(accounted.skipped);
    result.left_out = std::move(accounted.left_out);
    return result;
}

std::string manifests_of(const imported_workload& workload) {
    document items = document::list();
    for (const imported_class& of : workload.classes) {
        document requests = document::map();
        if (of.cpu.count() > 0) requests["cpu"] = std::to_string(of.cpu.count() / milli_per_cpu);
        if (of.memory_mib > 0) requests["memory"] = std::to_string(of.memory_mib) + "Mi";
        document resources = document::map({{"requests", std::move(requests)}});
        if (of.gpus > 0) {
            const std::string resource = of.profile.empty() ? "nvidia.com/gpu" : "nvidia.com/mig-" + of.profile;
            resources["limits"] = document::map({{resource, std::to_string(of.gpus)}});
        }
        document spec = document::map();
        if (!of.product.empty()) {
            spec["nodeSelector"] = document::map({{"nvidia.com/gpu.product", of.product}});
        }
        spec["containers"] =
            document::list({document::map({{"name", "main"}, {"image", "imported"}, {"resources", resources}})});
        items.push_back(document::map({{"apiVersion", "v1"},
                                       {"kind", "Pod"},
                                       {"metadata", document::map({{"name", of.name}})},
                                       {"spec", std::move(spec)}}));
    }
    return vgpuformats::print_json(document::map({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}),
                                   1) +
           "\n";
}

} // namespace vgpuops::importing
