// The workload of Kubernetes objects and a table of arrivals.
#include "vgpusim/workload/kubernetes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "vgpuformats/some_names.hpp"
#include "vgpusim/workload/queues.hpp"
#include "vgpusim/workload/requested.hpp"

namespace vgpusim {

using vgputraces::arrival_row;
using vgputraces::arrival_table;

namespace {

/// What stands for the class of a pod that was there when the run began.
constexpr std::string_view start_class = "there at the start";

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

class workload_builder {
public:
    workload_builder(const vgpualloc::kube::snapshot& state, kubernetes_workload& workload)
        : state_{&state}, workload_{&workload}, requests_of_(workload.classes.size()) {}

    expected<simulation_input> build() {
        add_nodes();
        for (const auto& step : {&workload_builder::resolve_classes, &workload_builder::resolve_queues,
                                 &workload_builder::add_pods, &workload_builder::check_names}) {
            if (auto done = (this->*step)(); !done) return unexpected(std::move(done).error());
        }
        input_.requested = requested_table{amounts_, device_count(input_.nodes)};
        add_typical();
        if (has_jobs()) {
            if (auto joined = add_jobs(); !joined) return unexpected(std::move(joined).error());
        }
        if (!workload_->nodes.empty()) {
            input_.objects =
                std::make_shared<kubernetes_objects>(kubernetes_objects{.dialects = state_->dialects,
                                                                        .nodes = std::move(workload_->nodes),
                                                                        .pods = std::move(pod_objects_),
                                                                        .scheduler = workload_->scheduler});
        }
        return std::move(input_);
    }

private:
    [[nodiscard]] error problem(const arrival_row& row, const char* column, error_code code, std::string value,
                                std::string expectation) const {
        return bad_value(code, column, value, std::move(expectation))
            .at(workload_->arrivals.source + ":" + std::to_string(row.line));
    }

    /// The row in which the text has it first, which errors name.
    template <class Member>
    [[nodiscard]] const arrival_row& first_row(Member member, std::uint32_t value) const {
        const arrival_row* first = nullptr;
        for (const arrival_row& row : workload_->arrivals.rows) {
            if (row.*member == value && (first == nullptr || row.line < first->line)) first = &row;
        }
        return *first;
    }

    void add_nodes() {
        input_.nodes = workload_->start ? std::move(workload_->start->nodes) : state_->nodes();
        input_.node_list_order.resize(input_.nodes.nodes.size());
        std::iota(input_.node_list_order.begin(), input_.node_list_order.end(), 0U);
    }

    /// Gives the classes of the table their numbers in the list of classes.
    expected<void> resolve_classes() {
        std::map<std::string_view, std::uint32_t> numbers;
        for (std::size_t i = 0; i < workload_->classes.size(); ++i) {
            numbers.emplace(workload_->classes[i].name, static_cast<std::uint32_t>(i));
        }
        const auto& named = workload_->arrivals.classes;
        for (std::size_t i = 0; i < named.size(); ++i) {
            const auto known = numbers.find(named[i]);
            if (known == numbers.end()) {
                return unexpected(problem(first_row(&arrival_row::pod_class, static_cast<std::uint32_t>(i)), "class",
                                          error_code::unknown_name, named[i],
                                          "one of " + vgpuformats::some_of(workload_->classes, &pod_class::name)));
            }
            class_of_.push_back(known->second);
        }
        return {};
    }

