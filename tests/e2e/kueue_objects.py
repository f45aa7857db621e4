"""Random setups for kueue.py: flavors, cohorts, queues and jobs of one namespace.

One seed makes one setup. All its names begin with the setup's, so that many are in one API server and have nothing to do with each
other.
"""

from dataclasses import dataclass, field

from draws import Draws

QUEUE_API, QUEUE_LABEL = "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/queue-name"
GPU, POOL, TAINT = "nvidia.com/gpu", "pool", "dedicated"
POOLS = ["a", "b", "c"]
NODES_PER_POOL, GPUS = 4, 8


@dataclass
class Setup:
    name: str
    namespace: dict
    flavors: list = field(default_factory=list)
    cohorts: list = field(default_factory=list)
    cluster_queues: list = field(default_factory=list)
    local_queues: list = field(default_factory=list)
    jobs: list = field(default_factory=list)  # one after the other; the last is the one that is asked for


def nodes():
    """Ample nodes, so that queues alone decide."""
    made = []
    for pool in POOLS:
        for index in range(NODES_PER_POOL):
            name = f"{pool}{index}"
            amounts = {"cpu": "256", "memory": "2Ti", "pods": "110", GPU: str(GPUS)}
            labels = {"kubernetes.io/hostname": name, POOL: pool, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920",
                      "nvidia.com/gpu.count": str(GPUS)}
            made.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {
                "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
    return made


class Generator(Draws):
    def __init__(self, seed, name):
        super().__init__(seed)
        self.name = name

    def setup(self):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": {"team": self.one("red", "red", "red", "red", "blue")}}}
        setup = Setup(self.name, namespace)
        self.flavors(setup)
        self.cohorts(setup)
        for index in range(self.random.randint(1, 4)):
            setup.cluster_queues.append(self.cluster_queue(setup, index))
            setup.local_queues.append(self.local_queue(index))
        if len(setup.local_queues) > 1 and self.chance(0.05):
            del setup.local_queues[-1]
        for index in range(self.one(3, 4, 5, 6, 7)):
            setup.jobs.append(self.job(setup, index))
        return setup

    # ------------------------------------------------------------------------------------------------------------ queues

    def flavors(self, setup):
        self.names = [f"{self.name}-{letter}" for letter in POOLS[:self.one(1, 2, 2, 3)]]
        for name, pool in zip(self.names, POOLS):
            spec = {}
            if self.chance(0.6):
                spec["nodeLabels"] = {POOL: pool}
            if self.chance(0.15):
                spec["nodeTaints"] = [{"key": TAINT, "value": pool, "effect": self.one("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")}]
                if self.chance(0.3):
                    spec["tolerations"] = [{"key": TAINT, "operator": "Exists"}]
            setup.flavors.append({"apiVersion": QUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec})
        if len(setup.flavors) > 1 and self.chance(0.06):
            del setup.flavors[-1]  # which a queue may name; without any flavor nobody could tell that one is missing

    def cohorts(self, setup):
        """Names for the queues, some of them Cohort objects with quota of their own and a parent."""
        shape = self.one("none", "flat", "flat", "flat", "quota", "nested", "nested", "deep")
        name = self.name
        self.cohort_names = {"none": [], "flat": [f"{name}-all"], "quota": [f"{name}-all"], "nested": [f"{name}-left", f"{name}-right", f"{name}-root"],
                             "deep": [f"{name}-low", f"{name}-mid", f"{name}-root"]}[shape]
        parents = {"nested": {f"{name}-left": f"{name}-root", f"{name}-right": f"{name}-root"},
                   "deep": {f"{name}-low": f"{name}-mid", f"{name}-mid": f"{name}-root"}}.get(shape, {})
        if shape not in ("quota", "nested", "deep"):
            return
        self.groups = self.resource_groups_shape()
        for cohort in self.cohort_names:
            spec = {}
            if cohort in parents:
                spec["parentName"] = parents[cohort]
            if shape == "quota" or self.chance(0.4):
                spec["resourceGroups"] = self.resource_groups(self.groups, cohort in parents)
            if spec or self.chance(0.5):  # a root that is no object is a cohort as well
                setup.cohorts.append({"apiVersion": QUEUE_API, "kind": "Cohort", "metadata": {"name": cohort}, "spec": spec})

    def resource_groups_shape(self):
        """(resources, flavors) of each group."""
        together, apart = [GPU, "cpu", "memory"], [[GPU], ["cpu", "memory"]]
        form = self.one("gpu", "all", "all", "all", "apart", "apart", "gpu_cpu", "pods")
        flavors = self.random.sample(self.names, self.random.randint(1, len(self.names)))
        if form == "gpu":
            return [([GPU], flavors)]
        if form == "all":
            return [(together, flavors)]
        if form == "gpu_cpu":
            return [([GPU, "cpu"], flavors)]
        if form == "pods":
            return [([*together, "pods"], flavors)]
        if len(flavors) == 1:
            return [(together, flavors)]
        return [(apart[0], flavors[:-1]), (apart[1], flavors[-1:])]  # a flavor is in one group

    def quantity(self, resource, share=1.0):
        if resource == GPU:
            return str(int(self.random.randint(0, 16) * share))
        if resource == "cpu":
            return self.one("4", "12500m", "24", "64", "64")
        if resource == "memory":
            return self.one("16Gi", "64Gi", "100G", "256Gi", "256Gi")
        return str(self.random.randint(1, 12))

    def resource_groups(self, groups, has_parent):
        made = []
        for resources, flavors in groups:
            made.append({"coveredResources": resources, "flavors": [
                {"name": flavor, "resources": [self.quota(resource, has_parent) for resource in resources]} for flavor in flavors]})
        return made

    def quota(self, resource, has_parent):
        quota = {"name": resource, "nominalQuota": self.quantity(resource)}
        if has_parent and self.chance(0.25):
            quota["borrowingLimit"] = self.quantity(resource, 0.4)
        if has_parent and self.chance(0.25):
            quota["lendingLimit"] = self.quantity(resource, 0.4) if resource == GPU else quota["nominalQuota"]
        return quota

    def cluster_queue(self, setup, index):
        spec = {"namespaceSelector": {}, "queueingStrategy": self.one(*["BestEffortFIFO"] * 6, "StrictFIFO")}
        cohort = self.one(*self.cohort_names) if self.cohort_names and self.chance(0.92) else ""
        if cohort:
            spec["cohortName"] = cohort
        # Queues of one cohort mostly have the same groups: else there is nothing to lend.
        groups = getattr(self, "groups", None)
        if groups is None or self.chance(0.15):
            groups = self.resource_groups_shape()
            self.groups = getattr(self, "groups", groups)
        spec["resourceGroups"] = self.resource_groups(groups, bool(cohort))
        selector = self.one(*["all"] * 7, "label", "expression", "none")
        if selector == "label":
            spec["namespaceSelector"] = {"matchLabels": {"team": "red"}}
        if selector == "expression":
            spec["namespaceSelector"] = {"matchExpressions": [self.one({"key": "team", "operator": "In", "values": ["red", "green"]},
                                                                       {"key": "team", "operator": "NotIn", "values": ["blue"]},
                                                                       {"key": "owner", "operator": "DoesNotExist"})]}
        if selector == "none" and self.chance(0.3):
            del spec["namespaceSelector"]  # no namespace at all
        if self.chance(0.04):
            spec["stopPolicy"] = self.one("Hold", "HoldAndDrain", "None")
        if self.chance(0.4):
            spec["flavorFungibility"] = {"whenCanBorrow": self.one("MayStopSearch", "TryNextFlavor"), "whenCanPreempt": self.one("MayStopSearch", "TryNextFlavor")}
        return {"apiVersion": QUEUE_API, "kind": "ClusterQueue", "metadata": {"name": f"{self.name}-q{index}"}, "spec": spec}

    def local_queue(self, index):
        spec = {"clusterQueue": f"{self.name}-q{index}" if self.chance(0.98) else f"{self.name}-gone"}
        if self.chance(0.05):
            spec["stopPolicy"] = self.one("Hold", "HoldAndDrain", "None")
        return {"apiVersion": QUEUE_API, "kind": "LocalQueue", "metadata": {"name": f"lq{index}", "namespace": self.name}, "spec": spec}

    # -------------------------------------------------------------------------------------------------------------- jobs

    def container(self, name, gpus):
        requests, limits = {}, {}
        if gpus:
            limits[GPU] = str(gpus)
        covered = {resource for resources, _ in self.groups for resource in resources}
        if self.chance(0.8 if "cpu" in covered else 0.1):
            (requests if self.chance(0.7) else limits)["cpu"] = self.one("500m", "1", "2", "4")
        if self.chance(0.6 if "memory" in covered else 0.1):
            (requests if self.chance(0.7) else limits)["memory"] = self.one("1Gi", "4Gi", "500M", "8Gi")
        resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
        return {"name": name, "image": "none", "resources": resources}

    def job(self, setup, index):
        pod = {"restartPolicy": "Never", "containers": [self.container("main", self.one(0, 1, 1, 1, 2, 2, 4))]}
        if self.chance(0.15):
            pod["containers"].append(self.container("side", 0))
        if self.chance(0.1):
            pod["initContainers"] = [self.container("first", self.one(0, 0, 1, 2))]
        if self.chance(0.1):
            pod["initContainers"] = [{**self.container("beside", 0), "restartPolicy": "Always"}]
        if self.chance(0.15):
            pod["nodeSelector"] = {POOL: self.one(*POOLS)}
        elif self.chance(0.1):
            pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": POOL, "operator": self.one("In", "NotIn"), "values": self.some(POOLS, 2)}]}]}}}
        if self.chance(0.25):
            pod["tolerations"] = [{"key": TAINT, **self.one({"operator": "Exists"}, {"operator": "Equal", "value": self.one(*POOLS)},
                                                            {"operator": "Exists", "effect": "NoSchedule"})}]
        parallelism = self.random.randint(1, 4)
        spec = {"parallelism": parallelism, "suspend": True, "template": {"spec": pod}}
        if self.chance(0.8):
            spec["completions"] = parallelism if self.chance(0.7) else self.random.randint(1, 6)
        queue = self.one(*(entry["metadata"]["name"] for entry in setup.local_queues)) if self.chance(0.97) else "missing"
        metadata = {"name": f"job{index}", "namespace": self.name, "labels": {QUEUE_LABEL: queue}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
