"""Random clusters for rules.py: nodes, namespaces, pods that run, and pods that wait with rules about where they may go.

One seed makes one cluster. What is drawn is what the API server takes, and kube-scheduler's own filters decide on.
"""

from dataclasses import dataclass, field

from draws import Draws

HOSTNAME, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"
TOPOLOGIES = [HOSTNAME, ZONE, ZONE, RACK]  # a zone has several nodes and few lack one: most is to be learned there
NAMESPACES = ["lab", "shop", "team-a", "team-b"]
KINDS = {"host": ["node_selector", "node_affinity", "node_fields"], "affinity": ["pod_affinity", "pod_anti_affinity"],
         "spread": ["topology_spread"]}
APPS, TIERS, REVISIONS, OWNERS = ["web", "db", "cache", "train"], ["front", "back"], ["1", "2", "3"], ["ann", "bob"]
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
CONDITION_TAINTS = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}


@dataclass
class Probe:
    pod: dict
    rules: list


@dataclass
class Cluster:
    namespaces: dict
    nodes: list = field(default_factory=list)
    running: list = field(default_factory=list)  # pods with a node, with their phase
    leaving: set = field(default_factory=set)  # (namespace, name) of those that are being deleted
    probes: list = field(default_factory=list)


class Generator(Draws):
    def __init__(self, seed, rules):
        super().__init__(seed)
        self.rules = rules

    def cluster(self, probes):
        cluster = Cluster({name: self.namespace_labels() for name in NAMESPACES})
        number = self.random.randint(12, 30)
        cluster.nodes = [self.node(f"n{index:02}", index) for index in range(number)]
        free = {node["metadata"]["name"]: self.offers(node) for node in cluster.nodes}
        rackless = {node["metadata"]["name"] for node in cluster.nodes if RACK not in node["metadata"]["labels"]}
        for index in range(self.random.randint(2 * number, 5 * number)):
            self.run(cluster, f"run-{index:03}", free, rackless)
        for index in range(probes):
            cluster.probes.append(self.probe(f"probe-{index:03}", index, sorted(free)))
        return cluster

    # --------------------------------------------------------------------------------------------- namespaces and nodes

    def namespace_labels(self):
        labels = {"env": self.one("prod", "dev")}
        if self.chance(0.5):
            labels["owner"] = self.one(*OWNERS)
        return labels

    def node(self, name, index):
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux"}
        if self.chance(0.08):
            labels[HOSTNAME] = f"{name}.example.com"  # the name of the node and its host's need not be the same
        if self.chance(0.92):
            labels[ZONE] = f"z{self.random.randint(0, 3)}"
        if self.chance(0.7):
            labels[RACK] = f"r{self.random.randint(0, 5)}"
        if self.chance(0.8):
            labels["disk"] = self.one("ssd", "hdd", "none")
        if self.chance(0.7):
            labels["generation"] = self.one("1", "2", "5", "9", "12", "007", "new")  # Gt and Lt compare numbers only
        if self.chance(0.3):
            labels["spare"] = ""
        amounts = {"cpu": self.one("4", "8", "16", "64"), "memory": self.one("16Gi", "64Gi", "256Gi", "33000Mi"),
                   "pods": self.one("4", "8", "30", "110", "110")}
        # The first nodes have GPUs of each kind, as a resource that no node offers teaches nothing.
        devices, more = self.devices(self.one("none", "whole", "whole", "shared", "balanced", "small") if index > 2
                                     else ("whole", "balanced", "shared")[index])
        labels.update(more)
        amounts.update(devices)
        ready = self.one(*["True"] * 10, "False", "Unknown")
        taints = self.taints()
        if ready != "True":
            taints += [{"key": CONDITION_TAINTS[ready], "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        spec = {}
        if self.chance(0.1):
            spec["unschedulable"] = True
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if taints:
            spec["taints"] = taints
        allocatable = dict(amounts)
        if amounts.get("nvidia.com/gpu") == "8" and self.chance(0.2):
            allocatable["nvidia.com/gpu"] = "7"  # one is ill
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec, "status": {
            "capacity": amounts, "allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}}

    def devices(self, kind):
        """(amounts, labels) of a node's GPUs."""
        gpus = self.one(1, 2, 4, 8)
        labels = {**A100, "nvidia.com/gpu.count": str(gpus)}
        if kind == "whole":
            return {"nvidia.com/gpu": str(gpus)}, {**labels, "nvidia.com/gpu.replicas": "1"}
        if kind == "shared":
            return {"nvidia.com/gpu": str(4 * gpus)}, {
                "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": str(gpus),
                "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
        if kind == "balanced":
            return {"nvidia.com/mig-1g.10gb": str(2 * gpus), "nvidia.com/mig-2g.20gb": str(gpus), "nvidia.com/mig-3g.40gb": str(gpus)}, {
                **labels, "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.config": "all-balanced"}
        if kind == "small":
            return {"nvidia.com/mig-1g.10gb": str(7 * gpus)}, {
                **labels, "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.config": "all-1g.10gb"}
        return {}, {}

    def taints(self):
        drawn = {}
        for _ in range(self.one(0, 0, 0, 1, 1, 2)):
            taint = {"key": self.one("dedicated", "gpu", "example.com/maintenance"), "value": self.one("", "train", "web"),
                     "effect": self.one("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")}
            drawn[taint["key"], taint["effect"]] = taint  # each pair is once on a node
        return list(drawn.values())

    @staticmethod
    def offers(node):
        """What of the amounts is left that pods which run are to share: devices and pods."""
        return {name: int(amount) for name, amount in node["status"]["allocatable"].items()
                if name == "pods" or name.startswith("nvidia.com/")}

    # --------------------------------------------------------------------------------------------------------- pods

    def pod(self, name, namespace, labels, requests, limits, **spec):
        container = {"name": "main", "image": "registry.example.com/app", "resources": {}}
        if requests:
            container["resources"]["requests"] = requests
        if limits:
            container["resources"]["limits"] = limits
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "spec": {"automountServiceAccountToken": False, "containers": [container], **spec}}

    def labels(self):
        labels = {"app": self.one(*APPS)}
        for key, values, part in (("tier", TIERS, 0.6), ("rev", REVISIONS, 0.7), ("owner", OWNERS, 0.4)):
            if self.chance(part):
                labels[key] = self.one(*values)
        return labels

    def namespace(self):
        return self.one("team-a", "team-a", "team-a", *NAMESPACES)  # one has enough pods for a spread over zones

    def run(self, cluster, name, free, rackless):
        """A pod that runs, on a node that has what it asks of devices, or on one that is gone."""
        host = self.one(*sorted(free)) if self.chance(0.98) else "gone"
        offered = free.get(host, {"pods": 1})
        if offered["pods"] == 0:
            return
        offered["pods"] -= 1
        limits = {}
        devices = [resource for resource, left in offered.items() if resource != "pods" and left > 0]
        if devices and self.chance(0.5):
            resource = self.one(*devices)
            amount = self.random.randint(1, min(3, offered[resource]))
            limits[resource] = str(amount)
            offered[resource] -= amount
        spec = {"nodeName": host}
        if "affinity" in self.rules and self.chance(0.12):
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                self.term(self.labels(), False, False) for _ in range(self.one(1, 1, 2))]}}
        labels = self.labels()
        if host in rackless and self.chance(0.3):
            labels["app"] = "alone"  # these are in no rack, so for a pod that wants them in its rack nobody is there
        pod = self.pod(name, self.namespace(), labels, self.requests(0.6), limits, **spec)
        pod["status"] = {"phase": self.one(*["Running"] * 12, "Succeeded", "Failed", "Pending")}
        cluster.running.append(pod)
        if pod["status"]["phase"] == "Running" and self.chance(0.12):
            cluster.leaving.add((pod["metadata"]["namespace"], name))

    def requests(self, part):
        requests = {}
        if self.chance(part):
            requests["cpu"] = self.one("100m", "500m", "1", "1500m", "3", "6")
        if self.chance(part):
            requests["memory"] = self.one("128Mi", "1Gi", "1500M", "6Gi", "20Gi")
        return requests

    def probe(self, name, index, nodes):
        labels = self.labels()
        if self.chance(0.25):
            labels["app"] = f"new-{index}"  # nobody has it: the first of its group
        elif self.chance(0.06):
            labels["app"] = "alone"
        drawn = {self.one(*KINDS[self.one(*self.rules)]) for _ in range(self.one(0, 1, 1, 1, 1, 2, 2, 2, 3))}
        if "topology_spread" in drawn and "host" in self.rules and self.chance(0.3):
            drawn.add(self.one("node_selector", "node_affinity"))  # which decide what nodes a spread counts
        spec, limits = {}, {}
        rules = list(drawn)
        if self.chance(0.2):
            resource = self.one("nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb")
            limits[resource] = str(self.one(1, 1, 2, 4))
            rules.append("devices")
        if "host" in self.rules and self.chance(0.7):
            # Half of them tolerate all, so that enough nodes are left for the other rules to tell apart.
            spec["tolerations"] = self.tolerations() if self.chance(0.5) else [{"operator": "Exists"}]
            rules.append("tolerations")
        affinity = {}
        if "node_selector" in drawn:
            spec["nodeSelector"] = self.node_selector()
        if "node_affinity" in drawn or "node_fields" in drawn:
            terms = [self.node_term(nodes, "node_affinity" in drawn, "node_fields" in drawn) for _ in range(self.one(1, 1, 2, 3))]
            affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        for kind, key in (("pod_affinity", "podAffinity"), ("pod_anti_affinity", "podAntiAffinity")):
            if kind in drawn:
                terms = [self.term(labels, kind == "pod_affinity", True) for _ in range(self.one(1, 1, 1, 2))]
                affinity[key] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if affinity:
            spec["affinity"] = affinity
        if "topology_spread" in drawn:
            spec["topologySpreadConstraints"] = self.spread(labels)
        pod = self.pod(name, self.namespace(), labels, self.requests(0.3), limits, **spec)
        if self.chance(0.12):
            pod["spec"]["initContainers"] = self.init_containers()
        return Probe(pod, sorted(rules))

    def init_containers(self):
        containers = []
        for index in range(self.one(1, 1, 2)):
            container = {"name": f"init-{index}", "image": "registry.example.com/init",
                         "resources": {"requests": {"cpu": self.one("200m", "2", "7"), "memory": self.one("64Mi", "9Gi")}}}
            if self.chance(0.4):
                container["restartPolicy"] = "Always"  # a sidecar
            containers.append(container)
        return containers

    # -------------------------------------------------------------------------------------------------- rules of hosts

    def tolerations(self):
        tolerations = []
        for _ in range(self.one(1, 1, 2, 3)):
            if self.chance(0.12):
                tolerations.append({"operator": "Exists"})
                continue
            toleration = {"key": self.one("dedicated", "gpu", "example.com/maintenance", "node.kubernetes.io/unschedulable",
                                          "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")}
            if self.chance(0.5):
                toleration["operator"] = "Exists"
            else:
                toleration["value"] = self.one("", "train", "web")
                if self.chance(0.5):
                    toleration["operator"] = "Equal"
            if self.chance(0.5):
                toleration["effect"] = self.one("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")
            if toleration.get("effect") == "NoExecute" and self.chance(0.3):
                toleration["tolerationSeconds"] = 60
            tolerations.append(toleration)
        return tolerations

    def node_value(self, key):
        return {ZONE: f"z{self.random.randint(0, 3)}", RACK: f"r{self.random.randint(0, 6)}", "spare": "",
                "disk": self.one("ssd", "hdd", "none")}[key]

    def node_selector(self):
        return {key: self.node_value(key) for key in self.some([ZONE, RACK, "disk", "spare"], self.one(1, 1, 2))}

    def node_term(self, nodes, with_labels, with_names):
        term = {}
        if with_labels and self.chance(0.96):  # a term without requirements takes no node
            term["matchExpressions"] = [self.node_requirement() for _ in range(self.one(1, 1, 2))]
        if with_names and (not with_labels or self.chance(0.5)):
            term["matchFields"] = [{"key": "metadata.name", "operator": self.one("In", "NotIn"), "values": [self.one(*nodes)]}]
        return term

    def node_requirement(self):
        operator = self.one("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        if operator in ("Gt", "Lt"):
            return {"key": self.one("generation", "generation", "generation", "disk"), "operator": operator,
                    "values": [self.one("0", "2", "5", "10")]}
        key = self.one(ZONE, RACK, "disk", "spare")
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": sorted({self.node_value(key) for _ in range(self.one(1, 2, 3))})}

    # --------------------------------------------------------------------------------------------------- rules of pods

    def selector(self, labels, own):
        """Labels of pods; `own`: how likely it takes the pod with these labels. None: absent, which takes no pod."""
        if self.chance(0.05):
            return None
        if self.chance(0.07):
            return {}
        if self.chance(own):
            keys = self.some(["app", "tier"] if "tier" in labels else ["app"], 2)
            if self.chance(0.6):
                return {"matchLabels": {key: labels[key] for key in keys}}
            return {"matchExpressions": [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]}
        selector = {}
        if self.chance(0.5):
            selector["matchLabels"] = {"app": self.one(*APPS)}
        if not selector or self.chance(0.4):
            selector["matchExpressions"] = [self.requirement() for _ in range(self.one(1, 1, 2))]
        return selector

    def requirement(self):
        operator, key = self.one("In", "In", "NotIn", "Exists", "DoesNotExist"), self.one("app", "tier")
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        values = APPS if key == "app" else TIERS
        return {"key": key, "operator": operator, "values": sorted(self.some(values, 2))}

    def namespace_requirements(self, waits):
        """Of pods that wait, kube-scheduler 1.34 takes every namespace where NotIn or DoesNotExist would take one without labels
        (kubernetes/kubernetes#141526). So only pods that run have these."""
        names = sorted(self.some(NAMESPACES, 2))
        requirements = [{"key": "owner", "operator": "Exists"}, {"key": "kubernetes.io/metadata.name", "operator": "In", "values": names}]
        if not waits:
            requirements += [{"key": "owner", "operator": "DoesNotExist"}, {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names}]
        return requirements

    def term(self, labels, wanted, waits):
        """A term of pod affinity (`wanted`) or anti-affinity, of a pod that waits or runs."""
        term = {"topologyKey": RACK if labels["app"] == "alone" and self.chance(0.7) else self.one(*TOPOLOGIES)}
        selector = self.selector(labels, 0.6 if wanted else 0.4)
        if selector is not None:
            term["labelSelector"] = selector
            # Keys that no selector here names, as the API server refuses a key that stands in both.
            if self.chance(0.15):
                term["matchLabelKeys"] = ["rev"]
            if self.chance(0.1):
                term["mismatchLabelKeys"] = ["owner"]
        if self.chance(0.3):
            term["namespaces"] = sorted(self.some(NAMESPACES, 2))
        if self.chance(0.4 if wanted else 0.3):
            term["namespaceSelector"] = self.one({}, {"matchLabels": {"env": self.one("prod", "dev")}},
                                                 *({"matchExpressions": [one]} for one in self.namespace_requirements(waits)))
        return term

    def spread(self, labels):
        constraints = {}
        for _ in range(self.one(1, 1, 2, 2, 3)):
            constraint = {"maxSkew": self.one(1, 1, 2, 2, 3, 4), "topologyKey": self.one(*TOPOLOGIES),
                          "whenUnsatisfiable": self.one("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")}
            # Pods of every app are so many that no zone is without one.
            selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]} if self.chance(0.3) else self.selector(labels, 0.5)
            if selector is not None:
                constraint["labelSelector"] = selector
                if self.chance(0.2):
                    constraint["matchLabelKeys"] = ["rev"]
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self.chance(0.35):
                constraint["minDomains"] = self.random.randint(1, 6)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.chance(0.35):
                    constraint[policy] = self.one("Honor", "Ignore")
            constraints[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint  # each pair is once in a pod
        return list(constraints.values())