    /// Gives the queues of the table their numbers in the list of queues. Without a list they are those of the table.
    expected<void> resolve_queues() {
        const auto& named = workload_->arrivals.queues;
        const bool is_list = workload_->queues.has_value();
        if (is_list) input_.queues = *workload_->queues;
        if (!is_list && named.size() == 1 && named.front().empty()) {
            queue_of_.push_back(0);
            return {};
        }
        for (std::size_t i = 0; i < named.size(); ++i) {
            const std::string name = named[i].empty() ? default_queue : named[i];
            auto known = std::ranges::find(input_.queues, name, &job_queue::name);
            if (known == input_.queues.end() && is_list) {
                return unexpected(problem(first_row(&arrival_row::queue, static_cast<std::uint32_t>(i)), "queue",
                                          named[i].empty() ? error_code::missing : error_code::unknown_name, named[i],
                                          (named[i].empty() ? "missing; expected " : "") + std::string{"one of "} +
                                              vgpuformats::some_of(input_.queues, &job_queue::name)));
            }
            if (known == input_.queues.end()) {
                input_.queues.push_back({.name = name, .guaranteed = {}, .limit = {}});
                known = input_.queues.end() - 1;
            }
            queue_of_.push_back(static_cast<std::uint32_t>(known - input_.queues.begin()));
        }
        if (workload_->start && !input_.queues.empty()) { // nobody says in which queue pods of the cluster are
            queue_of_start_ = static_cast<std::uint32_t>(input_.queues.size());
            input_.queues.push_back({.name = std::string{start_class}, .guaranteed = {}, .limit = {}});
        }
        return {};
    }

    [[nodiscard]] const pod_class& class_of(const arrival_row& row) const {
        return workload_->classes[class_of_[row.pod_class]];
    }

    /// The numbers of the requests of a class, by template. Requests of a class that are equal, and whose pods are, are
    /// one; those of two classes are two, so that classes can be told apart.
    const std::vector<std::uint32_t>& requests_of(std::uint32_t number) {
        std::vector<std::uint32_t>& known = requests_of_[number];
        if (!known.empty()) return known;
        const std::size_t first = input_.requests.size();
        for (const pod_template& part : workload_->classes[number].templates) {
            std::size_t same = first;
            while (same < input_.requests.size() &&
                   (input_.requests[same] != part.request || pod_objects_[same] != part.object)) {
                ++same;
            }
            known.push_back(static_cast<std::uint32_t>(same));
            if (same < input_.requests.size()) continue;
            input_.requests.push_back(part.request);
            pod_objects_.push_back(part.object);
            amounts_.push_back(requested_of_.of(part.request));
            input_.request_names.push_back(workload_->classes[number].name);
        }
        return known;
    }

    expected<void> add_pods() {
        constexpr std::int64_t pods_max = 50'000'000;
        std::int64_t pods = 0;
        for (const arrival_row& row : workload_->arrivals.rows) {
            pods += class_of(row).pods;
            if (pods <= pods_max) continue;
            return unexpected(problem(row, "class", error_code::out_of_range,
                                      workload_->arrivals.classes[row.pod_class],
                                      "no more than " + std::to_string(pods_max) + " pods in all"));
        }
        input_.pods.reserve(static_cast<std::size_t>(pods));
        input_.names.reserve(static_cast<std::size_t>(pods));
        if (workload_->start) add_start(*workload_->start);
        for (arrival_row& row : workload_->arrivals.rows) add_pods_of(row);
        return {};
    }

    /// What runs when the run begins, then what waits.
    void add_start(cluster_start& start) {
        std::map<pod_request, std::uint32_t> numbers;
        const auto add = [&](cluster_pod& pod) {
            const auto [entry, is_new] =
                numbers.try_emplace(std::move(pod.request), static_cast<std::uint32_t>(input_.requests.size()));
            if (is_new) {
                input_.requests.push_back(entry->first);
                pod_objects_.emplace_back(); // no scheduler that reads objects decides such a run
                amounts_.push_back(requested_of_.of(entry->first));
                input_.request_names.emplace_back(start_class);
            }
            input_.pods.push_back({.name = static_cast<std::uint32_t>(input_.pods.size()),
                                   .request = entry->second,
                                   .arrival = ticks{0},
                                   .duration = pod.duration});
            input_.names.push_back(std::move(pod.name));
            priorities_of_start_.push_back(pod.priority);
        };
        for (cluster_pod& pod : start.running) {
            add(pod);
            input_.running.push_back(*std::move(pod.where));
        }
        for (cluster_pod& pod : start.waiting) add(pod);
    }

