"""Nodes of every dialect for random clusters, and which pods may run on them. The shares of a pod are chosen here, and
what they come to is counted elsewhere, from the objects alone (counted_gpus.py)."""

import json

A100, A100_80, T4, L40S = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB", "Tesla-T4", "NVIDIA-L40S"
MEMORY = {A100: 40960, A100_80: 81920, T4: 15360, L40S: 46068}
# What the MIG manager's layouts make of one GPU.
LAYOUTS = {A100_80: ({"1g.10gb": 7}, {"2g.20gb": 3}, {"3g.40gb": 2}, {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, {"7g.80gb": 1}),
           A100: ({"1g.5gb": 7}, {"3g.20gb": 2}, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})}
# Of an A100-40GB: memory that a program can use, and where an instance may start.
PLACEMENTS = {"1g.5gb": (4864, 1, range(7)), "2g.10gb": (9856, 2, (0, 2, 4)), "3g.20gb": (19968, 4, (0, 4)), "7g.40gb": (40192, 8, (0,))}
# Of Volcano's knownMigGeometries for an A100-40GB: each group's instances.
GROUPS = {"group1": (("1g.5gb", 5120, 7),), "group2": (("2g.10gb", 10240, 3), ("1g.5gb", 5120, 1)), "group3": (("3g.20gb", 20480, 2),)}
# Of HAMi's Ascend chips: MiB, AI cores, and the templates' memory, AI cores and AI CPUs.
NPUS = {"Ascend910B3": (65536, 20, ((16384, 5, 1), (32768, 10, 3)), 7), "Ascend910B4": (32768, 20, ((8192, 5, 1), (16384, 10, 3)), 7),
        "Ascend310P": (21527, 8, ((3072, 1, 1), (6144, 2, 2), (12288, 4, 4)), 7)}
# Of MindCluster's 310P: AI cores, AI CPUs, video engines of 12, and the labels that choose the template.
TEMPLATES = {"vir01": (1, 1, 1, {}), "vir02_1c": (2, 1, 3, {}), "vir02": (2, 2, 3, {"vnpu-level": "high"}), "vir04_3c": (4, 3, 6, {}),
             "vir04": (4, 4, 6, {"vnpu-level": "high"}), "vir04_3c_ndvpp": (4, 3, 0, {"vnpu-dvpp": "no"}), "vir04_4c_dvpp": (4, 4, 12, {"vnpu-dvpp": "yes"})}
VOLCANO_CONFIG = {"nvidia": {
    "resourceCountName": "volcano.sh/vgpu-number", "resourceMemoryName": "volcano.sh/vgpu-memory", "resourceCoreName": "volcano.sh/vgpu-cores",
    "resourceMemoryPercentageName": "volcano.sh/vgpu-memory-percentage", "gpuMemoryFactor": 1, "deviceSplitCount": 10, "knownMigGeometries": [{
        "models": ["A100-SXM4-40GB"], "allowedGeometries": [
            {"group": group, "geometries": [{"name": name, "memory": memory, "count": count} for name, memory, count in instances]}
            for group, instances in GROUPS.items()]}]}}


class DialectNode:
    """A node: its labels, annotations and resources, and what is left for pods that run there."""

    objects = ()  # beside the node

    def __init__(self, random_, name):
        self.random, self.name = random_, name
        self.labels, self.annotations, self.resources, self.missing = {}, {}, {}, {}
        self.build()

    def unhealthy(self, count):
        """Positions of GPUs that are not in service: rarely any."""
        return {i for i in range(count) if self.random.random() < 0.06}

    def build(self):
        raise NotImplementedError

    def asks(self):
        """What a pod may ask of such a node: resources of its containers, labels, and what place() has to know."""
        raise NotImplementedError

    def place(self, wish):
        """Gives a pod its share: the annotations of the pod, or None where there is no room."""
        raise NotImplementedError


class Ask:
    def __init__(self, *containers, labels=None, spec=None, **known):
        self.containers, self.labels, self.spec, self.known = containers, labels or {}, spec or {}, known


class Units(DialectNode):
    """NVIDIA's own plugin: resources that are counted."""

    def offer(self, resource, count, missing=0):
        self.missing[resource] = missing
        self.resources[resource] = count - missing
        self.left = {**getattr(self, "left", {}), resource: count - missing}

    def place(self, wish):
        sums = {}
        for amounts in wish.containers:
            for resource, amount in amounts.items():
                sums[resource] = sums.get(resource, 0) + amount
        if any(self.left.get(resource, 0) < amount for resource, amount in sums.items()):
            return None
        for resource, amount in sums.items():
            self.left[resource] -= amount
        return {}

    def product(self, model, count, replicas=1, **more):
        self.labels = {"nvidia.com/gpu.product": model, "nvidia.com/gpu.memory": str(MEMORY[model.split("-SHARED")[0].split("-MIG")[0]]),
                       "nvidia.com/gpu.count": str(count), "nvidia.com/gpu.replicas": str(replicas), **more}


