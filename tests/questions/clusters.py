"""Writes the three clusters of docs/questions.md, as `kubectl get nodes,pods,… -A -o json` would print them.

    python3 tests/questions/clusters.py FOLDER      # gpu-operator.json, hami.json, volcano-queues.json and their inputs

The clusters are invented. Nothing runs that does not fit: every pod takes its part of a node that has it. The same seed
gives the same bytes.
"""

import argparse
import datetime
import json
import random
from pathlib import Path

BEGIN = datetime.datetime(2026, 11, 20, 7)
GIB = 1024
A100, H100, T4 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4"
# What the MIG manager's layouts make of one A100-80GB.
LAYOUTS = {"all-balanced": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, "all-1g.10gb": {"1g.10gb": 7},
           "all-2g.20gb": {"2g.20gb": 3}, "all-3g.40gb": {"3g.40gb": 2}}
MEMORY_OF_PROFILE = {"1g.10gb": 9728, "2g.20gb": 19968, "3g.40gb": 40192}
PRICES = {"gpu_hour": {"A100-80GB": 2.10, "H100-80GB": 3.90, "T4": 0.30, "L40S": 1.20, "A10": 0.70, "A100-40GB": 1.60}, "kwh": 0.25, "currency": "EUR"}


def tolerate(key, value):
    return {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}


def at_most_one_per(key, app):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread_over(key, app, skew=1):
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": app}}}]


def in_pools(*pools):
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": list(pools)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


class Shape:
    """What one pod asks for: `units` of resources, or slices of `cards` cards."""

    def __init__(self, cpu, memory_gib, units=None, cards=0, memory_mib=0, cores=0):
        self.cpu, self.memory_gib, self.units = cpu, memory_gib, units or {}
        self.cards, self.memory_mib, self.cores = cards, memory_mib, cores


