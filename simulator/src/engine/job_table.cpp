#include "vgpusim/engine/job_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace vgpusim {

job_table::job_table(const simulation_input& input) : input_{&input}, class_count_{input.requests.size()} {
    if (!input.queues.empty()) {
        for (const auto& request : input.requests) amounts_of_request_.push_back(amounts_of(request));
    }
    if (!named()) return;
    job_of_.resize(input.pods.size());
    class_of_.reserve(input.jobs.size());
    std::map<std::vector<std::int64_t>, std::uint32_t> classes; // terms, then the requests
    std::vector<std::int64_t> key;
    for (std::uint32_t number = 0; number < input.jobs.size(); ++number) {
        const job& terms = input.jobs[number];
        key = {terms.priority, terms.queue, terms.minimum};
        for (std::uint32_t i = 0; i < terms.pods; ++i) {
            job_of_[pod(number, i)] = number;
            key.push_back(request_of(pod(number, i)));
        }
        class_of_.push_back(classes.try_emplace(key, static_cast<std::uint32_t>(classes.size())).first->second);
    }
    class_count_ = classes.size();
}

ticks job_table::estimate(std::uint32_t job) const noexcept {
    if (named() && input_->jobs[job].estimate) return *input_->jobs[job].estimate;
    ticks longest{0};
    for (std::uint32_t i = 0; i < pod_count(job); ++i) {
        const auto& duration = input_->pods[pod(job, i)].duration;
        if (!duration) return ticks::max();
        longest = std::max(longest, *duration);
    }
    return longest;
}

device_amounts job_table::amounts(std::uint32_t job) const noexcept {
    device_amounts sum;
    for (std::uint32_t i = 0; i < pod_count(job); ++i) {
        const device_amounts& part = amounts_of_request_[request_of(pod(job, i))];
        sum.devices += part.devices;
        sum.memory_mib += part.memory_mib;
        sum.cores_percent += part.cores_percent;
    }
    return sum;
}

device_amounts amounts_of(const pod_request& request) noexcept {
    device_amounts sum;
    for (const auto& container : request.containers) {
        sum.devices += container.count;
        sum.memory_mib += container.count * container.memory.count();
        sum.cores_percent += container.count * container.cores.count();
    }
    return sum;
}

} // namespace vgpusim
