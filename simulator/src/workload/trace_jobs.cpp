#include "vgpusim/workload/trace_jobs.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "vgpualloc/model/limits.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/workload/offered_load.hpp"
#include "vgpusim/workload/queues.hpp"
#include "vgpusim/workload/requested.hpp"

namespace vgpusim {

using vgputraces::trace_job;

namespace {

constexpr std::int64_t trace_pods_max = 50'000'000;

/// What a pod asks for that gets `count` devices whole.
pod_request whole_devices(vgpualloc::milli_cpu cpu, vgpualloc::bytes memory, std::int64_t count) {
    pod_request request{.cpu = cpu, .memory = memory, .containers = {}};
    if (count > 0) request.containers.push_back({.count = count, .memory = {}, .cores = {}});
    return request;
}

std::int64_t part_of(std::int64_t amount, std::int64_t devices, std::int64_t of_devices) {
    __extension__ using wide_sum = __int128;
    return static_cast<std::int64_t>((wide_sum{amount} * devices + of_devices - 1) / of_devices);
}

class job_workload_builder {
public:
    job_workload_builder(vgpualloc::cluster nodes, const trace_workload_options& options)
        : options_{options}, some_name_queues_{!options.queues.empty()} {
        input_.queues = options.queues;
        for (const job_queue& queue : input_.queues) {
            queue_numbers_.emplace(queue.name, static_cast<std::uint32_t>(queue_numbers_.size()));
        }
        for (const vgpualloc::node& node : nodes.nodes) {
            const auto devices = static_cast<std::int64_t>(node.devices.size());
            devices_per_node_ = std::max(devices_per_node_, devices);
            milli_ += whole_gpu * devices;
        }
        // Without any device all jobs that need one stay where they are, whatever they are cut into.
        if (devices_per_node_ == 0) devices_per_node_ = vgpualloc::devices_per_node_max;
        input_.node_list_order.resize(nodes.nodes.size());
        std::iota(input_.node_list_order.begin(), input_.node_list_order.end(), 0U);
        input_.nodes = std::move(nodes);
        input_.rows_are_jobs = true;
    }

    /// Room for the pods of all jobs; an error if they are too many, before any is made.
    expected<void> reserve(std::span<const trace_job> jobs) {
        std::int64_t pods = 0;
        for (const trace_job& job : jobs) {
            pods += pods_of(job).pods;
            if (pods <= trace_pods_max) continue;
            return unexpected(bad_value(error_code::out_of_range, "", std::to_string(job.devices) + " devices",
                                        "fewer or smaller jobs: on nodes of at most " +
                                            std::to_string(devices_per_node_) +
                                            " devices they are more than 50000000 pods")
                                  .at("job " + job.name));
        }
        input_.names.reserve(jobs.size());
        input_.jobs.reserve(jobs.size());
        input_.pods.reserve(static_cast<std::size_t>(pods));
        input_.members.reserve(static_cast<std::size_t>(pods));
        return {};
    }

    expected<void> add(trace_job job) {
        const auto [rule, times, pods] = pods_of(job);
        const auto queue = queue_of(job.queue);
        if (!queue) {
            return unexpected(bad_value(error_code::unknown_name, "queue", job.queue.empty() ? no_queue_ : job.queue,
                                        "one of " + vgpuformats::some_of(options_.queues, &job_queue::name))
                                  .at("job " + job.name));
        }
        const std::int64_t minimum = rule != nullptr ? rule->request.minimum * times : pods;
        input_.jobs.push_back({.first = static_cast<std::uint32_t>(input_.members.size()),
                               .pods = static_cast<std::uint32_t>(pods),
                               .minimum = static_cast<std::uint32_t>(minimum),
                               .queue = *queue,
                               .priority = 0,
                               .estimate = job.estimate});
        if (rule != nullptr) {
            add_pods_of(*rule, job, times);
        } else {
            add_whole_devices(job, pods);
        }
        input_.names.push_back(std::move(job.name));
        return {};
    }

    expected<simulation_input> finish() && {
        if (!some_name_queues_) input_.queues.clear();
        input_.requested = requested_table{amounts_, device_count(input_.nodes)};
        if (options_.offered_load > 0.0) {
            if (const auto set = set_offered_load(input_, milli_, options_.offered_load); !set) {
                return unexpected(set.error());
            }
        }
        set_typical();
        return std::move(input_);
    }

private:
    /// The pods that a job becomes.
    struct job_pods {
        const mapping_rule* rule; ///< none: pods that ask for whole devices
        std::int64_t times;       ///< that the rule's templates are made
        std::int64_t pods;
    };

    [[nodiscard]] job_pods pods_of(const trace_job& job) const {
        const mapping_rule* const rule = rule_for(options_.mapping, job, options_.seed);
        if (rule == nullptr) return {rule, 1, nodes_for(job.devices)};
        const std::int64_t times = rule->once_per_device ? std::max<std::int64_t>(1, job.devices) : 1;
        return {rule, times, rule->request.pods * times};
    }

    [[nodiscard]] std::int64_t nodes_for(std::int64_t devices) const {
        return std::max<std::int64_t>(1, (devices + devices_per_node_ - 1) / devices_per_node_);
    }

