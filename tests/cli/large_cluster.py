"""Writes a large cluster as `kubectl get nodes,pods,resourcequotas -A -o json` would: to measure how long commands take.

    python3 tests/cli/large_cluster.py cluster.json --nodes 5000 --pods 200000

Three tenths of the nodes have eight whole A100, one tenth A100 that are cut, one tenth T4 shared in time, one tenth no
GPU, and four tenths cards under HAMi. One pod in ten asks for GPUs, as long as there are some; the others have CPU and
memory alone. The same arguments give the same bytes.
"""

import argparse
import json
import random

ZONES = ("a", "b", "c")
LAYOUT = {"nvidia.com/mig-1g.10gb": 8, "nvidia.com/mig-2g.20gb": 4, "nvidia.com/mig-3g.40gb": 4}


def labels_of_nvidia(model, memory_mib, count, more):
    return {"nvidia.com/gpu.product": model, "nvidia.com/gpu.memory": str(memory_mib), "nvidia.com/gpu.count": str(count), **more}


def hami_cards(name):
    return [{"id": f"GPU-{name}-{i}", "index": i, "count": 10, "devmem": 46068, "devcore": 100, "type": "NVIDIA-NVIDIA L40S",
             "mode": "hami-core", "health": True} for i in range(4)]


class Cluster:
    """Nodes with what is free of their devices."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes = []
        self.free = []  # of a node: its kind, and what is left of its devices

    def add_node(self):
        number = len(self.nodes)
        name = f"node-{number:05}"
        kind = ("whole", "hami", "none", "whole", "hami", "mig", "hami", "shared", "whole", "hami")[number % 10]
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": ZONES[number % 3],
                  "pool": f"{kind}-{number % 4}", "rack": f"r{number // 32}"}
        annotations = {}
        resources = {}
        if kind == "whole":
            labels |= labels_of_nvidia("NVIDIA-A100-SXM4-80GB", 81920, 8, {"nvidia.com/gpu.replicas": "1"})
            resources = {"nvidia.com/gpu": 8}
            left = 8
        elif kind == "mig":
            labels |= labels_of_nvidia("NVIDIA-A100-SXM4-80GB", 81920, 4, {"nvidia.com/mig.config": "all-balanced",
                                                                          "nvidia.com/mig.strategy": "mixed"})
            resources = LAYOUT
            left = dict(LAYOUT)
        elif kind == "shared":
            labels |= labels_of_nvidia("Tesla-T4-SHARED", 15360, 4, {"nvidia.com/gpu.replicas": "4"})
            resources = {"nvidia.com/gpu": 16}
            left = 16
        elif kind == "hami":
            annotations = {"hami.io/node-nvidia-register": json.dumps(hami_cards(name))}
            resources = {"nvidia.com/gpu": 40}
            left = [46068] * 4
        else:
            left = None
        allocatable = {"cpu": "128", "memory": "1024Gi", "pods": "110", **{key: str(amount) for key, amount in resources.items()}}
        self.nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": annotations},
                           "spec": {"unschedulable": True} if number % 50 == 7 else {},
                           "status": {"allocatable": allocatable, "capacity": allocatable,
                                      "conditions": [{"type": "Ready", "status": "False" if number % 100 == 21 else "True"}]}})
        self.free.append((kind, left))

    def devices_for(self, number):
        """Limits and annotations of a pod with GPUs of a node, or of one without if the node has none left."""
        kind, left = self.free[number]
        if kind in ("whole", "shared"):
            count = min(self.random.choice((1, 1, 2, 4)) if kind == "whole" else 1, left)
            self.free[number] = (kind, left - count)
            return ({"nvidia.com/gpu": str(count)} if count else {}), {}
        if kind == "mig":
            profile = self.random.choice(sorted(left))
            if left[profile] == 0:
                return {}, {}
            left[profile] -= 1
            return {profile: "1"}, {}
        if kind == "hami":
            card = self.random.randrange(4)
            memory = self.random.choice((4096, 8192, 16384, 24576))
            if left[card] < memory:
                return {}, {}
            left[card] -= memory
            name = self.nodes[number]["metadata"]["name"]
            return ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(memory), "nvidia.com/gpucores": "5"},
                    {"hami.io/vgpu-node": name, "hami.io/vgpu-devices-allocated": f"GPU-{name}-{card},NVIDIA,{memory},5:;",
                     "hami.io/bind-phase": "success"})
        return {}, {}

    def pod(self, number):
        ns = f"team-{number % 40}"
        node = number % len(self.nodes)
        waits = number % 400 == 3
        limits, annotations = self.devices_for(node) if number % 10 == number // len(self.nodes) % 10 else ({}, {})
        if waits:
            limits, annotations = {"nvidia.com/gpu": str(self.random.choice((1, 2, 8, 16)))}, {}
        cpu = self.random.choice((1, 2, 4)) if limits else 1
        spec = {"containers": [{"name": "main", "image": "registry.example.com/team/image:1.2.3",
                                "env": [{"name": "MODE", "value": "batch"}, {"name": "LEVEL", "value": "info"}],
                                "resources": {"requests": {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", **limits}, "limits": limits}}],
                "restartPolicy": "Always", "serviceAccountName": "default"}
        if not waits:
            spec["nodeName"] = self.nodes[node]["metadata"]["name"]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{number % 997}-5d4f", "uid": f"u{number % 997}", "controller": True}
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": f"app-{number}", "namespace": ns, "uid": f"pod-{number}", "annotations": annotations,
                             "labels": {"app": f"app-{number % 997}", "pod-template-hash": "5d4f"},
                             "creationTimestamp": "2026-11-20T07:00:00Z", "ownerReferences": [owner]},
                "spec": spec, "status": {"phase": "Pending" if waits else "Running"}}


def write(path, nodes, pods, seed):
    cluster = Cluster(seed)
    for _ in range(nodes):
        cluster.add_node()
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"apiVersion": "v1", "kind": "List", "items": [\n')
        file.write(",\n".join(json.dumps(node) for node in cluster.nodes))
        for number in range(pods):
            file.write(",\n" + json.dumps(cluster.pod(number)))
        file.write("\n]}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    write(chosen.file, chosen.nodes, chosen.pods, chosen.seed)
