"""Nodes and pods of a cluster, read from the raw objects without vgpusim: what is left of them, and who may go where."""

import copy
import json
import math
from fractions import Fraction

SLICES = (("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"),
          ("volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"))
# Of an instance on an A100-80GB: compute slices of 7, memory slices of 8.
SLICES_OF_PROFILE = {"1g.10gb": (1, 1), "2g.20gb": (2, 2), "3g.40gb": (3, 4)}
RULES = {"node_unschedulable", "node_not_ready", "taint_not_tolerated", "node_selector_differs", "node_affinity_differs"}


def cpu_milli(text):
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def mib(text):
    return 1024 * int(text.removesuffix("Gi"))


class Node:
    def __init__(self, item):
        meta, amounts = item["metadata"], item["status"]["allocatable"]
        self.name, self.labels, self.annotations = meta["name"], meta["labels"], meta.get("annotations", {})
        self.taints = item.get("spec", {}).get("taints", [])
        self.cordoned = item.get("spec", {}).get("unschedulable", False)
        self.ready = item["status"]["conditions"][0]["status"]
        self.cpu, self.memory, self.pods_max = cpu_milli(amounts["cpu"]), mib(amounts["memory"]), int(amounts["pods"])
        self.cards = self.registered()
        self.units = {} if self.cards else {key: int(value) for key, value in amounts.items() if key.startswith("nvidia.com/")}
        self.gpus = len(self.cards) or int(self.labels.get("nvidia.com/gpu.count", 0))
        self.replicas = int(self.labels.get("nvidia.com/gpu.replicas", 1))
        self.total = (self.cpu, self.memory, self.pods_max, copy.deepcopy(self.cards), dict(self.units))

    def registered(self):
        """Its cards: memory, compute and slots that are left, all its memory, and its type."""
        if "hami.io/node-nvidia-register" in self.annotations:
            return [{"memory": card["devmem"], "cores": card["devcore"], "slots": card["count"], "all": card["devmem"], "type": card["type"]}
                    for card in json.loads(self.annotations["hami.io/node-nvidia-register"])]
        records = [entry.split(",") for entry in self.annotations.get("volcano.sh/node-vgpu-register", "").split(":") if entry]
        return [{"memory": int(record[2]), "cores": 100, "slots": int(record[1]), "all": int(record[2]), "type": record[3]} for record in records]

    def is_out(self):
        return self.cordoned or self.ready != "True"

    def used(self):
        """What pods were given of its GPUs, in GPUs: the larger of memory and compute, of a card rounded up to a thousandth."""
        if self.cards:
            shares = [max(Fraction(card["all"] - card["memory"], card["all"]), Fraction(100 - card["cores"], 100)) for card in self.cards]
            return Fraction(sum(math.ceil(1000 * share) for share in shares), 1000)
        compute = memory = whole = Fraction(0)
        for key, had in self.total[4].items():
            used = had - self.units[key]
            profile = key.removeprefix("nvidia.com/mig-")
            if profile in SLICES_OF_PROFILE:
                compute += Fraction(used * SLICES_OF_PROFILE[profile][0], 7)
                memory += Fraction(used * SLICES_OF_PROFILE[profile][1], 8)
            else:
                whole += Fraction(used, self.replicas)
        return whole + max(compute, memory)

    def emptied(self, name=None):
        fresh = copy.deepcopy(self)
        fresh.cpu, fresh.memory, fresh.pods_max, fresh.cards, fresh.units = copy.deepcopy(self.total)
        fresh.name = name or self.name
        fresh.labels = {**self.labels, "kubernetes.io/hostname": fresh.name}
        return fresh


