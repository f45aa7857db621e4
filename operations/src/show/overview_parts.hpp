// The parts of an overview, each read off the snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

/// What rows of the first table are made of.
enum class row_kind : std::uint8_t { pool, kind, node, label, resource, of_namespace, queue, owner };

struct grouping {
    row_kind rows = row_kind::pool;
    std::string name{}; ///< overview::by
};

/// What selection::by means. Errors: those of kube::label_key_of(), at "--by".
[[nodiscard]] expected<grouping> grouping_of(const kube::snapshot& state, const std::string& by);
[[nodiscard]] constexpr bool is_of_pods(row_kind rows) noexcept { return rows >= row_kind::resource; }

/// Error unknown_name, at "-n", for a namespace that no pod is in; an empty one is none.
[[nodiscard]] expected<void> check_namespace(const kube::snapshot& state, const std::string& ns);

/// Takes the nodes out of the cluster that are not in the set, and what runs there.
void keep_nodes(kube::snapshot& state, const std::vector<bool>& set);

/// Whether the pod counts here: it asks for devices, or nobody can read what it asks for.
[[nodiscard]] bool asks_for_devices(const kube::snapshot_pod& pod);
/// Whether it asks for something else, extended resources or claims, that nothing here reads.
[[nodiscard]] bool asks_for_unread(const kube::snapshot& state, const kube::snapshot_pod& pod);
/// Whether the pod is in a namespace that is listed.
[[nodiscard]] inline bool is_listed(const kube::snapshot_pod& pod, const selection& chosen) {
    return chosen.ns.empty() || pod.ns == chosen.ns;
}
/// The device resources that containers of a pod name, all together.
[[nodiscard]] std::map<std::string, std::int64_t> resources_of(const kube::snapshot& state,
                                                               const vgpualloc::kubernetes::pod& object);

/// The rows of devices, unless the first table has pods, and the totals of nodes and GPUs.
void add_devices(const kube::snapshot& state, const grouping& by, overview& to);

/// What there is for the pods of each request, by request.
using rooms = std::map<vgpualloc::pod_request, room>;

/// For the requests of the pods that wait.
[[nodiscard]] rooms rooms_of_waiting(kube::snapshot& state, const selection& chosen, const stop_signal& stop);

/// Is called once it is known who waits, while all nodes are there. The ledger has to be as before.
using waiting_visitor = std::function<void(kube::snapshot& state, const rooms& available, const overview& seen)>;
/// overview_of() with a visitor, which may be empty.
[[nodiscard]] expected<overview> overview_while(const std::vector<kube::manifest>& objects,
                                                const vgpualloc::dialect_set& dialects, const selection& chosen,
                                                const stop_signal& stop, const waiting_visitor& visit);

/// The first verdict of the pods that wait, in the order of the list, by request.
using first_verdicts = std::map<vgpualloc::pod_request, verdict>;

/// The pods that wait and whose gang cannot start now, placed alone, by full name.
using short_gangs = std::map<std::string, gang_shortage>;
[[nodiscard]] short_gangs pods_of_short_gangs(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                              const stop_signal& stop);

/// The pods that wait.
[[nodiscard]] first_verdicts add_waiting(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                         const selection& chosen, const short_gangs& gangs, const rooms& available,
                                         overview& to);

/// The rows of shapes and their mean. Requests in `known` are not looked at again; it is empty where nodes were taken
/// out since.
void add_shapes(kube::snapshot& state, const selection& chosen, const rooms& known, const first_verdicts& verdicts,
                overview& to, const stop_signal& stop);

/// The mean over pods of what is idle, with rules about other pods: what these keep from being of use is of the wrong
/// kind.
class idle_mean {
public:
    /// `kept_idle`: headroom::filling::kept_idle of one such pod.
    void add(const vgpualloc::pod_request& request, std::int64_t pods, std::int64_t kept_idle);
    [[nodiscard]] vgpualloc::idle_parts over(const vgpualloc::idle_splitter& splitter, const stop_signal& stop) const;

private:
    std::map<vgpualloc::pod_request, std::int64_t> counts_; ///< without rules about other pods
    std::int64_t kept_idle_ = 0;                            ///< added up over pods
    std::int64_t pods_ = 0;
};

/// What of the idle capacity that is of the wrong kind for a request is so for which reason; the parts add up to
/// `wrong_milli`.
[[nodiscard]] wrong_kinds split_wrong_kind(const kube::snapshot& state, const vgpualloc::pod_request& request,
                                           std::int64_t wrong_milli);

/// By pod_id, whether a pod runs on a node that is there and counts: it asks for devices, or has something of some.
/// `used_milli` are those of used_by_pods().
[[nodiscard]] std::vector<bool> pods_that_run(const kube::snapshot& state, const std::vector<std::int64_t>& used_milli);

/// The namespaces that have pods here, with their quotas of devices, and the rows of pods of the first table.
void add_pod_rows(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen,
                  const grouping& by, const rooms& waiting, overview& to);

/// Jobs, Deployments and the like that lack pods because a quota of their namespace is used up, and owners that Kueue
/// or Volcano has not let in, by name.
[[nodiscard]] std::vector<held_job> held_jobs(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                              const selection& chosen);
/// The part of it that is of queues.
void add_queued_owners(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const selection& chosen,
                       std::vector<held_job>& to);

} // namespace vgpuops::show
