"""GPUs of a cluster, counted from its objects alone: how many there are, what pods have of each, what is out of service.
Amounts are milli-GPU, and what is used of one GPU is rounded up."""

import copy
import json
import re
from fractions import Fraction

# Of instances: compute slices of 7 and memory slices of 8, by the number of the name and of what follows.
SLICES = {"1g.5gb": (1, 1), "2g.10gb": (2, 2), "3g.20gb": (3, 4), "7g.40gb": (7, 8), "1g.10gb": (1, 1), "2g.20gb": (2, 2), "3g.40gb": (3, 4),
          "7g.80gb": (7, 8)}
# Instances of one GPU under the strategy "single".
INSTANCES = {"1g.5gb": 7, "3g.20gb": 2, "1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2}
# By the memory of a template (or of the whole chip): its AI cores, of how many.
AI_CORES = {"Ascend910B3": ({16384: 5, 32768: 10, 65536: 20}, 20), "Ascend910B4": ({8192: 5, 16384: 10, 32768: 20}, 20),
            "Ascend310P": ({3072: 1, 6144: 2, 12288: 4, 21527: 8}, 8)}
GROUPS = {"group1": ("1g.5gb",) * 7, "group2": ("2g.10gb",) * 3 + ("1g.5gb",), "group3": ("3g.20gb",) * 2}
CPUS_OF_310P = 7


def rounded_up(share):
    return -(-1000 * share.numerator // share.denominator)


def amounts_of(pod):
    sums = {}
    for container in pod["spec"]["containers"]:
        for resource, amount in container["resources"].get("limits", {}).items():
            sums[resource] = sums.get(resource, 0) + int(amount)
    return sums


def cpu_of(pod):
    return sum(int(container["resources"].get("requests", {}).get("cpu", 0)) for container in pod["spec"]["containers"])


class Gpu:
    """One board: what pods have of it, in as many kinds of amounts as count, each as a share."""

    def __init__(self, healthy=True):
        self.healthy = healthy
        self.shares, self.units, self.tenants = {}, {}, 0

    def take(self, **shares):
        self.tenants += 1
        for kind, share in shares.items():
            self.shares[kind] = self.shares.get(kind, 0) + share

    def used(self):
        return min(1000, rounded_up(Fraction(max(self.shares.values(), default=0))))


class CountedNode:
    def __init__(self, item, chips):
        self.name, self.labels = item["metadata"]["name"], item["metadata"]["labels"]
        self.annotations = item["metadata"]["annotations"]
        self.amounts = {key: int(value) for key, value in item["status"]["allocatable"].items() if "/" in key}
        self.capacity = {key: int(value) for key, value in item["status"]["capacity"].items() if "/" in key}
        self.is_out = item["spec"].get("unschedulable", False) or item["status"]["conditions"][0]["status"] != "True"
        self.taints = item["spec"].get("taints", [])
        self.host = [int(item["status"]["allocatable"][key]) for key in ("cpu", "pods")]
        self.cards, self.units = {}, {}
        self.read_cards(chips)
        if not self.cards:
            self.read_units()
        self.gpus = list(self.cards.values()) or [gpu for gpus, _ in self.units.values() for gpu in gpus]
        self.gpus = list({id(gpu): gpu for gpu in self.gpus}.values())

    def read_cards(self, chips):
        """GPUs that have names."""
        for key, text in self.annotations.items():
            if key == "volcano.sh/node-vgpu-register":
                for record in text.split(":")[:-1]:
                    uuid, slots, memory, _, healthy, mode = record.split(",")
                    self.add_card(uuid, int(memory), healthy == "true", f"volcano {mode}", int(slots))
            elif key == "hami.io/node-nvidia-register" or key.startswith("hami.io/node-register-"):
                for record in json.loads(text):
                    self.add_card(record["id"], record["devmem"], record["health"], f"hami {record.get('mode', record['type'])}", record["count"])
            elif key == "vgpualloc.io/cce-node-register":
                for record in json.loads(text):
                    self.add_card(record["id"], record["memory"], record["health"], "cce", 20)
        listed = chips.get(self.name, {})
        for state, names in listed.items():
            for name in filter(None, names.split(",")):
                self.add_card(name.rsplit("-", 1)[1], 0, not state.endswith("-Unhealthy"), "mindcluster")
        if "volcano.sh/gpu-number" in self.capacity:
            count = self.capacity["volcano.sh/gpu-number"]
            out = self.annotations.get("volcano.sh/gpu-unhealthy-ids", "").split(",")
            for i in range(count):
                self.add_card(str(i), self.capacity["volcano.sh/gpu-memory"] // count, str(i) not in out, "gpushare")

    def add_card(self, uuid, memory, healthy, kind, slots=10**6):
        self.cards[uuid] = Gpu(healthy)
        self.cards[uuid].memory, self.cards[uuid].kind, self.cards[uuid].slots = memory, kind, slots

    def read_units(self):
        """GPUs of NVIDIA's plugin: by resource, the GPUs and what one unit is of one of them."""
        product, replicas = self.labels.get("nvidia.com/gpu.product", ""), int(self.labels.get("nvidia.com/gpu.replicas", 1))
        for resource in sorted(self.capacity):
            count, missing = self.capacity[resource], self.capacity[resource] - self.amounts.get(resource, 0)
            single = re.search(r"-MIG-(\S+)$", product)
            if resource.startswith("nvidia.com/mig-"):
                shared = next((gpus for key, (gpus, _) in self.units.items() if "mig-" in key), None)
                cut = int(self.labels["nvidia.com/gpu.count"]) - self.capacity.get("nvidia.com/gpu", 0)
                self.units[resource] = (shared or [Gpu() for _ in range(cut)], self.instance(resource.removeprefix("nvidia.com/mig-")))
            elif resource in ("nvidia.com/gpu", "nvidia.com/gpu.shared") and single:
                self.units[resource] = ([Gpu() for _ in range(-(-count // INSTANCES[single[1]]))], self.instance(single[1]))
            elif resource in ("nvidia.com/gpu", "nvidia.com/gpu.shared"):
                gpus = count // replicas
                self.units[resource] = ([Gpu(i < gpus - missing) for i in range(gpus)], {"units": Fraction(1, replicas)})

    @staticmethod
    def instance(profile):
        compute, memory = SLICES[profile]
        return {"compute": Fraction(compute, 7), "memory": Fraction(memory, 8)}

    def take(self, pod):
        """What a pod has that runs here."""
        if self.cards:
            self.take_named(pod["metadata"]["annotations"], amounts_of(pod))
        else:
            for resource, amount in sorted(amounts_of(pod).items()):
                if resource in self.units:
                    self.take_units(resource, amount)

    def take_units(self, resource, amount):
        gpus, unit = self.units[resource]
        for _ in range(amount):
            # The plugin takes the GPU of which it has given out the fewest units of this resource.
            gpu = min((gpu for gpu in gpus if gpu.healthy), key=lambda one: one.units.get(resource, 0))
            gpu.take(**unit)
            gpu.units[resource] = gpu.units.get(resource, 0) + 1

    def free_units(self, resource):
        return self.amounts[resource] - sum(gpu.units.get(resource, 0) for gpu in self.units[resource][0])

    def rise(self, resource, amount):
        """What so many more units would use."""
        filled = copy.deepcopy(self)
        filled.take_units(resource, amount)
        return sum(gpu.used() for gpu in filled.gpus) - sum(gpu.used() for gpu in self.gpus)

    def take_named(self, annotations, amounts):
        instances = {entry["gpuUUID"]: entry["profile"] for entry in json.loads(annotations.get("hami.io/vgpu-mig-allocations", "[]"))}
        for key, text in annotations.items():
            if key.endswith("-devices-allocated") or key == "volcano.sh/vgpu-ids-new":
                for record in re.split("[:;]", text):
                    if record:
                        self.take_record(key, record.split(","), instances)
            elif key == "volcano.sh/gpu-index":
                self.take_positions(text, amounts.get("volcano.sh/gpu-memory"))
            elif key == "huawei.com/npu-core":
                chip, _, template = text.partition("-")
                cores, cpus = (8, CPUS_OF_310P) if not template else template_amounts(template)
                self.cards[chip].take(cores=Fraction(cores, 8), cpus=Fraction(cpus, CPUS_OF_310P))

    def take_record(self, key, record, instances):
        uuid, _, group = record[0].partition("[")
        gpu = self.cards[uuid]
        if group:
            name, position = group.removesuffix("]").rsplit("-", 1)
            gpu.take(**self.instance(GROUPS[name][int(position)]))
        elif uuid in instances:
            gpu.take(**self.instance(instances[uuid]))
        elif key == "vgpualloc.io/cce-devices-allocated":
            whole = record[1] == "whole"
            gpu.take(memory=1 if whole else Fraction(int(record[1]), gpu.memory), compute=1 if whole else Fraction(int(record[2]), 100))
        elif record[1] in AI_CORES:
            cores, all_cores = AI_CORES[record[1]]
            gpu.take(memory=Fraction(int(record[2]), gpu.memory), compute=Fraction(cores[int(record[2])], all_cores))
        else:
            gpu.take(memory=Fraction(int(record[2]), gpu.memory), compute=Fraction(int(record[3]), 100))

    def take_positions(self, text, memory):
        for position in text.split(","):
            gpu = self.cards[position]
            gpu.take(memory=Fraction(memory, gpu.memory) if memory else 1)


def template_amounts(template):
    """AI cores and AI CPUs of one of MindCluster's templates: vir04_3c has 4 and 3, vir02 has 2 and 2."""
    cores = int(template[3:5])
    cpus = re.search(r"_(\d)c", template)
    return cores, int(cpus[1]) if cpus else cores


class CountedCluster:
    """All nodes of a cluster with what its pods have of them."""

    def __init__(self, items):
        chips = {item["metadata"]["name"].removeprefix("mindx-dl-deviceinfo-"): json.loads(item["data"]["DeviceInfoCfg"])["DeviceInfo"]["DeviceList"]
                 for item in items if item["kind"] == "ConfigMap"}
        self.nodes = {item["metadata"]["name"]: CountedNode(item, chips) for item in items if item["kind"] == "Node"}
        self.pods_run, self.pods_wait = [], []
        for pod in (item for item in items if item["kind"] == "Pod"):
            where = self.nodes.get(pod["spec"].get("nodeName"))
            if pod["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            if where is not None:
                where.host[0] -= cpu_of(pod)
                where.host[1] -= 1
            if not any("/" in resource for resource in amounts_of(pod)):
                continue
            if where is None:
                self.pods_wait.append(pod)
                continue
            where.take(pod)
            self.pods_run.append(pod)

    def totals_of(self, names):
        """GPUs, used, free and out of service of these nodes."""
        gpus = used = free = out = 0
        for node in (self.nodes[name] for name in names):
            for gpu in node.gpus:
                gpus += 1
                used += gpu.used()
                idle = 1000 - gpu.used()
                out += idle if node.is_out or not gpu.healthy else 0
                free += 0 if node.is_out or not gpu.healthy else idle
        return {"gpus": gpus, "used": used, "free": free, "out": out}