    void add_whole_devices(const trace_job& job, std::int64_t pods) {
        for (std::int64_t left = job.devices, i = 0; i < pods; ++i, left -= devices_per_node_) {
            const std::int64_t devices = std::min(left, devices_per_node_);
            const bool is_whole = devices == job.devices;
            const vgpualloc::milli_cpu cpu{is_whole ? job.cpu.count() : part_of(job.cpu.count(), devices, job.devices)};
            const vgpualloc::bytes memory{is_whole ? job.memory.count()
                                                   : part_of(job.memory.count(), devices, job.devices)};
            const auto [known, is_new] =
                whole_numbers_.try_emplace({cpu, memory, devices}, static_cast<std::uint32_t>(input_.requests.size()));
            if (is_new) add_request(whole_devices(cpu, memory, devices), requested_milli(devices, whole_gpu));
            add_pod(job, known->second);
        }
    }

    void add_pods_of(const mapping_rule& rule, const trace_job& job, std::int64_t times) {
        const auto [known, is_new] =
            rule_numbers_.try_emplace(&rule, static_cast<std::uint32_t>(input_.requests.size()));
        if (is_new) {
            for (const pod_template& part : rule.request.templates) {
                add_request(part.request, requested_of_.of(part.request));
            }
        }
        for (std::int64_t i = 0; i < times; ++i) {
            std::uint32_t request = known->second;
            for (const pod_template& part : rule.request.templates) {
                for (std::int64_t pod = 0; pod < part.pods; ++pod) add_pod(job, request);
                ++request;
            }
        }
    }

    void add_request(pod_request request, vgpualloc::requested_amount amount) {
        input_.requests.push_back(std::move(request));
        amounts_.push_back(std::move(amount));
        counts_.push_back(0);
    }

    void add_pod(const trace_job& job, std::uint32_t request) {
        input_.members.push_back(static_cast<std::uint32_t>(input_.pods.size()));
        input_.pods.push_back({.name = static_cast<std::uint32_t>(input_.names.size()),
                               .copy = -1,
                               .request = request,
                               .arrival = job.arrival,
                               .duration = job.duration});
        ++counts_[request];
    }

    /// The number of a queue, which is new if queues are those that jobs name; else nothing.
    std::optional<std::uint32_t> queue_of(const std::string& named) {
        if (!named.empty()) some_name_queues_ = true;
        const std::string& name = named.empty() ? no_queue_ : named;
        const auto known = queue_numbers_.find(name);
        if (known != queue_numbers_.end()) return known->second;
        if (!options_.queues.empty()) return std::nullopt;
        const auto number = static_cast<std::uint32_t>(input_.queues.size());
        input_.queues.push_back({.name = name, .guaranteed = {}, .limit = {}});
        queue_numbers_.emplace(name, number);
        return number;
    }

    /// The most frequent requests until they are 95 % of the pods, as of an openb list.
    void set_typical() {
        constexpr std::int64_t percent = 95;
        std::vector<std::uint32_t> order(counts_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, std::ranges::greater{}, [this](std::uint32_t i) { return counts_[i]; });
        const auto pods = static_cast<std::int64_t>(input_.pods.size());
        std::int64_t covered = 0;
        for (const std::uint32_t request : order) {
            if (covered * 100 >= percent * pods) break;
            covered += counts_[request];
            input_.typical.typical.push_back({.cpu = input_.requests[request].cpu,
                                              .containers = input_.requests[request].containers,
                                              .frequency = 0.0,
                                              .weight = counts_[request]});
        }
        for (auto& typical : input_.typical.typical) {
            typical.frequency = static_cast<double>(typical.weight) / static_cast<double>(covered);
        }
    }

    const trace_workload_options& options_;
    simulation_input input_{};
    std::int64_t devices_per_node_ = 0; ///< of the largest node
    milli_gpu milli_;                   ///< of the whole cluster
    vgpualloc::requested_amounts requested_of_{input_.nodes};
    std::vector<vgpualloc::requested_amount> amounts_; ///< by request
    std::map<std::tuple<vgpualloc::milli_cpu, vgpualloc::bytes, std::int64_t>, std::uint32_t> whole_numbers_;
    std::map<const mapping_rule*, std::uint32_t> rule_numbers_; ///< of the first template; only looked up
    std::vector<std::int64_t> counts_;                          ///< per request, pods that ask so
    const std::string no_queue_ = default_queue;                ///< of jobs that name none
    std::map<std::string, std::uint32_t> queue_numbers_;
    bool some_name_queues_ = false;
};

} // namespace

expected<simulation_input> build_trace_workload(vgpualloc::cluster nodes, std::vector<trace_job> jobs,
                                                const trace_workload_options& options) {
    job_workload_builder builder{std::move(nodes), options};
    if (auto room = builder.reserve(jobs); !room) return unexpected(std::move(room.error()));
    for (trace_job& job : jobs) {
        if (auto added = builder.add(std::move(job)); !added) return unexpected(std::move(added.error()));
    }
    return std::move(builder).finish();
}

} // namespace vgpusim
