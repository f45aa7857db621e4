// Who has GPUs and who waits for some: pods by namespace, queue, owner or resource.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "overview_parts.hpp"
#include "owner_names.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

/// What the quotas of devices say, by namespace. A resource is named as pods name it.
std::map<std::string, std::vector<quota_amount>> quotas_of(const kube::snapshot& state,
                                                           const std::vector<kube::manifest>& objects) {
    std::map<std::string, std::vector<quota_amount>> result;
    kube::resource_quotas quotas{objects};
    for (const kube::manifest& object : objects) {
        for (const auto& [limited, hard] : object.quota_hard) {
            constexpr std::string_view prefix = "requests.";
            std::string resource = limited.starts_with(prefix) ? limited.substr(prefix.size()) : limited;
            const auto reads = [&](const auto& spoken) { return spoken->reads_resource(resource); };
            if (std::ranges::none_of(state.dialects, reads)) continue;
            result[kube::namespace_of(object)].push_back(
                {.resource = std::move(resource), .used = quotas.used_words(object, limited), .hard = hard});
        }
    }
    return result;
}

/// The queue of Kueue or Volcano that a pod names, or that of its PodGroup; empty: none.
class queue_names {
public:
    explicit queue_names(const std::vector<kube::manifest>& objects) {
        for (const kube::manifest& object : objects) {
            if (!object.queueing || object.kind != "PodGroup") continue;
            of_group_.emplace(kube::full_name_of(object), object.queueing->queue);
        }
    }

    [[nodiscard]] std::string operator()(const kube::snapshot_pod& pod) const {
        for (const char* const key :
             {"kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"}) {
            for (const auto* const texts : {&pod.object.labels, &pod.object.annotations}) {
                if (const auto entry = texts->find(key); entry != texts->end()) return entry->second;
            }
        }
        const auto group = of_group_.find(kube::pod_group_of(pod.ns, pod.object));
        return group == of_group_.end() ? std::string{} : group->second;
    }

private:
    std::map<std::string, std::string> of_group_;
};

/// The device resources that a pod names: "nvidia.com/gpu, gpumem". A domain is not repeated.
std::string resource_words(const kube::snapshot& state, const kube::snapshot_pod& pod) {
    std::string words;
    std::string domain;
    for (const auto& [resource, amount] : resources_of(state, pod.object)) {
        const std::string own = resource.substr(0, resource.rfind('/') + 1);
        const bool is_repeated = !words.empty() && own == domain;
        words += (words.empty() ? "" : ", ") + (is_repeated ? resource.substr(own.size()) : resource);
        domain = own;
    }
    return words;
}

/// Counts pods by a key of theirs.
class pod_counter {
public:
    using key_function = std::function<std::string(const kube::snapshot_pod&)>;
    explicit pod_counter(key_function key) : key_{std::move(key)} {}

    void add_running(const kube::snapshot_pod& pod, std::int64_t used_milli) {
        pod_row& row = rows_[key_(pod)];
        ++row.run;
        row.used += used_milli;
    }
    void add_waiting(const kube::snapshot_pod& pod, std::int64_t asked_milli) {
        pod_row& row = rows_[key_(pod)];
        ++row.wait;
        row.asked += asked_milli;
    }

    /// Who uses most first.
    [[nodiscard]] std::vector<pod_row> take() {
        std::vector<pod_row> result;
        for (auto& [name, row] : rows_) {
            row.name = name;
            result.push_back(std::move(row));
        }
        std::ranges::stable_sort(result, std::ranges::greater{},
                                 [](const pod_row& row) { return std::pair{row.used, row.asked}; });
        return result;
    }

private:
    key_function key_;
    std::map<std::string, pod_row> rows_;
};

pod_counter::key_function key_of_rows(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                      row_kind rows) {
    if (rows == row_kind::queue) return queue_names{objects};
    if (rows == row_kind::resource) {
        return [&state](const kube::snapshot_pod& pod) { return resource_words(state, pod); };
    }
    if (rows == row_kind::owner) {
        return [owners = owner_names{objects}](const kube::snapshot_pod& pod) { return owners.top_of(pod).words(); };
    }
    return [](const kube::snapshot_pod& pod) { return pod.ns; };
}

} // namespace

std::vector<bool> pods_that_run(const kube::snapshot& state, const std::vector<std::int64_t>& used_milli) {
    std::vector<bool> result(state.bound.size());
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const auto& [pod, where] = state.bound[i];
        if (!state.book->is_present(where) || !state.book->is_live(pod_id{i})) continue;
        result[i] = asks_for_devices(pod) || used_milli[i] > 0;
    }
    return result;
}

void add_pod_rows(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen,
                  const grouping& by, const rooms& waiting, overview& to) {
    pod_counter users{key_of_rows(state, objects, row_kind::of_namespace)};
    pod_counter rows{key_of_rows(state, objects, by.rows)};
    const bool has_rows = is_of_pods(by.rows);
    const std::vector<std::int64_t> used_milli = used_by_pods(state);
    const std::vector<bool> runs = pods_that_run(state, used_milli);
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const kube::snapshot_pod& pod = state.bound[i].pod;
        if (!runs[i] || !is_listed(pod, chosen)) continue;
        ++to.pods_run;
        users.add_running(pod, used_milli[i]);
        if (has_rows) rows.add_running(pod, used_milli[i]);
    }
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!asks_for_devices(pod) || !is_listed(pod, chosen)) continue;
        const auto available = pod.failure ? waiting.end() : waiting.find(pod.request);
        const std::int64_t asked_milli = available == waiting.end() ? 0 : available->second.asked_milli;
        users.add_waiting(pod, asked_milli);
        if (has_rows) rows.add_waiting(pod, asked_milli);
    }
    auto quotas = quotas_of(state, objects);
    to.users = users.take();
    for (pod_row& row : to.users) row.quotas = std::move(quotas[row.name]);
    if (has_rows) to.pod_rows = by.rows == row_kind::of_namespace ? to.users : rows.take();
}

} // namespace vgpuops::show
