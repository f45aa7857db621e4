"""Random clusters of all dialects, of one or several. The same seed gives the same objects.

    python3 tests/cli/random_dialects.py SEED > cluster.json
"""

import json
import random
import sys

import dialect_nodes as nodes
import dialect_npus as npus

DIALECTS = (nodes.Whole, nodes.Shared, nodes.Mps, nodes.MigMixed, nodes.MigSingle, nodes.Hami, nodes.HamiMps, nodes.HamiMig, nodes.Volcano,
            nodes.VolcanoMig, npus.Ascend, npus.MindCluster, npus.Cce, npus.Gpushare)
QUEUES = ({}, {"kueue.x-k8s.io/queue-name": "lq"}, {"volcano.sh/queue-name": "research"})


def texts(amounts):
    return {key: str(value) for key, value in amounts.items()}


class Drawn:
    """One cluster: its objects, and the classes of its nodes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.pods, self.others, self.left = [], [], [], {}
        count = 1 if self.random.random() < 0.6 else self.random.randint(2, 5)
        # Every dialect alone comes as often as every other one, whatever the seeds are.
        self.dialects = [DIALECTS[seed % len(DIALECTS)], *self.random.sample(DIALECTS, count - 1)]
        for number in range(self.random.randint(len(set(self.dialects)), 7)):
            self.add_node(self.dialects[number % len(self.dialects)], f"n{number}")
        if self.random.random() < 0.3:
            self.add_host("host", {}, {}, {}, {})
        for node in list(self.nodes):
            for _ in range(self.random.choice((0, 2, 5, 12))):
                self.run(node)
        for _ in range(self.random.choice((0, 1, 3, 6))):
            self.wait()

    def add_node(self, dialect, name):
        node = dialect(self.random, name)
        self.add_host(name, node.labels, node.annotations, node.resources, node.missing)
        self.nodes.append(node)
        self.others += node.objects

    def add_host(self, name, labels, annotations, resources, missing):
        cpu = self.random.choice((8, 32, 64))
        state = self.random.choice(("ready",) * 7 + ("cordoned", "False", "Unknown"))
        host = {"cpu": str(cpu), "memory": "256Gi", "pods": str(self.random.choice((6, 110)))}
        capacity = {key: value + missing.get(key, 0) for key, value in resources.items()}
        spec = {"unschedulable": True} if state == "cordoned" else {}
        if self.random.random() < 0.2:
            spec["taints"] = [{"key": "team", "value": "dev", "effect": self.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))}]
        labels = {"kubernetes.io/hostname": name, **labels}
        if self.random.random() < 0.8:
            labels["pool"] = self.random.choice("abc")
        self.left[name] = [cpu, int(host["pods"])]
        self.others.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": spec,
                            "status": {"allocatable": {**host, **texts(resources)}, "capacity": {**host, **texts(capacity)},
                                       "conditions": [{"type": "Ready", "status": state if state in ("False", "Unknown") else "True"}]}})

    def pod(self, wish, cpu, rules, annotations=None, where=None, phase="Running"):
        """A pod whose containers ask for this."""
        number = len(self.pods)
        containers = [{"name": f"c{i}", "resources": {"limits": texts(amounts), "requests": {**texts(amounts), "cpu": str(cpu) if i == 0 else "0"}}}
                      for i, amounts in enumerate(wish.containers)]
        metadata = {"name": f"p{number}", "namespace": self.random.choice(("research", "serve", "train")), "creationTimestamp": "2026-11-20T07:00:00Z",
                    "labels": {**wish.labels, **self.random.choice(QUEUES)}, "annotations": annotations or {}}
        if self.random.random() < 0.6:
            kind = self.random.choice(("Job", "ReplicaSet", "StatefulSet"))
            metadata["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": kind, "name": f"o{number % 5}", "uid": f"u{number % 5}", "controller": True}]
        self.pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **wish.spec, **rules, **({"nodeName": where} if where else {})},
                          "status": {"phase": phase if where else "Pending"}})

    def run(self, node):
        cpu, wish = self.random.choice((0, 1, 1, 2, 4)), node.asks()
        if self.random.random() < 0.08:  # what has ended has nothing any more, whatever its annotations say
            record = {"hami.io/vgpu-devices-allocated": f"GPU-{node.name}-0,NVIDIA,1024,0:;", "volcano.sh/gpu-index": "0"}
            self.pod(wish, cpu, {}, record, node.name, self.random.choice(("Succeeded", "Failed")))
            return
        if self.random.random() < 0.08:
            wish = nodes.Ask({})
        left = self.left[node.name]
        if left[0] < cpu or left[1] < 1:
            return
        annotations = {} if wish.containers == ({},) else node.place(wish)
        if annotations is not None:
            self.left[node.name] = [left[0] - cpu, left[1] - 1]
            self.pod(wish, cpu, self.rules() if self.random.random() < 0.2 else {}, annotations, node.name)

    def rules(self):
        rules = {}
        if self.random.random() < 0.4:
            rules["tolerations"] = [self.random.choice(({"operator": "Exists"}, {"key": "team", "operator": "Equal", "value": "dev"}))]
        if self.random.random() < 0.4:
            rules["nodeSelector"] = {"pool": self.random.choice("abc")}
        return rules

    def wait(self):
        rules = self.rules()
        if self.random.random() < 0.15:
            rules["schedulingGates"] = [{"name": self.random.choice(("example.com/data", "kueue.x-k8s.io/admission"))}]
        wish = self.random.choice(self.nodes).asks() if self.random.random() < 0.85 else self.random.choice(DIALECTS)(self.random, "x").asks()
        self.pod(wish, self.random.choice((0, 1, 2, 4, 16)), rules)

    def has_volcano_mig(self):
        return any(isinstance(node, nodes.VolcanoMig) for node in self.nodes)

    def objects(self):
        return {"apiVersion": "v1", "kind": "List", "items": [*self.others, *self.pods]}


if __name__ == "__main__":
    json.dump(Drawn(int(sys.argv[1])).objects(), sys.stdout, indent=1)