class Cluster:
    """Objects, and what is left of every node."""

    def __init__(self, seed, dialect):
        self.random = random.Random(seed)
        self.dialect = dialect
        self.nodes, self.owners, self.pods, self.others = [], [], [], []
        self.left = {}  # by node: cpu, memory, pods, units, cards
        self.minutes = 0

    def node(self, name, pool, cpu, memory_gib, units=None, cards=None, labels=None, taints=None, cordoned=False, ready="True", zones=3):
        number = len(self.nodes)
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "pool": pool, "rack": f"r{number // 4}",
                  "topology.kubernetes.io/zone": "abc"[number // 4 % zones], **(labels or {})}
        amounts = {"cpu": str(cpu), "memory": f"{memory_gib}Gi", "pods": "110", **{key: str(value) for key, value in (units or {}).items()}}
        annotations = self.registration(name, cards, amounts) if cards else {}
        spec = {}
        if taints:
            spec["taints"] = taints
        if cordoned:
            spec["unschedulable"] = True
        self.nodes.append({"apiVersion": "v1", "kind": "Node",
                           "metadata": {"name": name, "creationTimestamp": self.time(), "labels": labels, "annotations": annotations},
                           "spec": spec, "status": {"allocatable": amounts, "capacity": dict(amounts), "conditions": [{"type": "Ready", "status": ready}]}})
        self.left[name] = {"cpu": cpu, "memory": memory_gib, "pods": 110, "units": dict(units or {}),
                           "cards": [[cards[1], 100, 10] for _ in range(cards[0])] if cards else []}

    def registration(self, name, cards, amounts):
        count, memory, card_type = cards
        if self.dialect == "hami":
            amounts["nvidia.com/gpu"] = str(10 * count)
            entries = [{"id": f"GPU-{name}-{i}", "index": i, "count": 10, "devmem": memory, "devcore": 100, "type": f"NVIDIA-{card_type}",
                        "mode": "hami-core", "health": True} for i in range(count)]
            return {"hami.io/node-nvidia-register": json.dumps(entries)}
        amounts.update({"volcano.sh/vgpu-number": str(10 * count), "volcano.sh/vgpu-memory": str(memory * count), "volcano.sh/vgpu-cores": str(100 * count)})
        return {"volcano.sh/node-vgpu-register": "".join(f"GPU-{name}-{i},10,{memory},{card_type},true,hami-core:" for i in range(count))}

    def time(self):
        self.minutes += 7
        return (BEGIN + datetime.timedelta(minutes=self.minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def cards_for(self, node, shape):
        """Cards of the node that take a slice of the shape, the fullest first; None where there are too few."""
        cards = [i for i, (memory, cores, slots) in enumerate(self.left[node]["cards"])
                 if memory >= shape.memory_mib and cores >= shape.cores and slots]
        cards.sort(key=lambda i: self.left[node]["cards"][i])
        return cards[:shape.cards] if len(cards) >= shape.cards else None

    def room(self, node, shape):
        left = self.left[node]
        return (left["cpu"] >= shape.cpu and left["memory"] >= shape.memory_gib and left["pods"] and self.cards_for(node, shape) is not None
                and all(left["units"].get(key, 0) >= amount for key, amount in shape.units.items()))

    def take(self, node, shape):
        """Takes the shape's part of a node; the annotations that say which cards it has."""
        left, cards = self.left[node], self.cards_for(node, shape)
        left["cpu"] -= shape.cpu
        left["memory"] -= shape.memory_gib
        left["pods"] -= 1
        for key, amount in shape.units.items():
            left["units"][key] -= amount
        for card in cards:
            self.left[node]["cards"][card] = [have - take for have, take in zip(left["cards"][card], (shape.memory_mib, shape.cores, 1))]
        if not cards:
            return {}
        shares = "".join(f"GPU-{node}-{card},NVIDIA,{shape.memory_mib},{shape.cores}:" for card in cards)
        if self.dialect == "hami":
            return {"hami.io/vgpu-node": node, "hami.io/vgpu-devices-allocated": shares + ";", "hami.io/bind-phase": "success"}
        return {"volcano.sh/vgpu-node": node, "volcano.sh/vgpu-ids-new": shares, "volcano.sh/bind-phase": "success"}

    def limits(self, shape):
        amounts = {key: str(value) for key, value in shape.units.items()}
        if shape.cards:
            names = {"hami": ("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"),
                     "volcano": ("volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores")}[self.dialect]
            amounts.update({name: str(value) for name, value in zip(names, (shape.cards, shape.memory_mib, shape.cores)) if value})
        return amounts

    def pod(self, namespace, name, app, shape, owner, node=None, annotations=None, labels=None, **spec):
        limits = self.limits(shape)
        container = {"name": "main", "image": f"registry.example.com/{namespace}/{app}:1.4",
                     "resources": {"requests": {"cpu": str(shape.cpu), "memory": f"{shape.memory_gib}Gi", **limits}, "limits": limits}}
        annotations_of_devices = self.take(node, shape) if node else {}
        self.pods.append({"apiVersion": "v1", "kind": "Pod",
                          "metadata": {"name": name, "namespace": namespace, "creationTimestamp": self.time(), "labels": {"app": app, **(labels or {})},
                                       "annotations": {**(annotations or {}), **annotations_of_devices}, "ownerReferences": [owner] if owner else []},
                          "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
                          "status": {"phase": "Running" if node else "Pending"}})

    def owner(self, kind, namespace, name):
        """The reference to the controller of a pod; its object is there too, with its Deployment's."""
        version = "batch/v1" if kind == "Job" else "apps/v1"
        if kind == "Deployment":
            uid = f"{namespace}-{name}"
            self.owners.append({"apiVersion": version, "kind": "Deployment", "metadata": {"name": name, "namespace": namespace, "uid": uid}, "spec": {}})
            parent = {"apiVersion": version, "kind": "Deployment", "name": name, "uid": uid, "controller": True}
            kind, name = "ReplicaSet", f"{name}-7d9f8b6c5"
            metadata = {"name": name, "namespace": namespace, "uid": f"{uid}-rs", "ownerReferences": [parent]}
        else:
            metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
        if kind != "DaemonSet":
            self.owners.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {}})
        return {"apiVersion": version, "kind": kind, "name": name, "uid": metadata["uid"], "controller": True}

    def run(self, kind, namespace, app, count, shape, pools, apart=None, **how):
        """Pods that run in these pools, as many as fit, at random; `apart`: a label of which no two pods share a value."""
        owner = self.owner(kind, namespace, app)
        names = [node["metadata"]["name"] for node in self.nodes if node["metadata"]["labels"]["pool"] in pools]
        labels_of = {node["metadata"]["name"]: node["metadata"]["labels"] for node in self.nodes}
        seen = set()
        for number in range(count):
            free = [name for name in names if self.room(name, shape) and (apart is None or labels_of[name][apart] not in seen)]
            if not free:
                return number
            node = self.random.choice(free)
            if apart:
                seen.add(labels_of[node][apart])
            self.pod(namespace, f"{owner['name']}-{number}", app, shape, owner, node, **how)
        return count

    def wait(self, kind, namespace, app, count, shape, first=0, **how):
        owner = self.owner(kind, namespace, app)
        for number in range(first, first + count):
            self.pod(namespace, f"{owner['name']}-{number}", app, shape, owner, **how)

    def agents(self, shape):
        """A pod without devices on every node."""
        owner = self.owner("DaemonSet", "monitoring", "node-exporter")
        for node in self.nodes:
            self.pod("monitoring", f"node-exporter-{node['metadata']['name']}", "node-exporter", shape, owner, node["metadata"]["name"],
                     tolerations=[{"operator": "Exists"}])

    def quota(self, namespace, resource, hard):
        used = sum(int(pod["spec"]["containers"][0]["resources"]["limits"].get(resource, 0)) for pod in self.pods if pod["metadata"]["namespace"] == namespace)
        amounts = {"hard": {f"requests.{resource}": str(hard)}, "used": {f"requests.{resource}": str(used)}}
        self.others.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": namespace},
                            "spec": {"hard": amounts["hard"]}, "status": amounts})

    def job_without_pods(self, namespace, name, shape):
        container = {"name": "main", "image": "registry.example.com/job:1", "resources": {"requests": {"cpu": str(shape.cpu), **self.limits(shape)},
                                                                                        "limits": self.limits(shape)}}
        self.others.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace, "creationTimestamp": self.time()},
                            "spec": {"parallelism": 1, "completions": 1,
                                     "template": {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}}, "status": {}})

    def objects(self):
        return {"apiVersion": "v1", "kind": "List", "items": [*self.nodes, *self.pods, *self.owners, *self.others]}


