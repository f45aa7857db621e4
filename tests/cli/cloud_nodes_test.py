"""GPUs of NVIDIA's plugin on nodes without labels of GPU feature discovery, and of plugins that are down."""

import json
import unittest

from clusters import cluster, node, pod
from support import CliTest

GPU = "nvidia.com/gpu"
GKE = "cloud.google.com/gke-"
L40S = {"nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.memory": "46068", "nvidia.com/gpu.count": "4"}


def asking(amount):
    return {GPU: str(amount), "cpu": "1"}


def gke_node(name, units, model, gpus, **labels):
    gpu_labels = {GKE + "accelerator": model, GKE + "accelerator-count": str(gpus), GKE + "nodepool": name.split("-")[0]}
    gpu_labels.update({GKE + key.replace("_", "-"): str(value) for key, value in labels.items()})
    return node(name, cpu="96", labels=gpu_labels, nvidia_com__gpu=str(units))


def aws_node(name, units, model, gpus, memory):
    gpu_labels = {"gpu-name": model, "gpu-count": str(gpus), "gpu-memory": str(memory), "gpu-manufacturer": "nvidia"}
    labels = {"karpenter.k8s.aws/instance-" + key: value for key, value in gpu_labels.items()}
    return node(name, cpu="96", labels=labels, nvidia_com__gpu=str(units))


def unregistered(name, allocatable, capacity=None, labels=L40S):
    """A node whose plugin offers fewer GPUs than it has; None: the resource is not there."""
    entry = node(name, cpu="96", labels=labels)
    amounts = dict(entry["status"]["allocatable"])
    entry["status"]["capacity"] = {**amounts, **({GPU: capacity} if capacity is not None else {})}
    if allocatable is not None:
        entry["status"]["allocatable"][GPU] = allocatable
        entry["status"]["capacity"].setdefault(GPU, allocatable)
    return entry


