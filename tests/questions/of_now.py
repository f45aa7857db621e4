"""Questions 1 to 6: the cluster as it is."""

import collections
import copy
from fractions import Fraction

from asking import Asking, Differs, milli, near, same
from model import RULES, SLICES_OF_PROFILE, Pod, World

GROUP_OF_CODE = {**dict.fromkeys(RULES, "rules"), "pod_anti_affinity": "peers", "topology_spread": "peers", "insufficient_cpu": "host",
                 "insufficient_memory": "host", "insufficient_pods": "host", "family_not_offered": "kind", "resource_not_offered": "kind",
                 "type_not_accepted": "kind"}


class OfNow(Asking):
    def check_1(self):
        """Every waiting pod, node by node."""
        answers = 0
        for pod in self.world.waiting():
            seen = self.ask("explain", self.file, "--pod", pod.full_name)
            for node in seen["nodes"]:
                groups = self.world.groups(self.world.nodes[node["name"]], pod)
                same(f"{pod.full_name} on {node['name']} fits", node["fits"], not groups)
                if groups:
                    group = GROUP_OF_CODE.get(node["reason"]["code"], "device")
                    kinds = groups | ({"device"} if "kind" in groups else set())
                    if group not in kinds:
                        raise Differs(f"{pod.full_name} on {node['name']}: vgpusim {node['reason']['text']}, from the objects {sorted(groups)}")
                answers += 1
        return f"{answers} answers of nodes"

    def check_2(self):
        groups = self.ask("why", self.file)["groups"]
        theirs = {pod if isinstance(pod, str) else pod["pod"]: group["verdict"] for group in groups for pod in group["pods"]}
        same("pods that wait", sorted(theirs), sorted(item["metadata"]["namespace"] + "/" + item["metadata"]["name"] for item in self.items
                                                     if item["kind"] == "Pod" and item["status"]["phase"] == "Pending"))
        ours = {pod.full_name: self.verdict(self.world, pod) for pod in self.world.waiting()}
        same("verdicts", {pod: verdict for pod, verdict in theirs.items() if ours[pod] != verdict},
             {pod: verdict for pod, verdict in ours.items() if theirs[pod] != verdict})
        return f"{len(ours)} pods, verdicts " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(collections.Counter(ours.values()).items()))

    def check_3(self):
        totals, nodes = self.show["totals"], self.world.nodes.values()
        labels = sum(int(node.labels.get("nvidia.com/gpu.count", 0)) for node in nodes)
        same("GPUs", totals["gpus"], labels + sum(len(node.cards) for node in nodes))
        by_pool, gpus = collections.defaultdict(Fraction), collections.Counter()
        for node in nodes:
            if node.gpus:
                gpus[node.labels["pool"]] += 0 if node.cards else node.gpus  # a GPU with instances may be rounded up
                by_pool[node.labels["pool"], "used"] += node.used()
                by_pool[node.labels["pool"], "out" if node.is_out() else "free"] += node.gpus - node.used()
        for pool in {pool for pool, _ in by_pool}:
            for part in ("used", "free", "out"):
                near(f"{part} of {pool}", sum(row[part] for row in self.show["rows"] if row["key"] == pool), milli(by_pool[pool, part]), gpus[pool])
        near("used", totals["used"], milli(sum(node.used() for node in nodes)), gpus.total())
        same("pods that run", totals["pods_run"], len(self.world.running()))
        return f"{totals['gpus']} GPUs, {totals['used'] / 1000:.1f} used"

    def shapes(self):
        """The rows of IDLE, each with a pod of that shape."""
        pods = [pod for pod in self.world.pods.values() if pod.has_devices()]
        for row in self.show["shapes"]:
            asks = {key: value for key, value in row["asks"].items() if key not in ("cpu_milli", "memory_mib")}
            alike = [pod for pod in pods if (row["asks"]["cpu_milli"], row["asks"]["memory_mib"]) == (pod.cpu, pod.memory) and asks == self.amounts(pod)
                     and (row["run"], row["wait"]) == self.counted(pods, pod)]
            if not alike:
                raise Differs(f"no pod of shape {row['shape']} is that often there ({row['run']} run, {row['wait']} wait)")
            yield row, alike[0]

    def once(self, count, pod):
        """Pods that differ only in their gang have the same figures."""
        key = (count.__name__, pod.shape(with_gang=False))
        if key not in self.known:
            self.known[key] = count(pod)
        return self.known[key]

    def more_in_this_world(self, pod):
        return self.more(self.world, pod)

    @staticmethod
    def amounts(pod):
        requests = pod.spec["containers"][0]["resources"]["requests"]
        return {key: int(value) for key, value in requests.items() if key not in ("cpu", "memory")}

    @staticmethod
    def counted(pods, one):
        alike = [pod for pod in pods if pod.shape() == one.shape()]
        return sum(pod.node is not None for pod in alike), sum(pod.node is None for pod in alike)

    def check_4(self):
        counts = []
        for row, pod in self.shapes():
            same(f"more of {row['shape']}", row["more"], self.once(self.more_in_this_world, pod))
            counts.append(row["more"])
        return f"{len(counts)} shapes, more: {', '.join(map(str, counts[:6]))}, …"

    def check_5(self):
        rows = 0
        idle = self.show["totals"]["free"] + self.show["totals"]["out"]
        for row, pod in self.shapes():
            parts = dict(self.once(self.idle_for, pod))
            same(f"sum of {row['shape']}", row["of_use"] + row["scattered"] + row["host_full"] + sum(row["wrong_kind"].values()) + row["out"], idle)
            theirs = {"of_use": row["of_use"], "scattered": row["scattered"], "host_full": row["host_full"],
                      "wrong_kind": sum(row["wrong_kind"].values()), "out": row["out"]}
            for part, count in theirs.items():
                # Where the host is full first, another best fit gives another card: a pod of a small share more or less.
                near(f"{part} of {row['shape']}", count, milli(parts[part]), 60 if "topologySpreadConstraints" in pod.spec else 20)
            rows += 1
        return f"{rows} shapes x 5 causes, each sums to {idle / 1000:.1f}"

    def idle_for(self, pod):
        """Idle GPUs by cause, node by node. What rules about other pods keep from being of use counts last, as of the wrong kind."""
        parts = dict.fromkeys(("of_use", "scattered", "host_full", "wrong_kind", "out"), Fraction(0))
        alone = self.without_peers(pod)
        full = self.with_as_many(alone)
        for name, node in self.world.nodes.items():
            idle = node.gpus - node.used()
            if node.is_out():
                parts["out"] += idle
            elif self.world.rule_codes(node, alone) or not self.world.offers(node, alone) or self.is_too_small(node, alone):
                parts["wrong_kind"] += idle
            else:
                of_use = full.nodes[name].used() - node.used()
                endless = self.filled(node, alone) - node.used()
                parts["of_use"] += of_use
                parts["host_full"] += max(endless - of_use, 0)
                parts[self.rest_of(node)] += idle - max(endless, of_use)
        beside_others = self.with_as_many(Pod(self.item_of(pod)))
        taken = sum(node.used() - self.world.nodes[name].used() for name, node in beside_others.nodes.items())
        parts["wrong_kind"] += parts["of_use"] - taken
        parts["of_use"] = taken
        return parts

    @staticmethod
    def is_too_small(node, pod):
        return pod.slice is not None and all(card["all"] < pod.slice[1] for card in node.cards)

    def with_as_many(self, pod):
        """The cluster with as many such pods more as find a place, by best fit."""
        full = self.world.copy()
        while full.place_best(copy.copy(pod)) is not None:
            pass
        return full

    def without_peers(self, pod):
        """The same pod, as if no rule about other pods held."""
        alone = Pod(self.item_of(pod))
        affinity = {key: value for key, value in alone.spec.get("affinity", {}).items() if key != "podAntiAffinity"}
        alone.spec = {key: value for key, value in alone.spec.items() if key not in ("affinity", "topologySpreadConstraints")} | {"affinity": affinity}
        alone.labels = {}
        return alone

    @staticmethod
    def rest_of(node):
        return "wrong_kind" if any("mig-" in key for key in node.total[4]) else "scattered"

    def filled(self, node, pod):
        """What is used of a node with as many such pods as its devices take."""
        fresh, world, full = Pod(self.item_of(pod)), World([]), copy.deepcopy(node)
        world.add(full)
        for _ in range(world.most(full, fresh, host=False)):
            # The emptiest cards first: so no card is left over that a pod of several cards could have.
            cards = sorted(world.cards_that_take(full, fresh), key=lambda i: -full.cards[i]["memory"])[:fresh.slice[0]] if fresh.slice else []
            if fresh.slice and len(cards) < fresh.slice[0]:
                break
            world.change(fresh, node.name, cards, 1)
        return full.used()

    def used_of(self, pod):
        """GPUs that a pod that runs was given, at least and at most: the share of compute or of memory, which of them the other pods decide."""
        node = self.world.nodes[pod.node]
        if pod.slice:
            shares = [(Fraction(pod.slice[1], node.cards[card]["all"]), Fraction(pod.slice[2], 100)) for card in pod.cards]
            return sum(map(min, shares)), sum(map(max, shares))
        unit, amount = next(iter(pod.units.items()))
        compute, memory = SLICES_OF_PROFILE.get(unit.removeprefix("nvidia.com/mig-"), (0, 0))
        shares = (Fraction(compute, 7), Fraction(memory, 8)) if compute else (Fraction(1, node.replicas),) * 2
        return amount * min(shares), amount * max(shares)

    def check_6(self):
        keys = {"namespace": lambda pod: pod.namespace, "owner": self.world.top_owner, "queue": lambda pod: pod.queue()}
        for by, key_of in keys.items():
            least, most, count = collections.defaultdict(Fraction), collections.defaultdict(Fraction), collections.Counter()
            for pod in self.world.running():
                count[key_of(pod)] += 1
                least[key_of(pod)] += self.used_of(pod)[0]
                most[key_of(pod)] += self.used_of(pod)[1]
            rows = self.ask("show", self.file, "--by", by)["rows"]
            same(f"pods by {by}", {row["key"]: row["run"] for row in rows if row["run"]}, dict(count))
            same(f"sum by {by}", sum(row["used"] for row in rows), self.show["totals"]["used"])
            for row in rows:
                if not milli(least[row["key"]]) - 1 <= row["used"] <= milli(most[row["key"]]) + 1 + row["run"]:
                    raise Differs(f"used of {row['key']}: vgpusim {row['used']}, from the objects {milli(least[row['key']])} to {milli(most[row['key']])}")
        return f"{len({pod.namespace for pod in self.world.running()})} namespaces, owners and queues"