def nvidia_labels(model, memory, count, replicas=1, **more):
    labels = {"gpu.product": model + ("-SHARED" if replicas > 1 else ""), "gpu.memory": str(memory), "gpu.count": str(count), "gpu.replicas": str(replicas), **more}
    return {f"nvidia.com/{key}": value for key, value in labels.items()}


def add_mig_node(cluster, name, pool, layout, gpus=4, cpu=64, **how):
    labels = nvidia_labels(A100, 81920, gpus) | {"nvidia.com/mig.config": layout, "nvidia.com/mig.strategy": "mixed"}
    labels |= {f"nvidia.com/mig-{profile}.memory": str(memory) for profile, memory in MEMORY_OF_PROFILE.items()}
    units = {f"nvidia.com/mig-{profile}": gpus * count for profile, count in LAYOUTS[layout].items()}
    cluster.node(name, pool, cpu, 512, units, labels=labels, **how)


def gpus(count, cpu, memory_gib, resource="nvidia.com/gpu"):
    return Shape(cpu, memory_gib, {resource: count})


def instance(profile, cpu=4):
    return Shape(cpu, 4 * cpu, {f"nvidia.com/mig-{profile}": 1})


def gpu_operator(seed=1):
    """40 nodes of NVIDIA's GPU operator: whole GPUs, MIG in four layouts, time-slicing, and nodes without GPUs."""
    of = Cluster(seed, "nvidia")
    whole = nvidia_labels(A100, 81920, 8)
    for i in range(16):
        of.node(f"a100-{i:02}", "train", 96, 1024, {"nvidia.com/gpu": 8}, labels=whole, cordoned=i == 5, ready="False" if i == 11 else "True")
    for i in range(4):
        of.node(f"h100-{i}", "llm", 128, 2048, {"nvidia.com/gpu": 8}, labels=nvidia_labels(H100, 81559, 8),
                taints=[{"key": "team", "value": "llm", "effect": "NoSchedule"}])
    for i, layout in enumerate(("all-balanced", "all-balanced", "all-balanced", "all-1g.10gb", "all-1g.10gb", "all-2g.20gb", "all-3g.40gb", "all-balanced")):
        add_mig_node(of, f"mig-{i}", "serve", layout, cordoned=i == 7)
    for i in range(6):
        of.node(f"t4-{i}", "dev", 32, 256, {"nvidia.com/gpu": 16}, ready="Unknown" if i == 4 else "True",
                labels=nvidia_labels(T4, 15360, 4, 4) | {"nvidia.com/gpu.sharing-strategy": "time-slicing"},
                taints=[{"key": "team", "value": "dev", "effect": "NoSchedule"}])
    for i in range(6):
        of.node(f"cpu-{i}", "general", 64, 256)
    of.agents(Shape(1, 1))
    of.run("StatefulSet", "dev", "notebook", 38, gpus(1, 2, 8), ("dev",), tolerations=[tolerate("team", "dev")], nodeSelector={"pool": "dev"})
    of.run("Job", "llm", "pretrain", 2, gpus(8, 96, 1024), ("llm",), tolerations=[tolerate("team", "llm")], nodeSelector={"pool": "llm"})
    of.run("Job", "llm", "align", 3, gpus(4, 40, 256), ("llm",), tolerations=[tolerate("team", "llm")], nodeSelector={"pool": "llm"})
    of.run("Deployment", "search", "gateway", 5, gpus(1, 6, 24), ("train",), apart="kubernetes.io/hostname",
           affinity=at_most_one_per("kubernetes.io/hostname", "gateway") | in_pools("train"))
    of.run("Job", "vision", "segment", 9, gpus(4, 44, 192), ("train",), affinity=in_pools("train"))
    of.run("Job", "vision", "detect", 12, gpus(2, 20, 96), ("train",), affinity=in_pools("train"))
    of.run("Job", "speech", "asr", 14, gpus(2, 30, 96), ("train",), affinity=in_pools("train"))
    of.run("Deployment", "search", "embed", 22, gpus(1, 10, 32), ("train",), affinity=in_pools("train"))
    of.run("Deployment", "search", "rerank", 9, instance("3g.40gb", 8), ("serve",))
    of.run("Deployment", "search", "spell", 3, instance("3g.40gb"), ("serve",))
    of.run("Deployment", "search", "rank", 3, instance("3g.40gb"), ("serve",), labels={"tier": "gold"})
    of.run("Deployment", "serve", "tagger", 30, instance("1g.10gb", 2), ("serve",))
    of.run("Deployment", "serve", "caption", 12, instance("2g.20gb"), ("serve",))
    of.run("Deployment", "search", "spare", 99, instance("3g.40gb"), ("serve",))
    of.wait("Job", "vision", "sweep-large", 2, gpus(8, 88, 512), affinity=in_pools("train"))  # scattered
    of.wait("Deployment", "search", "rerank-big", 3, instance("3g.40gb", 8))  # all used
    of.wait("Job", "speech", "decode", 2, gpus(1, 80, 64), affinity=in_pools("train"))  # host full
    of.wait("Job", "research", "wide", 1, gpus(16, 32, 128))  # never: no node has 16
    of.wait("StatefulSet", "research", "lab", 1, gpus(1, 2, 8), nodeSelector={"pool": "dev"})  # never: it does not tolerate the taint
    of.wait("Job", "vision", "held", 2, gpus(1, 4, 16), schedulingGates=[{"name": "example.com/data-ready"}], affinity=in_pools("train"))  # gate
    of.wait("Job", "vision", "queued", 1, gpus(1, 4, 16), schedulingGates=[{"name": "kueue.x-k8s.io/admission"}],
            labels={"kueue.x-k8s.io/queue-name": "vision"}, affinity=in_pools("train"))  # queue
    of.wait("Deployment", "search", "mirror", 1, gpus(1, 4, 16), affinity=at_most_one_per("topology.kubernetes.io/zone", "embed") | in_pools("train"))
    of.wait("Job", "vision", "gang-a", 3, gpus(8, 40, 128), annotations={"scheduling.k8s.io/group-name": "gang-a"},
            tolerations=[tolerate("team", "llm")], nodeSelector={"pool": "llm"})
    of.others.append({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "gang-a", "namespace": "vision"}, "spec": {"minMember": 3}})
    of.quota("research", "nvidia.com/gpu", 17)
    of.quota("vision", "nvidia.com/gpu", 120)
    of.job_without_pods("research", "ablation", gpus(1, 4, 16))
    return of.objects()