    void add_pods_of(arrival_row& row) {
        const pod_class& whole = class_of(row);
        first_pod_.push_back(static_cast<std::uint32_t>(input_.pods.size()));
        const auto& requests = requests_of(class_of_[row.pod_class]);
        for (std::size_t t = 0; t < whole.templates.size(); ++t) {
            const pod_template& part = whole.templates[t];
            for (std::int64_t i = 0; i < part.pods; ++i) {
                input_.names.push_back(whole.pods == 1 ? std::move(row.name)
                                                       : row.name + part.suffix + "-" + std::to_string(i));
                input_.pods.push_back({.name = static_cast<std::uint32_t>(input_.pods.size()),
                                       .request = requests[t],
                                       .arrival = row.arrival,
                                       .duration = row.duration});
            }
        }
    }

    /// Rows have names that differ, but not the pods of a row with many.
    expected<void> check_names() {
        if (std::cmp_equal(input_.pods.size(), workload_->arrivals.rows.size())) return {};
        std::unordered_map<std::string_view, std::size_t> row_of; // only looked up, never walked
        row_of.reserve(input_.names.size());
        for (std::size_t pod = 0; pod < priorities_of_start_.size(); ++pod) row_of.emplace(input_.names[pod], nowhere);
        for (std::size_t r = 0; r < first_pod_.size(); ++r) {
            const std::size_t end = r + 1 < first_pod_.size() ? first_pod_[r + 1] : input_.names.size();
            for (std::size_t pod = first_pod_[r]; pod < end; ++pod) {
                const auto [entry, is_new] = row_of.try_emplace(input_.names[pod], r);
                if (is_new) continue;
                if (entry->second == nowhere) {
                    return unexpected(problem(workload_->arrivals.rows[r], "name", error_code::duplicate,
                                              input_.names[pod], "a name that no pod of the cluster has"));
                }
                const arrival_row& other = workload_->arrivals.rows[entry->second];
                return unexpected(problem(workload_->arrivals.rows[r], "name", error_code::duplicate, input_.names[pod],
                                          "pods with names that occur once; one of line " + std::to_string(other.line) +
                                              " has it too"));
            }
        }
        return {};
    }

    /// As kube::snapshot::typical() counts them.
    void add_typical() {
        vgpualloc::kube::request_counts counts;
        std::vector<std::int64_t> pods_of(input_.requests.size());
        for (const arriving_pod& pod : input_.pods) ++pods_of[pod.request];
        for (std::size_t i = 0; i < pods_of.size(); ++i) {
            counts[{input_.requests[i].cpu, input_.requests[i].containers}] += pods_of[i];
        }
        input_.typical = vgpualloc::kube::typical_of(counts);
    }

    /// Whether a pod is anything but a job of its own that nothing is said of.
    [[nodiscard]] bool has_jobs() const {
        const std::size_t rows = workload_->arrivals.rows.size() + priorities_of_start_.size();
        if (!input_.queues.empty() || input_.pods.size() != rows) return true;
        if (std::ranges::any_of(priorities_of_start_, [](std::int32_t priority) { return priority != 0; })) return true;
        return std::ranges::any_of(workload_->arrivals.rows, [](const arrival_row& row) {
            return row.gang != vgputraces::no_gang || row.priority != 0 || row.estimate.has_value();
        });
    }

    expected<void> add_jobs() {
        std::vector<std::uint32_t> job_of_gang(workload_->arrivals.gangs.size(), nowhere);
        const std::size_t jobs_of_start = priorities_of_start_.size();
        for (std::size_t pod = 0; pod < jobs_of_start; ++pod) {
            input_.jobs.push_back({.queue = queue_of_start_,
                                   .priority = priorities_of_start_[pod],
                                   .estimate = input_.pods[pod].duration});
        }
        std::vector<std::size_t> first_row_of(jobs_of_start); // by job
        std::vector<std::uint32_t> job_of;                    // by row
        for (std::size_t r = 0; r < workload_->arrivals.rows.size(); ++r) {
            const arrival_row& row = workload_->arrivals.rows[r];
            const auto next = static_cast<std::uint32_t>(input_.jobs.size());
            std::uint32_t number = row.gang == vgputraces::no_gang ? nowhere : job_of_gang[row.gang];
            if (number == nowhere) {
                number = next;
                if (row.gang != vgputraces::no_gang) job_of_gang[row.gang] = number;
                input_.jobs.push_back({.pods = 0,
                                       .minimum = 0,
                                       .queue = queue_of_[row.queue],
                                       .priority = row.priority,
                                       .estimate = ticks{0}});
                first_row_of.push_back(r);
            } else if (auto same = check_gang(workload_->arrivals.rows[first_row_of[number]], row); !same) {
                return same;
            }
            job_of.push_back(number);
            join(input_.jobs[number], row);
        }
        add_members(job_of);
        return {};
    }

