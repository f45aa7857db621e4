"""Numbers in the answers of why and show: pods of several containers, units, gangs, and what is named as not looked at."""

import json
import unittest

import clusters
from support import CliTest

A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.replicas": "1"}


def whole(name, gpus):
    return clusters.node(name, labels={**A100, "nvidia.com/gpu.count": str(gpus)}, nvidia_com__gpu=str(gpus))


def cut(name, **instances):
    """One A100 with instances, as NVIDIA's plugin offers them under strategy mixed."""
    return clusters.node(name, labels={**A100, "nvidia.com/gpu.count": "1", "nvidia.com/mig.strategy": "mixed"},
                         **{"nvidia_com__mig-" + key: str(count) for key, count in instances.items()})


def pod(name, *containers, on=None, **how):
    """A pod whose containers ask for so many of one resource each: ("gpu", 2)."""
    first = clusters.pod(name, {"nvidia.com/" + containers[0][0]: str(containers[0][1])}, on=on, **how)
    for number, (resource, count) in enumerate(containers[1:]):
        limits = {"nvidia.com/" + resource: str(count)}
        first["spec"]["containers"].append({"name": f"c{number}", "resources": {"limits": limits, "requests": dict(limits)}})
    return first


class Numbers(CliTest):
    def answer(self, command, *objects, arguments=()):
        file = self.write("cluster.json", json.dumps(clusters.cluster(*objects)))
        done = self.vgpusim(command, file, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def why(self, *objects):
        return self.answer("why", *objects, arguments=("--pod", "team/w"))

    def test_containers_that_ask_for_the_same_count_together(self):
        text = self.why(whole("a", 2), pod("r", ("gpu", 1), on="a"), pod("w", ("gpu", 1), ("gpu", 1)))
        self.assertIn("all used: 2 gpu; 1 free of the right kind.", text)
        self.assertIn("gpu 1/2", text)
        self.assertIn("asks: nvidia.com/gpu 2,", text)

    def test_an_init_container_that_needs_more_counts(self):
        waits = pod("w", ("gpu", 1))
        limits = {"nvidia.com/gpu": "3"}
        waits["spec"]["initContainers"] = [{"name": "warm", "resources": {"limits": limits, "requests": dict(limits)}}]
        text = self.why(whole("a", 3), pod("r", ("gpu", 1), on="a"), waits)
        self.assertIn("3 gpu; 2 free of the right kind.", text)
        self.assertIn("gpu 2/3", text)
        self.assertIn("asks: nvidia.com/gpu 3,", text)

    def test_instances_are_counted_by_profile(self):
        nodes = [cut(name, **{"1g_10gb": 2, "3g_40gb": 1}) for name in ("m1", "m2")]
        held = [pod("r1", ("mig-1g.10gb", 1), on="m1"), pod("r2", ("mig-1g.10gb", 1), on="m2")]
        text = self.why(*nodes, *held, pod("w", ("mig-1g.10gb", 2)))
        self.assertIn("scattered: 2 mig-1g.10gb on one node; 2 free, at most 1 on one.", text)
        self.assertIn("mig-1g.10gb 1/2", text)
        text = self.why(*nodes, pod("w", ("mig-1g.10gb", 3)))
        self.assertIn("never: 3 mig-1g.10gb; at most mig-1g.10gb 2/3 on an empty node.", text)
        text = self.why(nodes[0], pod("r", ("mig-3g.40gb", 1), on="m1"), pod("w", ("mig-1g.10gb", 1), ("mig-3g.40gb", 1)))
        self.assertIn("no mig-3g.40gb free", text)

    def test_a_card_without_slots_is_not_free(self):
        register = f"GPU-h-0,1,40960,{clusters.A100},true,hami-core:"
        node = clusters.gpu_node("h", cards=1)
        node["metadata"]["annotations"]["volcano.sh/node-vgpu-register"] = register
        text = self.why(node, clusters.on_card("r", "h", 0, 4096), clusters.pod("w", clusters.vgpu(4096)))
        self.assertIn("w waits, all used", text)

    def test_a_gang_says_how_many_fit(self):
        group = {"scheduling.k8s.io/group-name": "g"}
        pod_group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "team"},
                     "spec": {"minMember": 3}, "status": {"phase": "Inqueue"}}
        members = [pod(name, ("gpu", 1), annotations=group) for name in ("v", "w", "x")]
        text = self.why(whole("a", 2), pod_group, *members)
        self.assertIn("gang: it fits; of its gang 2 pods fit, and 3 have to start together.", text)
        self.assertNotIn("start together (scheduling", text)
        pod_group["spec"]["minMember"] = 2
        self.assertIn("w waits, fits now", self.why(whole("a", 2), pod_group, *members))

    def test_what_is_asked_for_counts_by_nodes_that_could_serve_it(self):
        shared = clusters.node("t", labels={"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.memory": "15360",
                                            "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "4"}, nvidia_com__gpu="4")
        objects = [whole("a", 8), shared, pod("r", ("gpu", 8), on="a"), pod("w", ("gpu", 8))]
        answer = json.loads(self.answer("why", *objects, arguments=("--json",)))
        self.assertEqual([group["asked"] for group in answer["groups"]], [8000], "a T4 with four replicas can never have eight")

    def test_kinds_of_nodes_differ_by_taints(self):
        taint = [{"key": "team", "value": "llm", "effect": "NoSchedule"}]
        tainted = whole("b", 1)
        tainted["spec"] = {"taints": taint}
        running = pod("r", ("gpu", 1), on="a"), pod("s", ("gpu", 1), on="b", tolerations=[{"operator": "Exists"}])
        older = pod("older", ("gpu", 1), created="2026-01-01T00:00:00Z")
        waits = pod("w", ("gpu", 1), created="2026-01-02T00:00:00Z", tolerations=[{"operator": "Exists"}])
        text = self.why(whole("a", 1), tainted, *running, older, waits)
        self.assertIn("1 node more like b", text, "one like a is for the pod that is older")

    def test_amounts_stand_in_the_order_of_the_nodes(self):
        text = self.why(whole("b", 3), whole("a", 2), pod("w", ("gpu", 4)))
        self.assertRegex(text, r"gpu 2/4; gpu 3/4 +a, b")
        self.assertIn("would fit if: nothing that was tried helps", text)

    def test_lines_of_what_is_asked_are_not_too_long(self):
        rules = {f"example.com/label-number-{i}": "value" for i in range(8)}
        text = self.why(whole("a", 1), pod("w", ("gpu", 1), nodeSelector=rules))
        self.assertLessEqual(max(len(line) for line in text.splitlines() if not line.startswith("would")), 130)
        asks = text[text.index("asks:"):].splitlines()
        self.assertTrue(all(len(line) <= 100 for line in asks[:3]), asks)

    def test_what_is_not_looked_at_is_named(self):
        claims = clusters.pod("claims", {"cpu": "1"}, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
        self.assertIn("resource claims (spec.resourceClaims) (team/claims)", self.answer("show", whole("a", 1), claims))
        text = self.why(whole("a", 1), pod("w", ("gpu", 1), labels={"scheduling.x-k8s.io/pod-group": "g"}))
        self.assertIn("that the pods of group g start together (scheduling.x-k8s.io/pod-group)", text)
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "team"},
               "spec": {"suspend": True, "template": {"spec": pod("x", ("gpu", 1))["spec"]}}}
        text = self.answer("whatif", whole("a", 1), arguments=("--add-pods", self.write("job.json", json.dumps(job))))
        self.assertIn("1 pod starts", text)
        self.assertIn("that the workload is suspended (spec.suspend)", text)

    def test_pods_that_are_held_back_need_no_nodes(self):
        text = self.answer("whatif", whole("a", 1), pod("w", ("gpu", 1), schedulingGates=[{"name": "x.io/g"}]), arguments=("--find-nodes", "a"))
        self.assertIn("nodes like a help no pod: all that wait are held back", text)

    def test_a_shared_board_has_the_name_of_the_board(self):
        shared = clusters.node("s", labels={"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.memory": "15360",
                                            "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "4"}, nvidia_com__gpu="4")
        alone = clusters.node("t", labels={"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.memory": "15360",
                                           "nvidia.com/gpu.count": "1"}, nvidia_com__gpu="1")
        text = self.answer("show", shared, alone)
        self.assertIn("\nT4 time-slicing x4 ", text)
        self.assertIn("\nT4 whole ", text)


if __name__ == "__main__":
    unittest.main()