class Whole(Units):
    def build(self):
        count = self.random.choice((1, 2, 4, 8))
        self.product(self.random.choice((A100_80, T4, L40S)), count)
        self.offer("nvidia.com/gpu", count, len(self.unhealthy(count)))

    def asks(self):
        amounts = {"nvidia.com/gpu": self.random.choice((1, 1, 2, 4))}
        return Ask(amounts, dict(amounts)) if self.random.random() < 0.15 else Ask(amounts)


class Shared(Units):
    """Time-slicing, or MPS, where a container gets one replica."""

    strategy = "time-slicing"

    def build(self):
        count, replicas = self.random.choice((1, 2, 4)), self.random.choice((2, 3, 4, 7, 10))
        renamed = self.random.random() < 0.3
        self.resource = "nvidia.com/gpu.shared" if renamed else "nvidia.com/gpu"
        self.product(T4 + ("" if renamed else "-SHARED"), count, replicas, **{"nvidia.com/gpu.sharing-strategy": self.strategy})
        self.offer(self.resource, count * replicas)

    def asks(self):
        return Ask({self.resource: 1 if self.strategy == "mps" else self.random.choice((1, 1, 1, 2, 5))})


class Mps(Shared):
    strategy = "mps"


class MigMixed(Units):
    """Strategy mixed; sometimes beside whole GPUs."""

    def build(self):
        model, count = self.random.choice((A100, A100_80)), self.random.choice((1, 2, 4))
        self.layout = self.random.choice(LAYOUTS[model])
        whole = self.random.choice((0, 0, 0, 2))
        self.product(model, count + whole, **{"nvidia.com/mig.strategy": "mixed"})
        for profile, instances in self.layout.items():
            self.offer(f"nvidia.com/mig-{profile}", instances * count)
        if whole:
            self.offer("nvidia.com/gpu", whole)

    def asks(self):
        profile = self.random.choice(sorted(self.layout))
        amounts = {f"nvidia.com/mig-{profile}": self.random.choice((1, 1, 1, 2))}
        if self.random.random() < 0.1:
            other = self.random.choice(sorted(self.layout))
            return Ask(amounts, {f"nvidia.com/mig-{other}": 1})
        return Ask(amounts)


class MigSingle(Units):
    def build(self):
        model, count = self.random.choice((A100, A100_80)), self.random.choice((1, 2, 4))
        [(profile, instances)] = self.random.choice([layout for layout in LAYOUTS[model] if len(layout) == 1 and "7g" not in next(iter(layout))]).items()
        self.product(f"{model}-MIG-{profile}", count * instances, **{"nvidia.com/mig.strategy": "single"})
        self.labels["nvidia.com/gpu.memory"] = str({"1g.5gb": 4864, "3g.20gb": 19968, "1g.10gb": 9728, "2g.20gb": 19968, "3g.40gb": 40192}[profile])
        self.offer("nvidia.com/gpu", count * instances)

    def asks(self):
        return Ask({"nvidia.com/gpu": self.random.choice((1, 1, 2))})


class Cards(DialectNode):
    """Cards with amounts of memory and compute that annotations name."""

    number, memory, cores = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
    mode = "hami-core"

    def cards_of(self, models):
        count = self.random.choice((1, 2, 4))
        out = self.unhealthy(count)
        one = self.random.choice(models)
        self.cards = []
        for i in range(count):
            model = self.random.choice(models) if self.random.random() < 0.1 else one
            self.cards.append({"id": f"GPU-{self.name}-{i}", "model": model, "memory": MEMORY[model], "cores": 100, "slots": self.random.choice((4, 10)),
                               "healthy": i not in out, "left": [MEMORY[model], 100, 0], "taken": []})
        for card in self.cards:
            card["left"][2] = card["slots"]

    def asks(self):
        cards = self.random.choice((1, 1, 1, 2))
        memory = self.random.choice((2048, 4096, 7680, 10000, 23034, 40000))
        cores = self.random.choice((0, 10, 25, 50, 100))
        amounts = {self.number: cards, self.memory: memory, **({self.cores: cores} if cores else {})}
        if self.random.random() < 0.12:
            return Ask(amounts, {self.number: 1, self.memory: 3000}, shares=[(cards, memory, cores), (1, 3000, 0)])
        return Ask(amounts, shares=[(cards, memory, cores)])

    def fits(self, card, memory, cores):
        """Also HAMi-core's rules: all compute joins nobody, and none does not join where all is given out."""
        left = card["left"]
        used = card["cores"] - left[1]
        joins = left[2] == card["slots"] or (cores < 100 and used < 100)
        return card["healthy"] and left[0] >= memory and left[1] >= cores and left[2] > 0 and joins

    def place(self, wish):
        before = [list(card["left"]) for card in self.cards]
        chosen = []
        for count, memory, cores in wish.known["shares"]:
            able = [card for card in self.cards if self.fits(card, memory, cores)]
            if len(able) < count:
                for card, left in zip(self.cards, before):
                    card["left"] = left
                return None
            cards = self.random.sample(able, count)
            for card in cards:
                card["left"] = [card["left"][0] - memory, card["left"][1] - cores, card["left"][2] - 1]
            chosen.append([(card["id"], memory, cores) for card in cards])
        return self.assignment(chosen)