    [[nodiscard]] expected<void> check_gang(const arrival_row& first, const arrival_row& row) const {
        const arrival_row& later = first.line < row.line ? row : first;
        const arrival_row& earlier = first.line < row.line ? first : row;
        const std::string gang =
            "gang " + workload_->arrivals.gangs[row.gang] + " in line " + std::to_string(earlier.line);
        if (queue_of_[first.queue] != queue_of_[row.queue]) {
            return unexpected(problem(later, "queue", error_code::mismatch, workload_->arrivals.queues[later.queue],
                                      "queue '" + workload_->arrivals.queues[earlier.queue] + "', as has " + gang));
        }
        if (first.priority != row.priority) {
            return unexpected(problem(later, "priority", error_code::mismatch, std::to_string(later.priority),
                                      std::to_string(earlier.priority) + ", as has " + gang));
        }
        return {};
    }

    void join(job& whole, const arrival_row& row) const {
        whole.pods += static_cast<std::uint32_t>(class_of(row).pods);
        whole.minimum += static_cast<std::uint32_t>(class_of(row).minimum);
        const auto estimate = row.estimate ? row.estimate : row.duration;
        whole.estimate =
            whole.estimate && estimate ? std::optional{std::max(*whole.estimate, *estimate)} : std::nullopt;
    }

    void add_members(const std::vector<std::uint32_t>& job_of) {
        std::uint32_t begin = 0;
        std::vector<std::uint32_t> next; // by job, where its next pod goes
        for (job& whole : input_.jobs) {
            whole.first = begin;
            next.push_back(begin);
            begin += whole.pods;
        }
        input_.members.resize(input_.pods.size());
        for (std::size_t pod = 0; pod < priorities_of_start_.size(); ++pod) {
            input_.members[pod] = static_cast<std::uint32_t>(pod);
        }
        for (std::size_t r = 0; r < job_of.size(); ++r) {
            const std::size_t end = r + 1 < first_pod_.size() ? first_pod_[r + 1] : input_.pods.size();
            for (std::size_t pod = first_pod_[r]; pod < end; ++pod) {
                input_.members[next[job_of[r]]++] = static_cast<std::uint32_t>(pod);
            }
        }
    }

    const vgpualloc::kube::snapshot* state_;
    kubernetes_workload* workload_;
    simulation_input input_;
    vgpualloc::requested_amounts requested_of_{input_.nodes};
    std::vector<vgpualloc::requested_amount> amounts_;    ///< by request
    std::vector<std::uint32_t> class_of_;                 ///< by class of the table
    std::vector<std::uint32_t> queue_of_;                 ///< by queue of the table
    std::vector<std::uint32_t> first_pod_;                ///< by row
    std::vector<std::vector<std::uint32_t>> requests_of_; ///< by class
    std::vector<vgpualloc::kubernetes::pod> pod_objects_; ///< by request
    std::uint32_t queue_of_start_ = 0;
    std::vector<std::int32_t> priorities_of_start_{}; ///< by pod, of those that are there when the run begins
};

} // namespace

expected<simulation_input> build_kubernetes_workload(const vgpualloc::kube::snapshot& state,
                                                     kubernetes_workload workload) {
    return workload_builder{state, workload}.build();
}

} // namespace vgpusim
