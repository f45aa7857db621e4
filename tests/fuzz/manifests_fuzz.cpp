// Kubernetes objects: validate and explain answer whatever the manifests say, in all dialects, and a view that is told
// of the objects one at a time stays sound.
#include "fuzz.hpp"

#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/explain/validate.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/kube/annotations.hpp"
#include "vgpualloc/kube/cluster_view.hpp"
#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace {

namespace kube = vgpualloc::kube;
namespace explaining = vgpualloc::explaining;
using fuzzing::require;

constexpr std::size_t pods_explained_max = 3;

/// Without a configuration; made once, because it takes longer than most inputs.
const vgpualloc::dialect_set& dialects() {
    static const vgpualloc::dialect_set result;
    return result;
}

void require_objects(const std::vector<kube::manifest>& objects) {
    for (const kube::manifest& object : objects) {
        require(object.says_the_same_as(object), "an object says what it says");
        for (const vgpualloc::error& problem : object.problems) fuzzing::require_readable(problem);
    }
    fuzzing::require_json(
        explaining::validate_json(explaining::validate(objects, dialects()), explaining::not_considered(objects)));
}

void explain(const kube::snapshot& state, const kube::snapshot_pod& pod, const char* policy) {
    const auto explained = explaining::explain(state, pod, {.policy = policy});
    if (!explained) return fuzzing::require_readable(explained.error());
    require(explained->nodes.size() == state.nodes().nodes.size(), "every node answers");
    require(explained->chosen.has_value() == (explained->fitting > 0), "a node is chosen where one fits");
    require(explaining::scheduling_message(*explained).empty() == explained->chosen.has_value(),
            "the scheduler's message says why no node fits, and only that");
    const explaining::explain_layout layout{.warnings = state.warnings};
    require(!explaining::explanation_text(*explained, layout).empty(), "an explanation has words");
    fuzzing::require_json(explaining::explanation_json(*explained, layout));
}

void require_view(const std::vector<kube::manifest>& objects) {
    kube::cluster_view view{dialects()};
    for (const kube::manifest& object : objects) {
        view.upsert(object);
        view.book().check();
    }
    for (const vgpualloc::error& warning : view.warnings()) fuzzing::require_readable(warning);
    for (const kube::manifest& object : objects) {
        if (object.node) view.remove_node(object.name);
        view.book().check();
    }
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    const auto objects = kube::read_manifests(input, "input");
    if (!objects) return require_readable(objects.error());
    require_objects(*objects);
    require_view(*objects);
    const auto state = kube::make_snapshot(*objects, dialects());
    if (!state) return require_readable(state.error());
    state->book->check();
    for (const vgpualloc::error& warning : state->warnings) require_readable(warning);
    for (std::size_t i = 0; i < state->pending.size() && i < pods_explained_max; ++i) {
        explain(*state, state->pending[i], i % 2 == 0 ? "binpack" : "fgd");
    }
    for (std::size_t i = 0; i < objects->size() && i < pods_explained_max; ++i) {
        if (!(*objects)[i].pod) continue;
        const auto pod = kube::read_snapshot_pod((*objects)[i], state->dialects);
        if (!pod) {
            require_readable(pod.error());
        } else {
            explain(*state, *pod, "spread");
        }
    }
}
