"""Random setups for volcano.py: nodes, queues, PodGroups with their pods, and one more job. One seed makes one setup."""

from dataclasses import dataclass, field

from draws import Draws

SCHEDULING = "scheduling.volcano.sh/v1beta1"
GPU, GROUP = "nvidia.com/gpu", "scheduling.k8s.io/group-name"
NAMESPACE = "team"


@dataclass
class Setup:
    name: str
    nodes: list = field(default_factory=list)
    queues: list = field(default_factory=list)
    states: dict = field(default_factory=dict)  # of queues
    groups: list = field(default_factory=list)
    pods: list = field(default_factory=list)
    added: list = field(default_factory=list)  # what vgpusim adds
    added_group: dict = field(default_factory=dict)  # what Volcano's controllers make of it
    added_pods: list = field(default_factory=list)


def node(name, gpus, cpus):
    amounts = {"cpu": str(cpus), "memory": "512Gi", "pods": "110", GPU: str(gpus)}
    labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920",
              "nvidia.com/gpu.count": str(gpus)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {
        "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def group(name, queue, members, least):
    spec = {"minMember": members, "queue": queue, **({} if least is None else {"minResources": least})}
    return {"apiVersion": SCHEDULING, "kind": "PodGroup", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def least_of(template, members):
    """What so many pods need, as Volcano's controllers write it."""
    requests = template["containers"][0]["resources"]["limits"]
    memory = int(requests["memory"].removesuffix("Gi")) * members
    return {"cpu": str(int(requests["cpu"]) * members), "memory": f"{memory}Gi", "pods": str(members),
            **({GPU: str(int(requests[GPU]) * members)} if GPU in requests else {})}


def pods_of(template, count, name):
    """Pods like that of a group with the same name."""
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{index}", "namespace": NAMESPACE, "annotations": {GROUP: name}},
             "spec": template} for index in range(count)]


class Generator(Draws):
    def __init__(self, seed, name):
        super().__init__(seed)
        self.name = name

    def setup(self):
        setup = Setup(self.name)
        for index in range(self.random.randint(1, 4)):
            setup.nodes.append(node(f"n{index}", self.one(4, 8), self.one(16, 32, 64)))
        self.gpus = sum(int(entry["status"]["allocatable"][GPU]) for entry in setup.nodes)
        for index in range(self.random.randint(1, 4)):
            self.queue(setup, f"q{index}")
        for index in range(self.random.randint(1, 6)):
            self.group(setup, f"g{index}")
        self.add(setup)
        return setup

    def queue(self, setup, name):
        spec = {"weight": self.one(1, 1, 1, 2, 4), "reclaimable": True}
        if self.chance(0.5):
            spec["capability"] = {GPU: str(self.random.randint(0, self.gpus + 2))}
            if self.chance(0.3):
                spec["capability"]["cpu"] = str(self.one(0, 4, 16, 32))
        if self.chance(0.4):
            spec["guarantee"] = {"resource": {GPU: str(self.random.randint(1, max(1, self.gpus // 3)))}}
            if self.chance(0.3):
                spec["guarantee"]["resource"]["cpu"] = str(self.one(2, 8))
        setup.queues.append({"apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": name}, "spec": spec})
        setup.states[name] = self.one(*["Open"] * 17, "Closed", "Closing", "Unknown")

    def template(self, is_nowhere=False):
        limits = {"cpu": str(self.one(1, 1, 2, 4)), "memory": f"{self.one(1, 4, 16)}Gi"}
        gpus = self.one(0, 1, 1, 1, 2, 2)
        if gpus:
            limits[GPU] = str(gpus)
        spec = {"schedulerName": "volcano", "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "none", "resources": {"limits": limits}}]}
        return {**spec, "nodeSelector": {"kubernetes.io/hostname": "nowhere"}} if is_nowhere else spec

    def least(self, template, members):
        kind = self.one("none", "exact", "exact", "exact", "more")
        if kind == "none":
            return None
        return least_of(template, members + (self.random.randint(1, 4) if kind == "more" else 0))

    def group(self, setup, name):
        template, members = self.template(self.chance(0.35)), self.random.randint(1, 4)
        pods = self.one(0, members, members, members + 1, members + 2)
        setup.groups.append(group(name, self.one(*setup.states), members, self.least(template, members)))
        setup.pods += pods_of(template, pods, name)

    def add(self, setup):
        template, queue = self.template(), self.one(*setup.states)
        template["containers"][0]["resources"]["limits"].setdefault(GPU, "1")
        count = self.random.randint(1, 6)
        members = self.random.randint(1, count)
        kind, name = self.one("group", "group", "job", "pod"), "last"
        if kind == "group":
            setup.added_group = group(name, queue, members, self.least(template, members))
            setup.added = [setup.added_group, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {
                "parallelism": count, "template": {"metadata": {"annotations": {GROUP: name}}, "spec": {**template, "restartPolicy": "Never"}}}}]
        elif kind == "job":
            parts = [count - count // 2, count // 2]
            tasks = [{"name": f"t{index}", "replicas": part, "template": {"spec": template}} for index, part in enumerate(parts) if part]
            setup.added_group = group(name, queue, members, least_of(template, members))
            setup.added = [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE},
                            "spec": {"schedulerName": "volcano", "queue": queue, "minAvailable": members, "tasks": tasks}}]
        else:
            count = 1
            setup.added_group = group(name, queue, 1, least_of(template, 1))
            setup.added = [{"apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": name, "namespace": NAMESPACE, "annotations": {"scheduling.volcano.sh/queue-name": queue}}, "spec": template}]
        setup.added_pods = pods_of(template, count, name)