class Hami(Cards):
    key = "hami.io/vgpu-devices-allocated"
    word = "NVIDIA"

    def build(self):
        self.cards_of((L40S, A100, T4))
        self.register()

    def register(self):
        self.annotations["hami.io/node-nvidia-register"] = json.dumps([
            {"id": card["id"], "index": i, "count": card["slots"], "devmem": card["memory"], "devcore": 100, "type": f"NVIDIA-{card['model']}",
             "mode": self.mode, "health": card["healthy"]} for i, card in enumerate(self.cards)])
        self.resources["nvidia.com/gpu"] = sum(card["slots"] for card in self.cards)

    def assignment(self, chosen):
        text = "".join("".join(f"{uuid},{self.word},{memory},{cores}:" for uuid, memory, cores in shares) + ";" for shares in chosen)
        return {"hami.io/vgpu-node": self.name, self.key: text, "hami.io/bind-phase": "success"}


class HamiMps(Hami):
    mode = "mps"


class HamiMig(Hami):
    """GPUs that HAMi cuts: an instance for each request, where it may start."""

    mode = "mig"

    def build(self):
        self.cards_of((A100,))
        for card in self.cards:
            card["slots"] = 7
        self.register()

    def asks(self):
        memory = self.random.choice((3000, 4864, 9000, 19968))
        return Ask({self.number: 1, self.memory: memory}, memory=memory)

    def place(self, wish):
        memory = wish.known["memory"]
        profile = next(name for name, (usable, _, _) in PLACEMENTS.items() if usable >= memory)
        _, size, starts = PLACEMENTS[profile]
        for card in self.random.sample(self.cards, len(self.cards)):
            for start in starts:
                ends_early = all(start + size <= begin or begin + length <= start for begin, length in card["taken"])
                if card["healthy"] and ends_early:
                    card["taken"].append((start, size))
                    entry = {"containerIndex": 0, "deviceIndex": 0, "gpuUUID": card["id"], "profile": profile, "placement": {"start": start, "size": size}}
                    return {**self.assignment([[(card["id"], memory, 0)]]), "hami.io/vgpu-mig-allocations": json.dumps([entry])}
        return None


class Volcano(Cards):
    number, memory, cores = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"

    def build(self):
        self.cards_of((L40S, A100, T4))
        self.register()

    def register(self):
        self.annotations["volcano.sh/node-vgpu-register"] = "".join(
            f"{card['id']},{card['slots']},{card['memory']},NVIDIA-{card['model']},{str(card['healthy']).lower()},{self.mode}:" for card in self.cards)
        self.resources.update({"volcano.sh/vgpu-number": sum(card["slots"] for card in self.cards), "volcano.sh/vgpu-cores": 100 * len(self.cards),
                               "volcano.sh/vgpu-memory": sum(card["memory"] for card in self.cards)})

    def assignment(self, chosen):
        text = ";".join("".join(f"{uuid},NVIDIA,{memory},{cores}:" for uuid, memory, cores in shares) for shares in chosen)
        return {"volcano.sh/vgpu-node": self.name, "volcano.sh/vgpu-ids-new": text, "volcano.sh/bind-phase": "success"}


class VolcanoMig(Volcano):
    """GPUs that Volcano cuts by one of its configured groups, which a GPU keeps until it is empty."""

    mode = "mig"

    def build(self):
        self.cards_of((A100,))
        for card in self.cards:
            card["group"] = self.random.choice(sorted(GROUPS))
            card["positions"] = [(name, memory) for name, memory, count in GROUPS[card["group"]] for _ in range(count)]
        self.register()

    def asks(self):
        memory = self.random.choice((3000, 5120, 9000, 20480))
        return Ask({self.number: 1, self.memory: memory}, memory=memory)

    def place(self, wish):
        for card in self.random.sample(self.cards, len(self.cards)):
            for position, (_, memory) in enumerate(card["positions"]):
                if card["healthy"] and memory >= wish.known["memory"] and position not in card["taken"]:
                    card["taken"].append(position)
                    return self.assignment([[(f"{card['id']}[{card['group']}-{position}]", wish.known["memory"], 0)]])
        return None
