#include "vgpusim/workload/pod_classes.hpp"

#include <map>
#include <optional>
#include <utility>

#include "vgpualloc/kube/snapshot.hpp"

namespace vgpusim {

using vgpualloc::kube::manifest;

namespace {

constexpr std::int64_t pods_per_class_max = 10'000'000;

error bad_class(const manifest& object, error_code code, std::string field, std::string value,
                std::string expectation) {
    return bad_value(code, field, value, std::move(expectation))
        .at(object.place + ": " + object.kind + " " + object.name);
}

/// The name of the job and of the task, which is empty for other objects. No name of Kubernetes has a '/'.
std::pair<std::string, std::string> split_name(const manifest& object) {
    const std::size_t slash = object.name.find('/');
    if (slash == std::string::npos) return {object.name, {}};
    return {object.name.substr(0, slash), object.name.substr(slash + 1)};
}

/// What of the pod's resources nobody reads, so that it would be taken for a pod that asks for nothing.
std::optional<error> unread_of(const manifest& object, const vgpualloc::dialect_set& dialects) {
    auto mistaken = dialects.mistaken_resources(*object.pod);
    if (!mistaken.empty()) {
        error problem = std::move(mistaken.front());
        problem.where = vgpualloc::kube::place_of(object, problem) + ": " + object.kind + " " + object.name +
                        (problem.where.empty() ? "" : ": " + problem.where);
        return problem;
    }
    const auto unread = dialects.resources_not_read(*object.pod);
    if (unread.empty() || !dialects.asked_by(*object.pod).empty()) return std::nullopt;
    return bad_class(object, error_code::unknown_name, unread.front().container, unread.front().resource,
                     "resources that a dialect reads (vgpusim dialects)");
}

expected<pod_template> read_template(const manifest& object, const std::string& task,
                                     const vgpualloc::dialect_set& dialects) {
    if (object.one_per_node) {
        return unexpected(bad_class(object, error_code::unsupported, "kind", object.kind,
                                    "an object that says how many pods it makes"));
    }
    if (object.replicas < 0 || object.replicas > pods_per_class_max) {
        return unexpected(bad_class(object, error_code::out_of_range, "replicas", std::to_string(object.replicas),
                                    "at most " + std::to_string(pods_per_class_max) + " pods"));
    }
    if (const auto unread = unread_of(object, dialects)) return unexpected(*unread);
    auto pod = vgpualloc::kube::read_snapshot_pod(object, dialects);
    if (!pod) return unexpected(std::move(pod).error());
    pod->object.name = split_name(object).first;
    return pod_template{.suffix = task.empty() ? "" : "-" + task,
                        .pods = object.replicas,
                        .request = std::move(pod->request),
                        .object = std::move(pod->object)};
}

/// Pods and minimum, when all templates are there.
expected<void> finish(pod_class& whole, const manifest& object) {
    whole.pods = 0;
    for (const pod_template& part : whole.templates) whole.pods += part.pods;
    std::erase_if(whole.templates, [](const pod_template& part) { return part.pods == 0; });
    if (whole.pods == 0 || whole.pods > pods_per_class_max) {
        return unexpected(bad_class(object, error_code::out_of_range, "replicas", std::to_string(whole.pods),
                                    "1 to " + std::to_string(pods_per_class_max) + " pods"));
    }
    if (object.min_available > whole.pods) {
        return unexpected(bad_class(object, error_code::out_of_range, "minAvailable",
                                    std::to_string(object.min_available),
                                    "at most the " + std::to_string(whole.pods) + " pods that there are"));
    }
    whole.minimum = object.min_available == 0 ? whole.pods : object.min_available;
    return {};
}

} // namespace

expected<std::vector<pod_class>> read_pod_classes(std::span<const manifest> objects,
                                                  const vgpualloc::dialect_set& dialects, const std::string& source) {
    std::vector<pod_class> classes;
    std::map<std::string, std::string> places; // by name
    const manifest* last = nullptr;            // with a template
    const auto finish_last = [&]() -> expected<void> {
        return last == nullptr ? expected<void>{} : finish(classes.back(), *last);
    };
    for (const manifest& object : objects) {
        if (!object.pod && object.problems.empty()) continue;
        if (!object.problems.empty()) return unexpected(object.problems.front());
        const auto [name, task] = split_name(object);
        // The tasks of a Job follow each other and have its place.
        const bool is_next_task = last != nullptr && !task.empty() && last->place == object.place &&
                                  split_name(*last).first == name && !split_name(*last).second.empty();
        if (!is_next_task) {
            if (auto finished = finish_last(); !finished) return unexpected(finished.error());
            const auto [known, is_new] = places.try_emplace(name, object.place);
            if (!is_new) {
                return unexpected(bad_class(object, error_code::duplicate, "metadata.name", name,
                                            "a name that no class before has; " + known->second + " has it"));
            }
            classes.push_back({.name = name, .place = object.place, .templates = {}});
        }
        auto part = read_template(object, task, dialects);
        if (!part) return unexpected(std::move(part).error());
        classes.back().templates.push_back(*std::move(part));
        last = &object;
    }
    if (auto finished = finish_last(); !finished) return unexpected(finished.error());
    if (!classes.empty()) return classes;
    return unexpected(
        bad_input(error_code::missing, "", "missing", "at least one Pod, or an object with a template for pods")
            .at(source));
}

} // namespace vgpusim