def hami(seed=2):
    """24 nodes: four models of cards under HAMi, and two nodes that NVIDIA's plugin cuts by MIG."""
    of = Cluster(seed, "hami")
    for i in range(8):
        of.node(f"l40s-{i}", "inference", 64, 512, cards=(4, 46068, "NVIDIA L40S"), cordoned=i == 3)
    for i in range(6):
        of.node(f"a100-{i}", "train", 96, 1024, cards=(8, 40960, "NVIDIA A100-SXM4-40GB"),
                taints=[{"key": "pool", "value": "train", "effect": "NoSchedule"}] if i > 3 else None)
    for i in range(4):
        of.node(f"a10-{i}", "batch", 48, 192, cards=(2, 23028, "NVIDIA A10"))
    for i in range(4):
        of.node(f"t4-{i}", "dev", 32, 128, cards=(4, 15360, "Tesla T4"), ready="Unknown" if i == 2 else "True")
    add_mig_node(of, "mig-0", "mig", "all-balanced")
    add_mig_node(of, "mig-1", "mig", "all-1g.10gb")
    of.agents(Shape(1, 1))
    of.run("Deployment", "chat", "llama", 34, Shape(6, 24, cards=1, memory_mib=24576, cores=50), ("inference",), annotations={"nvidia.com/use-gputype": "L40S"})
    of.run("Deployment", "chat", "guard", 6, Shape(2, 8, cards=1, memory_mib=8192, cores=20), ("inference",), apart="kubernetes.io/hostname",
           affinity=at_most_one_per("kubernetes.io/hostname", "guard") | in_pools("inference"))
    of.run("Job", "train", "tune", 15, Shape(10, 64, cards=2, memory_mib=40960, cores=100), ("train",), tolerations=[tolerate("pool", "train")],
           annotations={"nvidia.com/use-gputype": "A100"})
    of.run("Job", "train", "probe", 22, Shape(8, 32, cards=1, memory_mib=20480, cores=60), ("train",), tolerations=[tolerate("pool", "train")])
    of.run("Deployment", "ocr", "reader", 10, Shape(6, 16, cards=1, memory_mib=9000, cores=30), ("batch",))
    of.run("StatefulSet", "lab", "notebook", 22, Shape(2, 8, cards=1, memory_mib=4096, cores=10), ("dev", "inference"))
    of.run("Deployment", "chat", "embed", 30, Shape(4, 16, cards=1, memory_mib=12288, cores=25), ("inference",))
    of.run("Deployment", "serve", "tagger", 9, instance("1g.10gb", 2), ("mig",))
    of.run("Deployment", "serve", "rank", 4, instance("3g.40gb", 8), ("mig",))
    of.wait("Deployment", "serve", "rank-more", 2, instance("3g.40gb", 8))  # all used
    of.wait("Job", "train", "pair", 2, Shape(12, 64, cards=4, memory_mib=40960, cores=100), annotations={"nvidia.com/use-gputype": "A100"})  # scattered
    of.wait("Deployment", "chat", "llama-new", 3, Shape(6, 24, cards=1, memory_mib=40000, cores=50), annotations={"nvidia.com/use-gputype": "L40S"})
    of.wait("Job", "ocr", "bulk", 1, Shape(47, 16, cards=1, memory_mib=4096, cores=10), nodeSelector={"pool": "batch"})  # host full
    of.wait("Job", "train", "huge", 1, Shape(8, 32, cards=1, memory_mib=81920, cores=100))  # never: no card has so much
    of.wait("Job", "lab", "old", 1, Shape(2, 8, cards=1, memory_mib=4096, cores=10), nodeSelector={"pool": "retired"})  # never: no node has it
    of.wait("StatefulSet", "lab", "gated", 1, Shape(2, 8, cards=1, memory_mib=4096, cores=10), schedulingGates=[{"name": "example.com/licence"}])  # gate
    of.wait("StatefulSet", "lab", "fresh", 2, Shape(2, 8, cards=1, memory_mib=4096, cores=10))  # fits now
    of.wait("Deployment", "chat", "guard-extra", 2, Shape(2, 8, cards=1, memory_mib=4096, cores=10),
            affinity=at_most_one_per("kubernetes.io/hostname", "guard") | in_pools("inference"))
    of.wait("Deployment", "ocr", "even", 2, Shape(2, 8, cards=1, memory_mib=2048, cores=5), topologySpreadConstraints=spread_over("topology.kubernetes.io/zone", "reader"))
    of.wait("Job", "train", "gang", 3, Shape(8, 64, cards=2, memory_mib=40960, cores=100), annotations={"scheduling.k8s.io/group-name": "gang", "nvidia.com/use-gputype": "A100"},
            tolerations=[tolerate("pool", "train")])
    of.others.append({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "gang", "namespace": "train"}, "spec": {"minMember": 3}})
    of.quota("ocr", "nvidia.com/gpu", 13)
    of.quota("lab", "nvidia.com/gpu", 40)
    of.job_without_pods("ocr", "reindex", Shape(4, 16, cards=1, memory_mib=4096, cores=10))
    return of.objects()