class Pod:
    def __init__(self, item):
        meta, spec = item["metadata"], item["spec"]
        self.namespace, self.name, self.labels, self.created = meta["namespace"], meta["name"], meta["labels"], meta["creationTimestamp"]
        self.annotations, self.spec, self.owners = meta.get("annotations", {}), spec, meta.get("ownerReferences", [])
        requests = spec["containers"][0]["resources"]["requests"]
        self.cpu, self.memory = cpu_milli(requests["cpu"]), mib(requests["memory"])
        self.slice, self.units = None, {}
        for number, memory, cores in SLICES:
            if memory in requests:
                self.slice = (int(requests[number]), int(requests[memory]), int(requests.get(cores, 0)))
        if self.slice is None:
            self.units = {key: int(value) for key, value in requests.items() if key.startswith("nvidia.com/")}
        self.node = spec.get("nodeName")
        self.cards = self.cards_given()
        self.gates = [gate["name"] for gate in spec.get("schedulingGates", [])]
        self.gang = self.annotations.get("scheduling.k8s.io/group-name")
        self.full_name = f"{self.namespace}/{self.name}"

    def cards_given(self):
        text = self.annotations.get("hami.io/vgpu-devices-allocated") or self.annotations.get("volcano.sh/vgpu-ids-new") or ""
        return [int(entry.split(",")[0].rsplit("-", 1)[1]) for entry in text.replace(";", "").split(":") if entry]

    def has_devices(self):
        return bool(self.slice or self.units)

    def is_of_daemonset(self):
        return any(owner["kind"] == "DaemonSet" for owner in self.owners)

    def queue(self):
        return self.labels.get("kueue.x-k8s.io/queue-name") or self.annotations.get("scheduling.volcano.sh/queue-name")

    def shape(self, with_gang=True):
        """What makes two pods alike."""
        rules = {key: self.spec.get(key) for key in ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")}
        types = self.annotations.get("nvidia.com/use-gputype")
        return json.dumps([self.cpu, self.memory, self.slice, self.units, rules, types, self.gang if with_gang else None], sort_keys=True)


def tolerates(pod, key, value, effect):
    for toleration in pod.spec.get("tolerations", []):
        if toleration.get("effect", effect) != effect:
            continue
        if toleration.get("operator", "Equal") == "Exists" and toleration.get("key", key) == key:
            return True
        if toleration.get("key") == key and toleration.get("value", "") == value:
            return True
    return False


def meets(labels, expressions):
    answers = {"In": lambda e: labels.get(e["key"]) in e["values"], "NotIn": lambda e: labels.get(e["key"]) not in e["values"],
               "Exists": lambda e: e["key"] in labels, "DoesNotExist": lambda e: e["key"] not in labels}
    return all(answers[expression["operator"]](expression) for expression in expressions)


def selected(selector, labels):
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and meets(labels, selector.get("matchExpressions", []))


def is_chosen(node, pod):
    """Do nodeSelector and required node affinity admit the node?"""
    if any(node.labels.get(key) != value for key, value in pod.spec.get("nodeSelector", {}).items()):
        return "node_selector_differs"
    affinity = pod.spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if affinity and not any(meets(node.labels, term["matchExpressions"]) for term in affinity["nodeSelectorTerms"]):
        return "node_affinity_differs"
    return None


def anti_terms(pod):
    return pod.spec.get("affinity", {}).get("podAntiAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])


class World:
    def __init__(self, items):
        self.nodes = {item["metadata"]["name"]: Node(item) for item in items if item["kind"] == "Node"}
        self.pods = {}
        self.on = {name: [] for name in self.nodes}
        for item in items:
            if item["kind"] == "Pod":
                pod = Pod(item)
                self.pods[pod.full_name] = pod
                if pod.node:
                    self.place(pod, pod.node, pod.cards)
        self.parents = {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]): item["metadata"].get("ownerReferences", [])
                        for item in items if item["kind"] in ("ReplicaSet", "Deployment", "Job", "StatefulSet")}
        self.minimum = {(item["metadata"]["namespace"], item["metadata"]["name"]): item["spec"]["minMember"] for item in items if item["kind"] == "PodGroup"}

    def copy(self):
        return copy.deepcopy(self)

    def change(self, pod, name, cards, sign):
        node = self.nodes[name]
        node.cpu -= sign * pod.cpu
        node.memory -= sign * pod.memory
        node.pods_max -= sign
        for key, amount in pod.units.items():
            node.units[key] = node.units.get(key, 0) - sign * amount
        for card in cards:
            node.cards[card]["memory"] -= sign * pod.slice[1]
            node.cards[card]["cores"] -= sign * pod.slice[2]
            node.cards[card]["slots"] -= sign

    def place(self, pod, name, cards):
        self.change(pod, name, cards, 1)
        self.on[name].append(pod)
        pod.node, pod.cards = name, list(cards)

    def remove(self, pod):
        self.change(pod, pod.node, pod.cards, -1)
        self.on[pod.node].remove(pod)
        pod.node, pod.cards = None, []

    def add(self, node):
        self.nodes[node.name] = node
        self.on[node.name] = []

    def running(self):
        return [pod for pods in self.on.values() for pod in pods if pod.has_devices()]

    def waiting(self):
        return [pod for pod in self.pods.values() if pod.node is None]

    def top_owner(self, pod):
        """Kind and name of the controller at the top."""
        key, references = None, pod.owners
        while references:
            key = (references[0]["kind"], pod.namespace, references[0]["name"])
            references = self.parents.get(key, [])
        return f"{pod.namespace}/{key[2]} {key[0]}" if key else pod.full_name

    def rule_codes(self, node, pod):
        codes = set()
        if node.cordoned and not tolerates(pod, "node.kubernetes.io/unschedulable", "", "NoSchedule"):
            codes.add("node_unschedulable")
        if node.ready != "True":
            key = "node.kubernetes.io/" + ("not-ready" if node.ready == "False" else "unreachable")
            if not tolerates(pod, key, "", "NoSchedule"):
                codes.add("node_not_ready")
        if any(not tolerates(pod, taint["key"], taint.get("value", ""), taint["effect"]) for taint in node.taints):
            codes.add("taint_not_tolerated")
        codes.add(is_chosen(node, pod))
        return codes - {None}

    def is_kept_apart(self, node, pod):
        """Anti-affinity of the pod and of the pods that run, and topology spread."""
        for term in anti_terms(pod):
            key = term["topologyKey"]
            for name, others in self.on.items():
                if key in node.labels and self.nodes[name].labels.get(key) == node.labels[key]:
                    if any(other.namespace == pod.namespace and selected(term["labelSelector"], other.labels) for other in others):
                        return True
        for name, others in self.on.items():
            for other in others:
                for term in anti_terms(other) if other.namespace == pod.namespace else []:
                    key = term["topologyKey"]
                    if key in node.labels and self.nodes[name].labels.get(key) == node.labels[key] and selected(term["labelSelector"], pod.labels):
                        return True
        for constraint in pod.spec.get("topologySpreadConstraints", []):
            key = constraint["topologyKey"]
            counts = {}
            for name, others in self.on.items():
                if key in self.nodes[name].labels and is_chosen(self.nodes[name], pod) is None:
                    matching = sum(other.namespace == pod.namespace and selected(constraint["labelSelector"], other.labels) for other in others)
                    counts[self.nodes[name].labels[key]] = counts.get(self.nodes[name].labels[key], 0) + matching
            own = selected(constraint["labelSelector"], pod.labels)
            if key not in node.labels or counts.get(node.labels[key], 0) + own - min(counts.values()) > constraint["maxSkew"]:
                return True
        return False

    def cards_of_type(self, node, pod):
        wanted = pod.annotations.get("nvidia.com/use-gputype", "").upper()
        return [i for i, card in enumerate(node.cards) if wanted in card["type"].upper()]

    def offers(self, node, pod):
        """Is the node of the kind that the pod asks for, however full it is?"""
        if pod.slice:
            return bool(self.cards_of_type(node, pod))
        return all(key in node.total[4] for key in pod.units)

    def cards_that_take(self, node, pod):
        return [i for i in self.cards_of_type(node, pod)
                if node.cards[i]["memory"] >= pod.slice[1] and node.cards[i]["cores"] >= pod.slice[2] and node.cards[i]["slots"] > 0]

    def has_devices_for(self, node, pod):
        if pod.slice:
            return len(self.cards_that_take(node, pod)) >= pod.slice[0]
        return all(node.units.get(key, 0) >= amount for key, amount in pod.units.items())

    def has_host_for(self, node, pod):
        return node.cpu >= pod.cpu and node.memory >= pod.memory and node.pods_max > 0

    def groups(self, node, pod):
        """Why the node does not take the pod, in groups: kind, rules, peers, device, host. Empty: it does."""
        reasons = {"kind"} if not self.offers(node, pod) else {"device"} if not self.has_devices_for(node, pod) else set()
        reasons |= {"rules"} if self.rule_codes(node, pod) else set()
        reasons |= {"peers"} if self.is_kept_apart(node, pod) else set()
        reasons |= set() if self.has_host_for(node, pod) else {"host"}
        return reasons

    def fits(self, pod):
        return [name for name, node in self.nodes.items() if not self.groups(node, pod)]

    def place_best(self, pod):
        """Places the pod on the node that then has the least GPUs left, on its fullest cards. Its node, or None."""
        names = self.fits(pod)
        if not names:
            return None
        name = min(names, key=lambda candidate: (self.nodes[candidate].gpus - self.nodes[candidate].used(), candidate))
        node = self.nodes[name]
        cards = sorted(self.cards_that_take(node, pod), key=lambda i: (node.cards[i]["memory"], i))[:pod.slice[0]] if pod.slice else []
        self.place(pod, name, cards)
        return name

    def most(self, node, pod, host=True):
        """How many such pods the node's devices take, and its host; who else stands where does not count here."""
        if pod.slice:
            each, memory, cores = pod.slice
            caps = [min(node.cards[i]["memory"] // memory, node.cards[i]["cores"] // cores if cores else node.cards[i]["slots"], node.cards[i]["slots"])
                    for i in self.cards_of_type(node, pod)]
            count = 0
            while each and sum(min(cap, count + 1) for cap in caps) >= each * (count + 1):
                count += 1
        else:
            count = min(node.units.get(key, 0) // amount for key, amount in pod.units.items())
        return min(count, node.cpu // pod.cpu, node.memory // pod.memory, node.pods_max) if host else count
