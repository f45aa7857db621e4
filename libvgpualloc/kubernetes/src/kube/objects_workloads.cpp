// Reading Kubernetes objects: workloads whose pods have several roles, each with a template of its own.
#include <algorithm>
#include <array>

#include "objects_parts.hpp"

namespace vgpualloc::kube {

namespace {

/// A training job of Kubeflow, and the field of its specification that has the roles by name.
struct training_kind {
    std::string_view kind;
    std::string_view roles;
};
constexpr std::array<training_kind, 6> training_kinds{{{"PyTorchJob", "pytorchReplicaSpecs"},
                                                       {"TFJob", "tfReplicaSpecs"},
                                                       {"MPIJob", "mpiReplicaSpecs"},
                                                       {"XGBoostJob", "xgbReplicaSpecs"},
                                                       {"PaddleJob", "paddleReplicaSpecs"},
                                                       {"JAXJob", "jaxReplicaSpecs"}}};

/// The other kinds, and the group of their apiVersion.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> other_kinds{
    {{"RayCluster", "ray.io"},
     {"RayJob", "ray.io"},
     {"RayService", "ray.io"},
     {"LeaderWorkerSet", "leaderworkerset.x-k8s.io"},
     {"JobSet", "jobset.x-k8s.io"}}};

const training_kind* training_kind_of(const manifest& object) {
    const auto* const known = std::ranges::find(training_kinds, object.kind, &training_kind::kind);
    if (known == training_kinds.end()) return nullptr;
    const std::string_view group = group_of(object.api_version);
    return group.empty() || group == "kubeflow.org" ? known : nullptr;
}

/// A product of two numbers of pods, or the most that there may be.
std::int64_t pods_of(std::int64_t groups, std::int64_t pods) {
    return pods > 0 && groups > replicas_max / pods ? replicas_max : groups * pods;
}

/// Schedulers that start the pods of a training job together. The operator makes a PodGroup of all its pods for them.
bool starts_gangs(const std::string& scheduler) {
    return scheduler == "volcano" || scheduler == "scheduler-plugins-scheduler" || scheduler == "kai-scheduler";
}

workload_roles training_roles(const object_cursor& spec, std::string_view field) {
    workload_roles result;
    const auto by_name = spec.at(field);
    std::int64_t pods = 0;
    bool is_gang = false;
    for (const auto& [name, role] : by_name.entries()) {
        const std::int64_t replicas = role.at("replicas").integer(0, replicas_max, 1);
        pods = std::min(pods + replicas, replicas_max);
        is_gang = is_gang || starts_gangs(role.at("template").at("spec").at("schedulerName").text());
        result.roles.push_back({.name = name, .from = role.at("template"), .replicas = replicas});
    }
    if (result.roles.empty()) by_name.fail(error_code::missing, "", "at least one role with a template");
    const std::int64_t written =
        spec.at("runPolicy").at("schedulingPolicy").at("minAvailable").integer(0, replicas_max, 0);
    result.min_available = written > 0 ? std::min(written, pods) : is_gang ? pods : 0;
    return result;
}

/// A head and groups of workers, whose replicas are several pods each where they span hosts. KubeRay keeps the number
/// of replicas between its bounds; a group without a number has the lower one.
workload_roles ray_roles(const object_cursor& spec) {
    workload_roles result;
    result.roles.push_back({.name = "head", .from = spec.at("headGroupSpec").at("template"), .replicas = 1});
    const std::vector<object_cursor> groups = spec.at("workerGroupSpecs").items();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const object_cursor& group = groups[i];
        const std::string name = group.at("groupName").text();
        const std::int64_t least = group.at("minReplicas").integer(0, replicas_max, 0);
        const std::int64_t most = group.at("maxReplicas").integer(0, replicas_max, replicas_max);
        const std::int64_t written = group.at("replicas").integer(0, replicas_max, least);
        const std::int64_t replicas =
            group.at("suspend").truth(false) ? 0 : std::min(std::max(written, least), std::max(most, least));
        result.roles.push_back({.name = name.empty() ? std::to_string(i) : name,
                                .from = group.at("template"),
                                .replicas = pods_of(replicas, group.at("numOfHosts").integer(1, replicas_max, 1))});
    }
    return result;
}

/// Groups of a leader and its workers. A group starts apart from the others, so all of them are no gang.
workload_roles leader_worker_roles(const object_cursor& spec) {
    workload_roles result;
    const auto group = spec.at("leaderWorkerTemplate");
    const std::int64_t groups = spec.at("replicas").integer(0, replicas_max, 1);
    const std::int64_t size = group.at("size").integer(1, replicas_max, 1);
    const auto worker = group.at("workerTemplate");
    const auto leader = group.at("leaderTemplate");
    result.roles.push_back({.name = "leader", .from = leader.present() ? leader : worker, .replicas = groups});
    if (size == 1) return result;
    result.roles.push_back({.name = "worker", .from = worker, .replicas = pods_of(groups, size - 1)});
    return result;
}

workload_roles job_set_roles(const object_cursor& spec) {
    workload_roles result;
    const auto jobs = spec.at("replicatedJobs");
    for (const object_cursor& job : jobs.items()) {
        const auto of_one = job.at("template").at("spec");
        std::int64_t pods = of_one.at("parallelism").integer(0, replicas_max, 1);
        const auto completions = of_one.at("completions");
        if (completions.present()) pods = std::min(pods, completions.integer(0, replicas_max, 1));
        const std::string name = job.at("name").text();
        result.roles.push_back({.name = name.empty() ? std::to_string(result.roles.size()) : name,
                                .from = of_one.at("template"),
                                .replicas = pods_of(job.at("replicas").integer(0, replicas_max, 1), pods)});
    }
    if (result.roles.empty()) jobs.fail(error_code::missing, "", "a list of at least one job");
    return result;
}

bool is_volcano_job(const manifest& object) {
    return group_of(object.api_version).starts_with("batch.volcano") &&
           (object.kind == "Job" || object.kind == "CronJob");
}

} // namespace

bool has_roles(const manifest& object) {
    if (is_volcano_job(object) || training_kind_of(object) != nullptr) return true;
    const std::string_view group = group_of(object.api_version);
    return std::ranges::any_of(other_kinds, [&](const auto& known) {
        return known.first == object.kind && (group.empty() || group == known.second);
    });
}

bool starts_together(const manifest& object) { return object.min_available > 0 || is_volcano_job(object); }

workload_roles roles_of(const manifest& object, const object_cursor& spec) {
    if (const training_kind* const known = training_kind_of(object)) return training_roles(spec, known->roles);
    if (object.kind == "RayCluster") return ray_roles(spec);
    if (object.kind == "RayService") return ray_roles(spec.at("rayClusterConfig"));
    if (object.kind == "LeaderWorkerSet") return leader_worker_roles(spec);
    if (object.kind == "JobSet") return job_set_roles(spec);
    // A RayJob that runs on a cluster that is there makes none.
    const auto cluster = spec.at("rayClusterSpec");
    return cluster.present() || !spec.at("clusterSelector").present() ? ray_roles(cluster) : workload_roles{};
}

} // namespace vgpualloc::kube
