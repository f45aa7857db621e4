"""Room for more pods of a shape, counted from the objects alone, for shapes of one device or of units that are counted."""

import copy
from fractions import Fraction

from counted_gpus import AI_CORES, amounts_of, cpu_of

NVIDIA_UNITS = ("nvidia.com/gpu", "nvidia.com/gpu.shared")


def admits(node, pod):
    """Do taints and the node selector admit the pod? Cordons and nodes that are not ready are looked at elsewhere."""
    spec = pod["spec"]
    if any(node.labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    return all(taint["effect"] == "PreferNoSchedule" or any(tolerates(toleration, taint) for toleration in spec.get("tolerations", []))
               for taint in node.taints)


def tolerates(toleration, taint):
    if toleration.get("operator") == "Exists":
        return toleration.get("key", taint["key"]) == taint["key"]
    return toleration["key"] == taint["key"] and toleration["value"] == taint["value"]


class CardShape:
    """A slice of one card: which kinds of cards serve it, what it takes, and when it may join others."""

    def __init__(self, amounts):
        self.amounts = amounts
        family, self.memory, self.cores = self.read(amounts)
        self.kinds = {"volcano": ("volcano hami-core", "volcano mps"), "hami": ("hami hami-core", "hami mps")}.get(family, (family,))

    @staticmethod
    def read(amounts):
        if "volcano.sh/vgpu-memory" in amounts:
            return "volcano", amounts["volcano.sh/vgpu-memory"], amounts.get("volcano.sh/vgpu-cores", 0)
        if "nvidia.com/gpumem" in amounts:
            return "hami", amounts["nvidia.com/gpumem"], amounts.get("nvidia.com/gpucores", 0)
        if "volcano.sh/gpu-mem.128Mi" in amounts:
            return "cce", 128 * amounts["volcano.sh/gpu-mem.128Mi"], amounts.get("volcano.sh/gpu-core.percentage", 0)
        if "volcano.sh/gpu-memory" in amounts:
            return "gpushare", amounts["volcano.sh/gpu-memory"], 0
        word = next(key for key in amounts if key.startswith("huawei.com/Ascend") and not key.endswith("-memory")).removeprefix("huawei.com/")
        return f"hami {word}", amounts.get(f"huawei.com/{word}-memory", max(AI_CORES[word][0])), 0

    def share_of(self, card):
        """What it takes of a card, or None where it fits none of that size."""
        if card.kind == "cce":
            if self.memory > card.memory // 128 * 128:
                return None
            if self.memory == card.memory // 128 * 128 or self.cores == 100:
                return {"memory": Fraction(1), "compute": Fraction(1)}
        if card.kind.startswith("hami Ascend"):
            of_templates, all_cores = AI_CORES[card.kind.removeprefix("hami ")]
            memory = min((size for size in of_templates if size >= self.memory), default=None)
            return memory and {"memory": Fraction(memory, card.memory), "compute": Fraction(of_templates[memory], all_cores)}
        shares = {"memory": Fraction(self.memory, card.memory), "compute": Fraction(self.cores, 100)}
        return shares if max(shares.values()) <= 1 else None

    def may_join(self, card):
        compute = card.shares.get("compute", 0)
        if card.kind in ("hami hami-core", "volcano hami-core", "gpushare"):
            return card.tenants == 0 or (self.cores < 100 and compute < 1)
        if card.kind == "cce" and card.tenants:
            return card.shares["memory"] < 1 and (compute > 0) == (self.cores > 0)
        return True

    def fill(self, card):
        """Pods that the card takes; it is filled with them."""
        shares, pods = self.share_of(card), 0
        while shares and card.tenants < card.slots and self.may_join(card) and all(card.shares.get(kind, 0) + share <= 1 for kind, share in shares.items()):
            card.take(**shares)
            pods += 1
        return pods


class Room:
    """What pods of one shape find on all nodes."""

    def __init__(self, cluster, pod):
        self.pod, self.amounts = pod, amounts_of(pod)
        self.more = self.out = self.wrong_kind = self.fits = self.scattered = 0
        for node in cluster.nodes.values():
            self.add(node)

    @staticmethod
    def is_known(cluster, pod):
        """Is this a shape whose room is counted here?"""
        amounts = amounts_of(pod)
        kinds = {card.kind for node in cluster.nodes.values() for card in node.cards.values()}
        if len(pod["spec"]["containers"]) > 1 or any(toleration == {"operator": "Exists"} for toleration in pod["spec"].get("tolerations", [])):
            return False
        if any(key.startswith("nvidia.com/mig-") or key == "nvidia.com/gpu.shared" for key in amounts):
            return True
        if set(amounts) == {"nvidia.com/gpu"}:  # HAMi counts such pods by its own rules
            return not any(kind.startswith("hami ") for kind in kinds)
        if "huawei.com/npu-core" in amounts or "volcano.sh/gpu-number" in amounts or kinds & {"hami mig", "volcano mig"}:
            return False
        return amounts.get("nvidia.com/gpu", 1) == 1 and amounts.get("volcano.sh/vgpu-number", 1) == 1

    def add(self, node):
        idle = [1000 - gpu.used() for gpu in node.gpus]
        healthy = sum(left for left, gpu in zip(idle, node.gpus) if gpu.healthy and not node.is_out)
        self.out += sum(idle) - healthy
        if node.is_out:
            return
        if not admits(node, self.pod):
            self.wrong_kind += healthy
            return
        pods, right, fits = self.on_cards(node) if node.cards else self.on_units(node)
        self.wrong_kind += healthy - right
        self.fits += fits
        self.scattered += right - fits
        cpu = cpu_of(self.pod)
        self.more += max(0, min(pods, node.host[1], node.host[0] // cpu if cpu else pods))

    def on_cards(self, node):
        if set(self.amounts) <= set(NVIDIA_UNITS) or any(key.startswith("nvidia.com/mig-") for key in self.amounts):
            return 0, 0, 0
        shape, pods, right, fits = CardShape(self.amounts), 0, 0, 0
        for card in node.cards.values():
            if card.healthy and card.kind in shape.kinds and shape.share_of(card):
                filled = copy.deepcopy(card)
                pods += shape.fill(filled)
                right += 1000 - card.used()
                fits += filled.used() - card.used()
        return pods, right, fits

    def on_units(self, node):
        """Pods by free units; what is of the right kind are these units."""
        if any(resource not in node.units for resource in self.amounts):
            return 0, 0, 0
        [(resource, amount)] = self.amounts.items()
        if amount > 1 and node.labels.get("nvidia.com/gpu.sharing-strategy") == "mps":
            return 0, 0, 0  # the plugin gives no container two
        free = node.free_units(resource)
        pods = free // amount
        return pods, node.rise(resource, free), node.rise(resource, pods * amount)
