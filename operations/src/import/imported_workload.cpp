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

#include "class_devices.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuops::importing {

namespace {

using vgputraces::accounted_job;

/// What a pod asks for.
struct pod_amounts {
    std::int64_t gpus = 0;
    std::vector<imported_container> containers;
    std::string product;

    auto operator<=>(const pod_amounts&) const = default;
};

constexpr std::string_view mig_resource = "nvidia.com/mig-";
constexpr std::int64_t milli_per_cpu = 1000;
constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20;
constexpr std::int64_t mib_per_gib = 1024;

/// "2026-11-01T10:00:00" of local time, "2026-11-01T10:00:00Z" of UTC.
std::string date_of(ticks time, vgputraces::accounting_source source) {
    const std::chrono::sys_seconds second{std::chrono::seconds{time.count() / vgpualloc::ticks_per_second.count()}};
    const bool is_local = source == vgputraces::accounting_source::sacct;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}{}", second, is_local ? "" : "Z");
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

std::int64_t mib_in(vgpualloc::bytes memory) { return (memory.count() + bytes_per_mib - 1) / bytes_per_mib; }

/// What pod number `pod` of a job asks for.
pod_amounts amounts_of(const accounted_job& job, std::int64_t pod, const std::string& product) {
    const auto part = [&](std::int64_t all) { return all / job.pods + (pod < all % job.pods ? 1 : 0); };
    pod_amounts amounts{.gpus = part(job.gpus), .containers = {}, .product = product};
    for (const vgputraces::accounted_container& container : job.containers) {
        amounts.containers.push_back(
            {.cpu = container.cpu, .memory_mib = mib_in(container.memory), .devices = container.devices});
    }
    if (!amounts.containers.empty()) return amounts;
    const std::string_view profile = profile_in(job.gpu_type);
    const vgpualloc::bytes memory{(job.memory.count() + job.pods - 1) / job.pods};
    imported_container& container = amounts.containers.emplace_back();
    container.cpu = vgpualloc::milli_cpu{part(job.cpu.count() / milli_per_cpu) * milli_per_cpu};
    container.memory_mib = mib_in(memory);
    if (amounts.gpus > 0) {
        const std::string resource = profile.empty() ? "nvidia.com/gpu" : std::string{mig_resource}.append(profile);
        container.devices.emplace(resource, amounts.gpus);
    }
    return amounts;
}

/// The sums of the containers.
imported_class class_with(const pod_amounts& pod) {
    imported_class of{.gpus = pod.gpus, .product = pod.product, .containers = pod.containers};
    for (const imported_container& container : pod.containers) {
        of.cpu += container.cpu;
        of.memory_mib += container.memory_mib;
    }
    const auto devices = devices_of(of);
    if (devices.size() == 1 && devices.begin()->first.starts_with(mig_resource)) {
        of.profile = devices.begin()->first.substr(mig_resource.size());
    }
    return of;
}

/// The same with only what Kubernetes takes in a name.
std::string name_part(std::string_view text) {
    std::string part;
    for (const char letter : text) {
        const bool is_upper = letter >= 'A' && letter <= 'Z';
        const bool is_taken = is_upper || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        part += is_upper ? static_cast<char>(letter - 'A' + 'a') : is_taken ? letter : '-';
    }
    while (part.ends_with('-')) part.pop_back();
    return part;
}

/// "4gpu-48cpu-192gi", with the product where one is asked for; what Kubernetes takes as a name.
std::string name_of(const imported_class& of) {
    std::string name;
    for (const auto& [resource, amount] : devices_of(of)) {
        const std::string short_name = resource.substr(resource.find('/') + 1);
        const bool is_profile = resource.starts_with(mig_resource); // which keeps its point
        name += fmt::format("{}{}-", amount, is_profile ? short_name : name_part(short_name));
    }
    const bool is_whole = of.cpu.count() % milli_per_cpu == 0;
    name += is_whole ? fmt::format("{}cpu", of.cpu.count() / milli_per_cpu) : fmt::format("{}mcpu", of.cpu.count());
    if (of.memory_mib > 0 && of.memory_mib % mib_per_gib == 0) {
        name += fmt::format("-{}gi", of.memory_mib / mib_per_gib);
    } else if (of.memory_mib > 0) {
        name += fmt::format("-{}mi", of.memory_mib);
    }
    return of.product.empty() ? name : name + "-" + name_part(of.product);
}

const std::string& queue_of(const accounted_job& job, queue_source source) {
    static const std::string none;
    switch (source) {
    case queue_source::queue:
        return job.queue;
    case queue_source::owner:
        return job.owner;
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
        const double wait_s = std::max(0.0, seconds_of(job.start - job.arrival));
        count(job, wait_s);
        result_.gpu_seconds += static_cast<double>(job.gpus) * seconds_of(job.elapsed);
        const auto known = options_->products.find(job.gpu_type);
        const std::string_view profile = profile_in(job.gpu_type);
        const std::string product = job.gpus > 0 && known != options_->products.end() ? known->second : std::string{};
        if (job.gpus > 0 && product.empty() && !job.gpu_type.empty() && job.gpu_type != profile) {
            result_.types_without_product[job.gpu_type] += job.gpus;
        }
        std::set<std::size_t> classes_of_job;
        for (std::int64_t pod = 0; pod < job.pods; ++pod) {
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
    void count(const accounted_job& job, double wait_s) {
        const std::string& counted = job.counted_as.empty() ? job.id : job.counted_as;
        result_.jobs_with_gpus += job.gpus > 0 && with_gpus_.insert(counted).second ? 1 : 0;
        users_.insert(job.user);
        if (!jobs_.insert(counted).second) return;
        ++result_.jobs;
        result_.jobs_running += job.is_running ? 1 : 0;
        wait_s_ += wait_s;
    }

    std::size_t class_of(const pod_amounts& amounts) {
        const auto [at, is_new] = numbers_.try_emplace(amounts, result_.classes.size());
        if (!is_new) return at->second;
        imported_class of = class_with(amounts);
        const std::string name = name_of(of);
        of.name = name;
        for (int number = 2; !names_.insert(of.name).second; ++number) of.name = name + "-" + std::to_string(number);
        result_.classes.push_back(std::move(of));
        runs_.emplace_back();
        return at->second;
    }

    void add_row(const accounted_job& job, std::int64_t pod, std::size_t pod_class, ticks begin) {
        vgputraces::arrival_table& table = result_.arrivals;
        vgputraces::arrival_row row{.name = job.pods > 1 ? job.id + "-" + std::to_string(pod) : job.id,
                                    .pod_class = static_cast<std::uint32_t>(pod_class),
                                    .queue = number_of(queues_, table.queues, queue_of(job, options_->queue)),
                                    .arrival = job.arrival - begin,
                                    .duration = job.is_running ? std::optional<ticks>{} : job.elapsed,
                                    .estimate = job.limit};
        const std::string& gang = job.gang.empty() ? job.id : job.gang;
        if (job.pods > 1 || !job.gang.empty()) row.gang = number_of(gangs_, table.gangs, gang);
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
    std::set<std::string> jobs_{};
    std::set<std::string> with_gpus_{};
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
        job.owner = first.owner;
        job.queue = first.queue;
        job.qos = first.qos;
    }
    std::ranges::stable_sort(jobs, {}, &accounted_job::arrival);
}

} // namespace

namespace {

document resources_of(const imported_container& container) {
    document requests = document::map();
    const std::int64_t cpu_milli = container.cpu.count();
    if (cpu_milli > 0) {
        const bool is_whole = cpu_milli % milli_per_cpu == 0;
        requests["cpu"] = is_whole ? std::to_string(cpu_milli / milli_per_cpu) : std::to_string(cpu_milli) + "m";
    }
    if (container.memory_mib > 0) requests["memory"] = std::to_string(container.memory_mib) + "Mi";
    document resources = document::map({{"requests", std::move(requests)}});
    document limits = document::map();
    for (const auto& [resource, amount] : container.devices) limits[resource] = std::to_string(amount);
    if (!container.devices.empty()) resources["limits"] = std::move(limits);
    return resources;
}

} // namespace

imported_workload workload_of(vgputraces::accounting accounted, const import_options& options) {
    align_gangs(accounted.jobs);
    workload_maker maker{options};
    for (const accounted_job& job : accounted.jobs) maker.add(job, accounted.jobs.front().arrival);
    imported_workload result = maker.finish();
    result.used = usage_of(accounted.jobs, accounted.covered);
    result.source = accounted.source;
    result.own_gpu_seconds = accounted.own_gpu_seconds;
    result.notes = std::move(accounted.notes);
    result.first = date_of(accounted.jobs.front().arrival, accounted.source);
    result.last = date_of(accounted.jobs.back().arrival, accounted.source);
    result.rows = accounted.rows;
    result.skipped = std::move(accounted.skipped);
    result.left_out = std::move(accounted.left_out);
    return result;
}

std::string manifests_of(const imported_workload& workload) {
    document items = document::list();
    for (const imported_class& of : workload.classes) {
        document containers = document::list();
        for (const imported_container& container : of.containers) {
            const std::string name =
                of.containers.size() == 1 ? "main" : "container-" + std::to_string(containers.size() + 1);
            containers.push_back(
                document::map({{"name", name}, {"image", "imported"}, {"resources", resources_of(container)}}));
        }
        document spec = document::map();
        if (!of.product.empty()) {
            spec["nodeSelector"] = document::map({{"nvidia.com/gpu.product", of.product}});
        }
        spec["containers"] = std::move(containers);
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