def pod_group(of, namespace, name, members, queue):
    of.others.append({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name, "namespace": namespace},
                      "spec": {"minMember": members, "queue": queue}, "status": {"phase": "Inqueue"}})
    return {"annotations": {"scheduling.k8s.io/group-name": name, "scheduling.volcano.sh/queue-name": queue}, "schedulerName": "volcano"}


def volcano_queues(seed=3):
    """60 nodes under Volcano: its vGPU plugin on three models of cards, three queues, pod groups, and MIG of NVIDIA's plugin."""
    of = Cluster(seed, "volcano")
    for i in range(24):
        of.node(f"a100-{i:02}", "train", 96, 1024, cards=(8, 81920, "NVIDIA-NVIDIA A100-SXM4-80GB"), cordoned=i in (7, 15), ready="False" if i == 19 else "True")
    for i in range(16):
        of.node(f"l40s-{i:02}", "inference", 64, 512, cards=(4, 46068, "NVIDIA-NVIDIA L40S"))
    for i in range(8):
        of.node(f"t4-{i}", "dev", 32, 128, cards=(4, 15360, "NVIDIA-Tesla T4"), taints=[{"key": "team", "value": "dev", "effect": "NoSchedule"}],
                ready="Unknown" if i == 5 else "True")
    for i, layout in enumerate(("all-balanced", "all-balanced", "all-1g.10gb", "all-2g.20gb")):
        add_mig_node(of, f"mig-{i}", "mig", layout)
    for i in range(8):
        of.node(f"cpu-{i}", "general", 64, 256)
    for name, weight in (("research", 4), ("production", 8), ("default", 1)):
        of.others.append({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": weight, "reclaimable": True},
                          "status": {"state": "Open"}})
    of.agents(Shape(1, 1))
    for number in range(17):
        of.run("Job", "research", f"llm-{number}", 2, Shape(40, 256, cards=4, memory_mib=81920, cores=100), ("train",),
               **pod_group(of, "research", f"llm-{number}", 2, "research"))
    for number in range(16):
        of.run("Job", "research", f"tune-{number}", 3, Shape(8, 64, cards=1, memory_mib=40960, cores=50), ("train",),
               **pod_group(of, "research", f"tune-{number}", 3, "research"))
    in_production = {"schedulerName": "volcano", "annotations": {"scheduling.volcano.sh/queue-name": "production"}}
    of.run("Deployment", "shop", "recommend", 62, Shape(4, 16, cards=1, memory_mib=20480, cores=40), ("inference",), **in_production)
    of.run("Deployment", "shop", "search", 12, Shape(4, 16, cards=1, memory_mib=10240, cores=25), ("inference",), apart="kubernetes.io/hostname",
           affinity=at_most_one_per("kubernetes.io/hostname", "search") | in_pools("inference"), **in_production)
    of.run("Deployment", "shop", "vision", 30, Shape(2, 8, cards=1, memory_mib=8192, cores=20), ("inference",), **in_production)
    of.run("StatefulSet", "lab", "notebook", 30, Shape(2, 8, cards=1, memory_mib=4096, cores=20), ("dev",), schedulerName="volcano",
           tolerations=[tolerate("team", "dev")])
    of.run("Deployment", "serve", "tagger", 20, instance("1g.10gb", 2), ("mig",))
    of.run("Deployment", "serve", "caption", 8, instance("2g.20gb"), ("mig",))
    of.run("Deployment", "serve", "rank", 8, instance("3g.40gb"), ("mig",))
    of.run("Job", "etl", "convert", 25, Shape(8, 24), ("general",))
    of.wait("Deployment", "serve", "rank-more", 3, instance("3g.40gb"))  # all used
    of.wait("Job", "research", "big", 4, Shape(40, 256, cards=8, memory_mib=81920, cores=100), **pod_group(of, "research", "big", 4, "research"))
    of.wait("Job", "research", "set", 6, Shape(8, 64, cards=4, memory_mib=81920, cores=100), **pod_group(of, "research", "set", 6, "research"))  # gang
    of.wait("Deployment", "shop", "search-new", 2, Shape(4, 16, cards=1, memory_mib=40000, cores=25), affinity=in_pools("inference"), **in_production)
    of.wait("Job", "research", "host", 1, Shape(94, 64, cards=1, memory_mib=20480, cores=20), **pod_group(of, "research", "host", 1, "research"))  # host full
    of.wait("Job", "research", "wide", 1, Shape(8, 64, cards=16, memory_mib=81920, cores=100), **pod_group(of, "research", "wide", 1, "research"))  # never
    of.wait("StatefulSet", "lab", "untolerated", 2, Shape(2, 8, cards=1, memory_mib=4096, cores=20), nodeSelector={"pool": "dev"}, schedulerName="volcano")  # never
    of.wait("Job", "research", "staged", 2, Shape(8, 64, cards=1, memory_mib=20480, cores=20), schedulerName="volcano",
            schedulingGates=[{"name": "example.com/data-ready"}])  # gate
    of.wait("StatefulSet", "lab", "fresh", 2, Shape(2, 8, cards=1, memory_mib=4096, cores=20), schedulerName="volcano", tolerations=[tolerate("team", "dev")])
    of.wait("Deployment", "shop", "even", 2, Shape(2, 8, cards=1, memory_mib=2048, cores=5), schedulerName="volcano",
            topologySpreadConstraints=spread_over("topology.kubernetes.io/zone", "search"), affinity=in_pools("inference"))
    of.quota("etl", "volcano.sh/vgpu-number", 0)
    of.job_without_pods("etl", "encode", Shape(4, 16, cards=1, memory_mib=4096, cores=10))
    return of.objects()