class CloudNodesTest(CliTest):
    def answer(self, command, *objects, more=()):
        file = self.write("cluster.json", json.dumps(cluster(*objects)))
        done = self.vgpusim(command, file, *more)
        self.assert_done(done)
        return done.stdout

    def test_gke_nodes_have_as_many_gpus_as_they_have(self):
        nodes = [gke_node("a100-0", 8, "nvidia-tesla-a100", 8),
                 gke_node("turns-0", 8, "nvidia-l4", 2, max_shared_clients_per_gpu=4, gpu_sharing_strategy="time-sharing"),
                 gke_node("cut-0", 14, "nvidia-tesla-a100", 2, gpu_partition_size="1g.5gb")]
        text = self.answer("show", *nodes, more=("--by", "node"))
        self.assertIn("12 GPUs on 3 nodes", text)
        self.assertRegex(text, r"(?m)^a100-0 .*A100-40GB whole")
        self.assertRegex(text, r"(?m)^turns-0 .*L4 time-slicing x4")
        self.assertRegex(text, r"(?m)^cut-0 .*A100-40GB mig")
        self.assertNotIn("unknown", text)

    def test_a_container_has_several_clients_of_mps_only_of_an_only_gpu_of_gke(self):
        for gpus, verdict in ((1, "fits now"), (2, "never")):
            entry = gke_node("mps-0", 10 * gpus, "nvidia-l4", gpus, max_shared_clients_per_gpu=10, gpu_sharing_strategy="mps")
            self.assertIn(verdict, self.answer("why", entry, pod("w", asking(2))), f"{gpus} GPUs")

    def test_labels_that_no_node_can_have_are_no_gpus(self):
        labels = {GPU + ".count": "1024", GPU + ".replicas": "1024", GPU + ".sharing-strategy": "none",
                  GPU + ".product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}
        text = self.answer("show", unregistered("many", None, labels=labels), node("g", labels=L40S, nvidia_com__gpu="4"))
        self.assertIn("4 GPUs on 1 node", text)

    def test_gpus_that_a_plugin_offers_under_another_name_are_not_out_of_service(self):
        named = unregistered("named", None)
        named["status"]["allocatable"]["nvidia.com/l40s"] = named["status"]["capacity"]["nvidia.com/l40s"] = "4"
        text = self.answer("show", named, node("g", labels=L40S, nvidia_com__gpu="4"))
        self.assertIn("4 GPUs on 1 node: 0.0 used (0 %), 4.0 free, 0.0 out of service.", text)

    def test_the_plugins_configuration_says_how_units_are_shared(self):
        nodes = [aws_node("g5", 40, "a10g", 4, 22888), aws_node("p4d", 8, "a100", 8, 40960)]
        config = self.write("plugin.yaml", "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                                           "    - name: nvidia.com/gpu\n      replicas: 10\n")
        without_config = self.answer("show", *nodes)
        self.assertIn("48 GPUs on 2 nodes", without_config)
        self.assertIn("karpenter.k8s.aws/instance-gpu-count: got '4', expected 40", without_config)
        with_config = self.answer("show", *nodes, more=("--config", config))
        self.assertIn("12 GPUs on 2 nodes", with_config)
        self.assertIn("A10G time-slicing x10", with_config)
        self.assertNotIn("instance-gpu-count", with_config)

    def test_gpus_of_a_plugin_that_is_down_are_out_of_service_and_used(self):
        ok = node("ok", cpu="96", labels=L40S, nvidia_com__gpu="4")
        pods = [pod("r", asking(4), on="down"), pod("d", asking(4), on="ok"), pod("w", asking(4))]
        for allocatable, capacity in (("0", "0"), ("0", "4"), (None, None)):
            with self.subTest(allocatable=allocatable, capacity=capacity):
                down = unregistered("down", allocatable, capacity)
                text = self.answer("show", ok, down, *pods)
                self.assertIn("8 GPUs on 2 nodes", text)
                why = self.answer("why", ok, down, *pods, more=("--pod", "team/w"))
                self.assertIn("the device plugin registers 0 of 4 GPUs", why)
                self.assertIn("out of service", why)
                self.assertNotIn("wrong kind", why)

    def test_a_plugin_that_is_not_to_run_leaves_no_gpus(self):
        passed_through = unregistered("vm", None, labels={**L40S, "nvidia.com/gpu.deploy.device-plugin": "false"})
        self.assertIn("4 GPUs on 1 node", self.answer("show", node("ok", cpu="96", labels=L40S, nvidia_com__gpu="4"), passed_through))

    def test_an_anonymised_snapshot_has_the_same_gpus(self):
        """Labels of clouds are read as those of feature discovery are, so they stay."""
        nodes = [gke_node("cut-0", 14, "nvidia-tesla-a100", 2, gpu_partition_size="1g.5gb"),
                 gke_node("turns-0", 8, "nvidia-l4", 2, max_shared_clients_per_gpu=4, gpu_sharing_strategy="time-sharing"),
                 gke_node("new-0", 4, "nvidia-x900", 4), aws_node("p4d", 8, "a100", 8, 40960)]
        out = self.root / "nameless.json"
        self.assert_done(self.vgpusim("snapshot", self.write("cluster.json", json.dumps(cluster(*nodes))), "--anonymise", "--out", out))
        text = self.vgpusim("show", out).stdout
        self.assertIn("16 GPUs on 4 nodes", text)
        for kind in ("A100-40GB whole", "A100-40GB mig", "L4 time-slicing x4", "x900 whole"):
            self.assertIn(kind, text)

    def test_a_model_that_nothing_says_is_unknown_everywhere(self):
        bare = node("bare", cpu="96", nvidia_com__gpu="8")
        wide = self.answer("show", bare, more=("-o", "wide"))
        self.assertIn("unknown whole", wide)
        self.assertNotIn("0 of 0 GiB", wide)
        self.assertIn("8 x unknown (exclusive)", self.answer("explain", bare, pod("w", asking(9)), more=("--pod", "team/w")))
        answer = self.answer("whatif", bare, pod("w", asking(9)), more=("--add-nodes", "bare=1"))
        self.assertIn("unknown whole free", answer)
        self.assertEqual(answer.count("without the energy of"), 1)
        self.assertIn("without the energy of 8 unknown before and 16 unknown after", answer)

    def test_a_container_that_asks_for_several_replicas_of_mps_is_told_so(self):
        labels = {"nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.memory": "23034", "nvidia.com/gpu.count": "2",
                  "nvidia.com/gpu.replicas": "10", "nvidia.com/gpu.sharing-strategy": "mps"}
        shared = node("mps", cpu="96", labels=labels, nvidia_com__gpu="20")
        other = node("whole", cpu="96", labels=L40S, nvidia_com__gpu="4")
        selector = {"nvidia.com/gpu.sharing-strategy": "mps"}
        for nodes in ((shared, other), (other, shared)):
            why = self.answer("why", *nodes, pod("w", asking(2), nodeSelector=selector), more=("--pod", "team/w"))
            self.assertIn("its device plugin gives a container one replica, not 2", why)
            self.assertNotIn("request not valid", why)
            listed = self.answer("why", *nodes, pod("w", asking(2), nodeSelector=selector))
            self.assertIn("gives a container one replica", listed)


if __name__ == "__main__":
    unittest.main()
