// A question about a living cluster, from its objects as a text.
#include <vgpualloc/kube/objects.hpp>
#include <vgpuops/decisions/answer.hpp>
#include <vgpuops/snapshot/normalise.hpp>
#include <vgpuops/transition/transition_words.hpp>
#include <vgpuops/whatif/answer.hpp>

int main() {
    const auto objects = vgpualloc::kube::read_manifests(
        R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}}})",
        "cluster.json");
    if (!objects) return 1;
    const auto answer = vgpuops::whatif::answer_of(*objects, {}, {});
    return answer && answer->before.nodes == 1 && answer->before.devices == 4 ? 0 : 2;
}
