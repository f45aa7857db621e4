"""Random clusters for policies.py: quotas, limit ranges, priority classes and disruption budgets, pods that are made and pods that are evicted.

One seed makes one cluster. What is drawn is what the API server takes, but for quotas and limit ranges that contradict themselves:
it refuses those, and the cluster goes without them.
"""

from dataclasses import dataclass, field

from draws import Draws

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
CPUS, MEMORY = ("100m", "250m", "500m", "1", "1500m", "2", "4"), ("128Mi", "512Mi", "1Gi", "1536Mi", "2Gi", "8Gi")
CONTROLLERS = {  # kind: (list of the group, whether it has a scale)
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets", "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers", "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs", "Deployment": "/apis/apps/v1/namespaces/{}/deployments"}
VERSIONS = {"ReplicationController": "v1", "Job": "batch/v1"}


@dataclass
class Cluster:
    classes: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    namespaces: list = field(default_factory=list)
    controllers: list = field(default_factory=list)
    pods: list = field(default_factory=list)  # that exist, before anything limits them
    leaving: set = field(default_factory=set)  # (namespace, name) of those that are being deleted
    limits: list = field(default_factory=list)
    quotas: list = field(default_factory=list)
    budgets: list = field(default_factory=list)
    probes: list = field(default_factory=list)  # pods, and Jobs of several pods, that are to be made


def amount(quantity):
    """A quantity in thousandths of CPUs or of bytes."""
    for unit, factor in {"m": 1, "k": 10**6, "M": 10**9, "G": 10**12, "Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30,
                         "Ti": 1000 << 40}.items():
        if str(quantity).endswith(unit):
            return round(float(str(quantity)[:-len(unit)]) * factor)
    return round(float(quantity) * 1000)


class Generator(Draws):
    def __init__(self, seed, prefix):
        super().__init__(seed)
        self.prefix = prefix  # of names, as namespaces of earlier clusters stay
        self.device = GPU

    def cluster(self, quota_namespaces, budget_namespaces, probes):
        cluster = Cluster()
        values = self.random.sample([-100, 5, 10, 500, 1000, 100000], 3)
        default = self.random.randint(0, 5)  # of three classes, or none of them
        for index, value in enumerate(values):
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"{self.prefix}-c{index}"},
                    "value": value, "globalDefault": index == default}
            cluster.classes.append(kind)
        amounts = {"cpu": "1000", "memory": "8000Gi", "pods": "500", GPU: "64"}
        for name in ("a", "b"):
            cluster.nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{self.prefix}-{name}", "labels": {
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.count": "64"}},
                "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        for index in range(quota_namespaces):
            self.limited(cluster, f"{self.prefix}-q{index}", probes)
        for index in range(budget_namespaces):
            self.guarded(cluster, f"{self.prefix}-b{index}")
        return cluster

    # ---------------------------------------------------------------------------------------- quotas and limit ranges

    def limited(self, cluster, namespace, probes):
        cluster.namespaces.append(namespace)
        self.device = self.one(GPU, GPU, GPU, MIG)  # one, as vgpusim takes a pod with both for one of two dialects
        for index in range(self.random.randint(0, 6)):
            pod = self.pod(cluster, namespace, f"old-{index}")
            phase = self.one("Running", "Running", "Running", "Pending", "Succeeded", "Failed")
            if phase != "Pending":
                pod["spec"]["nodeName"] = cluster.nodes[index % 2]["metadata"]["name"]
            pod["status"] = {"phase": phase}
            cluster.pods.append(pod)
        if self.chance(0.6):
            cluster.limits.append(self.limit_range(namespace, "lr", self.some(["Container", "Pod"], 2)))
        if self.chance(0.2):  # of several the API server fills in the defaults of any first: this one has none
            cluster.limits.append(self.limit_range(namespace, "more", ["Pod"]))
        for index in range(self.one(0, 1, 1, 1, 2, 2)):
            cluster.quotas.append(self.quota(cluster, namespace, f"quota-{index}"))
        for index in range(probes):
            cluster.probes.append(self.pod(cluster, namespace, f"new-{index:02}"))
        several = self.pod(cluster, namespace, "many", is_template=True)
        number = self.random.randint(2, 5)
        cluster.probes.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": several["metadata"], "spec": {
            "parallelism": number, "completions": number, "template": {"spec": {**several["spec"], "restartPolicy": "Never"}}}})

    def pod(self, cluster, namespace, name, is_template=False):
        spec = {"containers": [self.container(f"c{index}") for index in range(self.one(1, 1, 2))]}
        if self.chance(0.2):
            spec["initContainers"] = [self.container(f"i{index}") for index in range(self.one(1, 1, 2))]
            for container in spec["initContainers"]:
                if self.chance(0.35):
                    container["restartPolicy"] = "Always"
        if self.chance(0.55):
            spec["priorityClassName"] = self.one(*[kind["metadata"]["name"] for kind in cluster.classes] * 4,
                                                 "system-cluster-critical", "system-node-critical")
        elif self.chance(0.06):
            spec["priorityClassName"] = "unheard-of"
        elif self.chance(0.06):
            spec["priority"] = self.one(-3, 7)  # 0 is taken for not said
        if name.startswith("old"):
            spec.pop("priority", None)
            if spec.get("priorityClassName") == "unheard-of":
                del spec["priorityClassName"]
        if self.chance(0.25):
            spec["activeDeadlineSeconds"] = self.one(60, 3600)
        if self.chance(0.1) and not is_template:
            spec["resources"] = self.pod_level(spec)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}

    def container(self, name):
        requests, limits = {}, {}
        for resource, values in (("cpu", CPUS), ("memory", MEMORY)):
            low, high = sorted((self.one(*values), self.one(*values)), key=amount)
            what = self.random.random()
            if what < 0.3:
                continue
            if what < 0.8:
                requests[resource] = low
            if what > 0.5:
                limits[resource] = high
        if self.chance(0.35):
            limits[self.device] = str(self.one(1, 1, 2, 0, 3))
            if self.chance(0.3):
                requests[self.device] = limits[self.device]
        resources = {key: values for key, values in (("requests", requests), ("limits", limits)) if values}
        return {"name": name, "image": "registry.example.com/app", **({"resources": resources} if resources else {})}

    def pod_level(self, spec):
        """What the pod as a whole has: more than its containers, as the API server refuses less."""
        result = {}
        for resource, least in (("cpu", "16"), ("memory", "40Gi")):
            if self.chance(0.6):
                result.setdefault(self.one("requests", "limits"), {})[resource] = least
        for resource, least in (("cpu", "16"), ("memory", "40Gi")):  # each, as docs/whatif.md says what is not looked at otherwise
            if not any(resource in values for values in result.values()):
                result.setdefault("limits", {})[resource] = least
        return result

    def limit_range(self, namespace, name, types):
        items = []
        for kind in types:
            item = {"type": kind}
            for resource, values in (("cpu", CPUS), ("memory", MEMORY), (self.device, ("0", "1", "2", "3"))):
                if self.chance(0.5):
                    continue
                levels = sorted((self.one(*values) for _ in range(4)), key=amount)
                if resource == self.device:
                    levels = [levels[0], levels[1], levels[1], levels[3]]
                names = ["min", "defaultRequest", "default", "max"] if kind == "Container" else ["min", "-", "-", "max"]
                for key, level in zip(names, levels):
                    if key != "-" and self.chance(0.4):
                        item.setdefault(key, {})[resource] = level
                if resource != self.device and self.chance(0.2):
                    item.setdefault("maxLimitRequestRatio", {})[resource] = self.one("1", "1500m", "2", "4")
            if len(item) > 1:
                items.append(item)
        return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name, "namespace": namespace}, "spec": {"limits": items}}

    def quota(self, cluster, namespace, name):
        spec = {"hard": {}}
        draws = {"pods": ("1", "2", "4", "8"), "count/pods": ("2", "4", "8"), "cpu": ("2", "4", "6500m", "20"),
                 "requests.cpu": ("2", "4500m", "16"), "limits.cpu": ("3", "8", "30"), "memory": ("2Gi", "6Gi", "40Gi"),
                 "requests.memory": ("2Gi", "5000Mi", "64Gi"), "limits.memory": ("4Gi", "10Gi", "100Gi"),
                 f"requests.{GPU}": ("0", "1", "2", "4", "6"), f"requests.{MIG}": ("0", "1", "3")}
        keys = self.some(sorted(draws), 3)
        if self.chance(0.5):
            keys.append(f"requests.{GPU}")
        if self.chance(0.4):
            scope = self.one("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "PriorityClass", "PriorityClass")
            if scope == "PriorityClass":
                operator = self.one("In", "NotIn", "Exists", "DoesNotExist")
                names = [kind["metadata"]["name"] for kind in cluster.classes] + ["system-node-critical"]
                entry = {"scopeName": scope, "operator": operator}
                if operator in ("In", "NotIn"):
                    entry["values"] = sorted(self.some(names, 2))
                spec["scopeSelector"] = {"matchExpressions": [entry]}
            else:
                spec["scopes"] = [scope]
                if scope == "BestEffort":
                    keys = ["pods"]
        spec["hard"] = {key: self.one(*draws[key]) for key in keys}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name, "namespace": namespace}, "spec": spec}

    # ------------------------------------------------------------------------------------------------- disruption budgets

    def guarded(self, cluster, namespace):
        cluster.namespaces.append(namespace)
        apps = self.random.sample(["web", "db", "cache", "train"], self.random.randint(1, 3))
        for app in apps:
            kind = self.one("Deployment", "Deployment", "ReplicaSet", "StatefulSet", "StatefulSet", "ReplicationController", "DaemonSet",
                            "Job", None)
            wanted = self.random.randint(1, 6)
            labels = {"app": app, "tier": self.one("front", "back")}
            owner = self.controller(cluster, namespace, kind, app, labels, wanted) if kind else None
            for index in range(self.random.randint(max(wanted - 1, 1), wanted + 1)):
                self.guarded_pod(cluster, namespace, f"{app}-{index}", labels, owner)
        for index in range(self.one(1, 1, 2)):
            selector = self.one({"matchLabels": {"app": self.one(*apps)}}, {"matchLabels": {"app": self.one(*apps)}},
                                {"matchLabels": {"tier": self.one("front", "back")}}, {})
            number = self.one(0, 1, 1, 2, 3, 5, "0%", "20%", "34%", "50%", "75%", "100%")
            spec = {"selector": selector, self.one("minAvailable", "maxUnavailable"): number}
            if self.chance(0.3):
                spec["unhealthyPodEvictionPolicy"] = self.one("AlwaysAllow", "IfHealthyBudget")
            cluster.budgets.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                                    "metadata": {"name": f"budget-{index}", "namespace": namespace}, "spec": spec})

    def controller(self, cluster, namespace, kind, app, labels, wanted):
        """(kind, name) of what the pods belong to, which nobody here has to make pods."""
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example.com/app"}]}}
        selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
        spec = {"replicas": wanted, "selector": selector, "template": template}
        if kind == "DaemonSet":
            del spec["replicas"]
        if kind == "StatefulSet":
            spec["serviceName"] = app
        if kind == "Job":
            spec = {"parallelism": wanted, "completions": wanted, "template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
        thing = {"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": app, "namespace": namespace}, "spec": spec}
        cluster.controllers.append(thing)
        if kind != "Deployment":
            return kind, app
        owned = {**thing, "kind": "ReplicaSet", "metadata": {"name": f"{app}-7d9", "namespace": namespace, "owner": (kind, app)}}
        cluster.controllers.append(owned)
        return "ReplicaSet", f"{app}-7d9"

    def guarded_pod(self, cluster, namespace, name, labels, owner):
        limits = {GPU: "1"} if self.chance(0.2) else {}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels, "owner": owner},
               "spec": {"nodeName": self.one(*cluster.nodes)["metadata"]["name"], "restartPolicy": "Never" if owner and owner[0] == "Job" else "Always",
                        "containers": [{"name": "c", "image": "registry.example.com/app", **({"resources": {"limits": limits}} if limits else {})}]}}
        phase = self.one(*["Running"] * 16, "Pending", "Succeeded", "Failed")
        ready = phase == "Running" and self.chance(0.8)
        pod["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
        if phase == "Running" and self.chance(0.06):
            cluster.leaving.add((namespace, name))
        cluster.pods.append(pod)