CLUSTERS = {"gpu-operator": gpu_operator, "hami": hami, "volcano-queues": volcano_queues}


def history(used_gpus, seed, weeks=20):
    """Means of GPUs in use, a row a week, that grow to about what is used now."""
    draw = random.Random(seed)
    rows = [f"{(BEGIN - datetime.timedelta(weeks=weeks - week)).date()},{used_gpus * (0.8 + 0.01 * week) + draw.uniform(-1, 1):.3f}" for week in range(weeks + 1)]
    return "time,used\n" + "\n".join(rows) + "\n"


def accounted(seed, jobs=300):
    """What `sacct -P` prints of a month: jobs with steps, some cancelled, some still running, some that never started."""
    draw = random.Random(seed)
    begin = datetime.datetime(2026, 10, 1)

    def stamp(seconds):
        return (begin + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")

    rows = ["JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|State|ElapsedRaw|TimelimitRaw|AllocTRES"]
    for number in range(4001, 4001 + jobs):
        submitted, waited, ran = draw.randrange(30 * 86400), draw.choice((0, 5, 40, 1800, 9000)), draw.choice((60, 900, 7200, 43200, 172800)) + draw.randrange(600)
        nodes = draw.choice((1, 1, 1, 1, 2, 4))
        gpus_all = draw.choice((0, 1, 1, 2, 4, 8)) * nodes
        state = draw.choice(("COMPLETED",) * 6 + ("FAILED", "TIMEOUT", "CANCELLED by 1003", "RUNNING", "PENDING"))
        start, end = stamp(submitted + waited), stamp(submitted + waited + ran)
        allocated = f"billing={8 * nodes},cpu={8 * nodes},mem={64 * nodes}G,node={nodes}" + (f",gres/gpu={gpus_all},gres/gpu:a100={gpus_all}" if gpus_all else "")
        if state == "RUNNING":
            end = "Unknown"
        if state == "PENDING":
            start, end, ran, allocated = "Unknown", "Unknown", 0, ""
        who = f"u{number % 11}|{draw.choice(('vision', 'speech'))}|gpu|normal"
        rows.append(f"{number}|{who}|{stamp(submitted)}|{stamp(submitted)}|{start}|{end}|{state}|{ran}|2880|{allocated}")
        if state != "PENDING":
            rows.append(f"{number}.batch||{draw.choice(('vision', 'speech'))}|||{stamp(submitted)}|{stamp(submitted)}|{start}|{end}|{state}|{ran}||{allocated}")
    return "\n".join(rows) + "\n"


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, build) in enumerate(CLUSTERS.items()):
        objects = build()
        (folder / f"{name}.json").write_text(json.dumps(objects, indent=1) + "\n", encoding="utf-8")
        nodes = objects | {"items": [entry for entry in objects["items"] if entry["kind"] == "Node"]}
        (folder / f"{name}-nodes.json").write_text(json.dumps(nodes, indent=1) + "\n", encoding="utf-8")
        (folder / f"{name}-sacct.txt").write_text(accounted(seed), encoding="utf-8")
        (folder / f"{name}-used.csv").write_text(history({"gpu-operator": 171, "hami": 76, "volcano-queues": 213}[name], seed), encoding="utf-8")
    (folder / "prices.json").write_text(json.dumps(PRICES, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    write_all(parser.parse_args().folder)
