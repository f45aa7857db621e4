"""Asks vgpusim the twelve questions of docs/questions.md on three clusters, and finds each answer again from the objects.

    VGPUSIM=build/release/bin/vgpusim python3 tests/questions/checks.py [CLUSTER…]

The second calculation shares no code with vgpusim: model.py reads the objects. One line per question and cluster says
"equal" or what differs; the exit code is 1 if anything does.
"""

import collections
import copy
import csv
import datetime
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import clusters
from model import RULES, SLICES_OF_PROFILE, Pod, World, anti_terms, selected

VGPUSIM = os.environ.get("VGPUSIM", "vgpusim")
GROUP_OF_CODE = {**dict.fromkeys(RULES, "rules"), "pod_anti_affinity": "peers", "topology_spread": "peers", "insufficient_cpu": "host",
                 "insufficient_memory": "host", "insufficient_pods": "host", "family_not_offered": "kind", "resource_not_offered": "kind",
                 "type_not_accepted": "kind"}
WHERE = {"gpu-operator": {"kind": "a100-00", "rack": "rack=r2", "mig": "mig-0,mig-3,mig-5"},
         "hami": {"kind": "a100-0", "rack": "rack=r1", "mig": "mig-*"},
         "volcano-queues": {"kind": "a100-00", "rack": "rack=r2", "mig": "mig-2,mig-3"}}


# Answers that are known to differ, and how. Who makes one equal takes its line out: the test says so.
OPEN = {
    ("gpu-operator", 7): "search/mirror-7d9f8b6c5-0: vgpusim host full, from the objects not allowed",
    ("gpu-operator", 8): "search/mirror-7d9f8b6c5-0: vgpusim host full, from the objects not allowed",
    ("gpu-operator", 9): "spare with",
    ("gpu-operator", 10): "which is not ready",
    ("hami", 8): "vgpusim all used, from the objects not allowed",
    ("hami", 10): "which is not ready",
}


class Differs(Exception):
    """The answer is not the one that the objects give."""


def same(what, theirs, ours):
    if theirs != ours:
        raise Differs(f"{what}: vgpusim {theirs}, from the objects {ours}")


def near(what, theirs, ours, most=1):
    if abs(theirs - ours) > most:
        raise Differs(f"{what}: vgpusim {theirs}, from the objects {float(ours):.3f}")


def milli(gpus):
    return 1000 * gpus


class Questions:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.file = f"{name}.json"
        self.items = json.loads((folder / self.file).read_text(encoding="utf-8"))["items"]
        self.world = World(self.items)
        self.known = {}
        self.show = self.ask("show", self.file)

    def run(self, *arguments):
        done = subprocess.run([VGPUSIM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            raise Differs(f"vgpusim {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def ask(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    # What pods wait for, by the definitions of docs/show.md.

    def nodes_of_kind(self, world, pod):
        return [node for node in world.nodes.values() if not world.rule_codes(node, pod) and world.offers(node, pod)]

    def more(self, world, pod, host=True):
        """How many more such pods start, one after the other; rules about other pods included."""
        nodes = [node for node in self.nodes_of_kind(world, pod) if not world.is_kept_apart(node, pod)]
        own = [term["topologyKey"] for term in anti_terms(pod) if selected(term["labelSelector"], pod.labels)]
        if own:
            return len({node.labels[own[0]] for node in nodes if world.most(node, pod, host)})
        if any(selected(spread["labelSelector"], pod.labels) for spread in pod.spec.get("topologySpreadConstraints", [])):
            raise Differs("a shape that is spread against itself is not counted here")
        return sum(world.most(node, pod, host) for node in nodes)

    def verdict(self, world, pod):
        if pod.gates:
            return "queue" if any(gate.startswith("kueue.x-k8s.io/") for gate in pod.gates) else "gate"
        empty = {name: node.emptied() for name, node in world.nodes.items()}
        if not any(not world.rule_codes(node, pod) and world.offers(node, pod) and world.has_devices_for(node, pod) and world.has_host_for(node, pod)
                   for node in empty.values()):
            return "never"
        if world.fits(pod):
            minimum = world.minimum.get((pod.namespace, pod.gang), 0) if pod.gang else 0
            return "gang" if self.more(world, pod) < minimum else "fits now"
        able = self.nodes_of_kind(world, pod)
        if any(world.has_devices_for(node, pod) and world.has_host_for(node, pod) for node in able):
            return "not allowed"
        if any(world.has_devices_for(node, pod) for node in able):
            return "host full"
        if pod.slice:
            free = sum(node.gpus - node.used() for node in able)
            asked = self.asked(able, pod)
            return "scattered" if free >= asked else "all used"
        key, amount = next(iter(pod.units.items()))
        return "scattered" if sum(node.units[key] for node in able) >= amount else "all used"

    @staticmethod
    def asked(nodes, pod):
        """GPUs that a slice takes, on the cards where it is least."""
        count, memory, cores = pod.slice
        return count * min(max(Fraction(memory, card["all"]), Fraction(cores, 100)) for node in nodes for card in node.cards)

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
            if anti_terms(pod) or "topologySpreadConstraints" in pod.spec:  # where rules about other pods exclude a node, it may be full too
                for counts in (theirs, parts):
                    counts["wrong_kind"] += counts.pop("scattered") + counts.pop("host_full")
            for part, count in theirs.items():
                near(f"{part} of {row['shape']}", count, milli(parts[part]), 20)
            rows += 1
        return f"{rows} shapes x 5 causes, each sums to {idle / 1000:.1f}"

    def idle_for(self, pod):
        """Idle GPUs by cause, node by node."""
        parts = dict.fromkeys(("of_use", "scattered", "host_full", "wrong_kind", "out"), Fraction(0))
        kept = self.world.copy()
        taken = self.world.copy()
        while taken.place_best(Pod(self.item_of(pod))) is not None:
            pass
        for name, node in kept.nodes.items():
            idle = node.gpus - node.used()
            if node.is_out():
                parts["out"] += idle
            elif kept.rule_codes(node, pod) or not kept.offers(node, pod) or (pod.slice and all(card["all"] < pod.slice[1] for card in node.cards)):
                parts["wrong_kind"] += idle
            else:
                of_use = taken.nodes[name].used() - node.used()
                endless = self.filled(node, pod) - node.used()
                parts["of_use"] += of_use
                parts["host_full"] += max(endless - of_use, 0)
                parts[self.rest_of(node)] += idle - max(endless, of_use)
        return parts

    @staticmethod
    def rest_of(node):
        return "wrong_kind" if any("mig-" in key for key in node.total[4]) else "scattered"

    def item_of(self, pod):
        item = next(item for item in self.items if item["kind"] == "Pod" and f"{item['metadata']['namespace']}/{item['metadata']['name']}" == pod.full_name)
        spec = {key: value for key, value in item["spec"].items() if key != "nodeName"}
        return {**item, "spec": spec}

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

    # What-ifs: the answer's places are made on the objects, one after the other.

    def replay(self, world, answer):
        """Makes what the answer says of the pods in `world`; the pods that it refuses."""
        refused = []
        for entry in answer["pods"]:
            pod = world.pods[f"{entry['namespace']}/{entry['name']}"]
            if not entry["placed"]:
                refused.append(pod)
                continue
            place = entry["placed"][0]
            node = world.nodes[place["node"]]
            cards = [share["device"] for share in place["shares"]] if pod.slice else []
            groups = world.groups(node, pod) if not pod.gang else world.groups(node, pod) - {"peers"}
            if groups or (pod.slice and not set(cards) <= set(world.cards_that_take(node, pod))):
                raise Differs(f"{pod.full_name} on {node.name}: placed by vgpusim, refused by the objects ({sorted(groups)})")
            world.place(pod, node.name, cards)
        return refused

    def wait_rightly(self, world, refused, answer):
        """Who waits in the answer fits nowhere when all is done, and waits for what the answer says."""
        verdicts = {f"{entry['namespace']}/{entry['name']}": entry["verdict"] for entry in answer["pods"]}
        for pod in refused:
            if pod.has_devices() and not pod.gates and not pod.gang and world.fits(pod):
                raise Differs(f"{pod.full_name} waits in the answer, and {world.fits(pod)[0]} takes it")
        wrong = [f"{pod.full_name}: vgpusim {verdicts[pod.full_name]}, from the objects {self.verdict(world, pod)}" for pod in refused
                 if pod.has_devices() and verdicts[pod.full_name] != self.verdict(world, pod)]
        if wrong:
            raise Differs("; ".join(wrong))

    def check_7(self):
        kind = WHERE[self.name]["kind"]
        answer = self.ask("whatif", self.file, "--find-nodes", kind)
        found = answer["find_nodes"]
        world = self.world.copy()
        for number in range(1, found["nodes"] + 1):
            world.add(self.world.nodes[kind].emptied(f"{kind}-added-{number}"))
        refused = self.replay(world, answer)
        self.wait_rightly(world, refused, answer)
        fresh = self.world.nodes[kind].emptied("empty")
        alone = World([])
        alone.add(fresh)
        for pod in refused:
            if not pod.gates and not self.world.is_kept_apart(fresh, pod) and not alone.groups(fresh, pod):
                raise Differs(f"{pod.full_name} waits with {found['nodes']} nodes more, and an empty one takes it")
        helped = [pod for pod in world.pods.values() if pod.node and self.world.pods[pod.full_name].node is None]
        if self.can_start(helped, kind, found["nodes"] - 1):
            if found["is_proved"]:
                raise Differs(f"{found['nodes']} nodes proved, and {found['nodes'] - 1} are enough")
            return f"{found['nodes']} nodes are enough; {found['nodes'] - 1} would be too by another order (the answer says heuristic)"
        return f"{found['nodes']} nodes are enough, {found['nodes'] - 1} are not"

    def can_start(self, pods, kind, nodes):
        """Can these pods all start with so many nodes more? The largest first, in two orders."""
        if nodes < 0:
            return False
        for order in (lambda pod: (pod.slice or (sum(pod.units.values()),), pod.cpu), lambda pod: (pod.cpu, pod.slice or (0,))):
            world = self.world.copy()
            for number in range(nodes):
                world.add(self.world.nodes[kind].emptied(f"{kind}-added-{number}"))
            chosen = sorted((world.pods[pod.full_name] for pod in pods), key=order, reverse=True)
            if all(world.place_best(pod) for pod in chosen):
                return True
        return False

    def check_8(self):
        rack = WHERE[self.name]["rack"].partition("=")[2]
        lines = []
        for change in ("--fail", "--drain"):
            answer = self.ask("whatif", self.file, change, f"rack={rack}")
            world = self.world.copy()
            gone = [name for name, node in world.nodes.items() if node.labels["rack"] == rack]
            evicted = [pod for name in gone for pod in list(world.on[name]) if not pod.is_of_daemonset()]
            same(f"pods that leave by {change}", sorted(f"{pod['namespace']}/{pod['name']}" for pod in answer["pods"] if pod["origin"] == "evicted"),
                 sorted(pod.full_name for pod in evicted))
            for pod in evicted:
                world.remove(pod)
            for name in gone:
                if change == "--fail":
                    del world.nodes[name], world.on[name]
                else:
                    world.nodes[name].cordoned = True
            refused = self.replay(world, answer)
            self.wait_rightly(world, refused, answer)
            same("GPUs after", answer["comparison"]["gpus"]["after"], milli(sum(node.gpus for node in world.nodes.values())))
            near("used after", answer["comparison"]["used"]["after"], milli(sum(node.used() for node in world.nodes.values())), 40)
            same("pods that run after", answer["comparison"]["pods_run"]["after"], len(world.running()))
            stops = sum(pod in refused for pod in evicted if pod.has_devices())
            same("pods that stop", answer["counts"]["stops"], stops)
            lines.append(f"{change} {stops} of {len([pod for pod in evicted if pod.has_devices()])} pods stop")
        self.same_without_the_nodes(rack, answer)
        return ", ".join(lines)

    def same_without_the_nodes(self, rack, drained):
        """The nodes deleted from the file, their pods bound nowhere: the same pods find no place."""
        gone = {name for name, node in self.world.nodes.items() if node.labels["rack"] == rack}
        items = []
        for item in self.items:
            if item["metadata"]["name"] in gone and item["kind"] == "Node":
                continue
            if item["kind"] == "Pod" and item["spec"].get("nodeName") in gone:
                if item["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet":
                    continue
                annotations = {key: value for key, value in item["metadata"]["annotations"].items() if "vgpu" not in key and "bind-phase" not in key}
                item = self.item_of(Pod(item)) | {"metadata": {**item["metadata"], "annotations": annotations}, "status": {"phase": "Pending"}}
            items.append(item)
        (self.folder / "without.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        again = self.ask("whatif", "without.json")
        for fate in ("refused", "placed"):
            same(f"pods {fate} with the rack deleted from the file", again[fate], drained[fate])

    def check_9(self):
        chosen = WHERE[self.name]["mig"]
        answer = self.ask("whatif", self.file, "--find-layout", chosen)
        catalog = json.loads(self.run("catalog", "mig", "--json"))
        model = next(model for model in catalog["mig"] if model["key"] == "A100-80GB")
        most = {profile["name"]: profile["max_instances"] for profile in model["profiles"]}
        for layout, counts in clusters.LAYOUTS.items():
            if layout != "all-balanced":
                same(f"instances of {layout}", next(iter(counts.values())), most[layout.removeprefix("all-")])
        wanted = collections.Counter()
        for pod in self.world.pods.values():
            for unit, amount in pod.units.items():
                if "mig-" in unit:
                    wanted[unit.removeprefix("nvidia.com/mig-")] += amount
        same("mix", {entry["profile"]: entry["instances"] for entry in answer["mix"]}, dict(wanted))
        names = answer["nodes"]
        fixed = collections.Counter()
        for name, node in self.world.nodes.items():
            for unit, amount in node.total[4].items():
                if "mig-" in unit and name not in names:
                    profile = unit.removeprefix("nvidia.com/mig-")
                    # Nobody comes to a node that is out of service, and who is there stays.
                    fixed[profile] += amount - node.units[unit] if node.is_out() else amount
        # Of each node: its own, and those that have nothing but what the mix asks for.
        layouts = [[layout for layout, counts in clusters.LAYOUTS.items()
                    if all(profile in wanted for profile in counts) or layout == self.world.nodes[name].labels["nvidia.com/mig.config"]] for name in names]
        expected = {}
        for ways in itertools.product(*layouts):
            supply = collections.Counter(fixed)
            for name, layout in zip(names, ways):
                for profile, count in clusters.LAYOUTS[layout].items():
                    supply[profile] += self.world.nodes[name].gpus * count
            run = {profile: min(wanted[profile], supply[profile]) for profile in wanted}
            expected[ways] = (sum(run.values()), {profile: supply[profile] - run[profile] for profile in wanted})
        same("ways", answer["possible"], len(expected))
        for row in answer["rows"]:
            run, spare = expected[tuple(row["layouts"])]
            same(f"run with {row['layouts']}", row["run"], run)
            same(f"spare with {row['layouts']}", row["spare"], spare)
        best = max(run for run, _ in expected.values())
        same("the most that run", answer["rows"][0]["run"], best)
        return f"{len(answer['rows'])} of {len(expected)} ways, {best} of {sum(wanted.values())} pods run at best"

    def check_10(self):
        plan = self.ask("plan", self.file, "--consolidate", "nodes", "--moves", "20")
        world = self.world.copy()
        busy = {name for name, pods in world.on.items() if any(pod.has_devices() for pod in pods)}
        for move in plan["moves"]:
            pod, source, target = world.pods[move["pod"]], move["from"]["node"], move["to"]["node"]
            same(f"where {pod.full_name} is", source, pod.node)
            if world.nodes[source].ready != "True":
                raise Differs(f"{pod.full_name} moves from {source}, which is not ready")
            cards = [share["device"] for share in move["to"]["shares"]] if pod.slice else []
            groups = world.groups(world.nodes[target], pod)
            if any("anti-affinity" in text and pod.full_name in text for text in plan["not_considered"]):
                groups -= {"peers"}  # the plan says that it did not look at them
            same(f"why {pod.full_name} may not go to {target}", set(), groups)
            world.remove(pod)
            world.place(pod, target, cards)
        emptied = busy - {name for name, pods in world.on.items() if any(pod.has_devices() for pod in pods)}
        same("nodes emptied", plan["emptied"]["count"], len(emptied))
        anew = self.ask("whatif", self.file, "--anew", "--policy", "best_fit")
        floor = self.first_fit_decreasing()
        after = anew["comparison"]["pods_run"]["after"]
        world = self.world.copy()
        for entry in anew["pods"]:
            pod = world.pods[f"{entry['namespace']}/{entry['name']}"]
            if pod.node:
                world.remove(pod)
        refused = self.replay(world, anew)
        same("pods that run anew", after, len(world.running()))
        self.wait_rightly(world, refused, anew)
        lost = f"; first fit decreasing runs {floor}, {floor - after} more" if floor > after else f", first fit decreasing {floor}"
        return f"{len(plan['moves'])} moves empty {len(emptied)} nodes; anew {after} pods run{lost}"

    def first_fit_decreasing(self):
        world = self.world.copy()
        pods = []
        for pod in world.pods.values():
            if pod.has_devices() and not pod.gates and not (pod.node and world.nodes[pod.node].is_out()):
                if pod.node:
                    world.remove(pod)
                pods.append(pod)
        pods.sort(key=lambda pod: (-sum(pod.units.values()) if pod.units else -pod.slice[0] * max(pod.slice[1], 1), -pod.cpu, pod.full_name))
        for pod in pods:
            names = world.fits(pod)
            if names:
                node = world.nodes[names[0]]
                world.place(pod, names[0], world.cards_that_take(node, pod)[:pod.slice[0]] if pod.slice else [])
        return len(world.running())

    def check_11(self):
        records = self.folder / f"{self.name}-sacct.txt"
        summary = self.ask("import", "sacct", records.name, "--out", f"{self.name}-month")
        jobs = seconds = 0
        for row in csv.DictReader(io.StringIO(records.read_text(encoding="utf-8")), delimiter="|"):
            if "." in row["JobID"] or row["Start"] == "Unknown":
                continue
            jobs += 1
            amounts = dict(part.split("=", 1) for part in row["AllocTRES"].split(","))
            seconds += int(amounts.get("gres/gpu", 0)) * int(row["ElapsedRaw"])
        same("jobs", summary["jobs"], jobs)
        same("GPU-seconds", summary["gpu_seconds"], seconds)
        nodes = {"apiVersion": "v1", "kind": "List", "items": [item for item in self.items if item["kind"] == "Node"]}
        (self.folder / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
        if self.name == "volcano-queues":  # Slurm's GPUs are cards of Volcano's plugin here
            classes = self.folder / f"{self.name}-month" / "classes.json"
            classes.write_text(classes.read_text(encoding="utf-8").replace("nvidia.com/gpu", "volcano.sh/vgpu-number"), encoding="utf-8")
        text = self.run("compare", "--format", "kubernetes", "--nodes", "nodes.json", "--classes", f"{self.name}-month/classes.json",
                        "--pods", f"{self.name}-month/arrivals.csv", "--discipline", "easy", "--policy", "best_fit", "--policy", "bid_price",
                        "--out", f"{self.name}-month/compare")
        placed = {}
        for line in text.splitlines():
            if line.startswith(("best_fit", "bid_price")):
                placed.setdefault(line.split()[0], line.split())  # the first table
        if set(placed) != {"best_fit", "bid_price"} or any(float(row[1]) == 0 for row in placed.values()):
            raise Differs(f"compare placed no GPUs under a policy: {text[:200]}")
        return f"{jobs} jobs, {seconds / 3600:.2f} GPU-hours"

    def check_12(self):
        history = self.folder / f"{self.name}-used.csv"
        trend = self.ask("forecast", self.file, "--history", history.name)
        rows = list(csv.DictReader(history.read_text(encoding="utf-8").splitlines()))
        weeks = [(datetime.date.fromisoformat(row["time"]) - datetime.date.fromisoformat(rows[0]["time"])).days / 7 for row in rows]
        used = [float(row["used"]) for row in rows]
        mean_x, mean_y = sum(weeks) / len(weeks), sum(used) / len(used)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(weeks, used)) / sum((x - mean_x) ** 2 for x in weeks)
        near("GPUs a week", trend["trend"]["gpus_a_week"], slope, 1e-9)
        in_service = (self.show["totals"]["used"] + self.show["totals"]["free"]) / 1000
        day = datetime.date.fromisoformat(rows[0]["time"]) + datetime.timedelta(weeks=(in_service - mean_y) / slope + mean_x)
        near("the day", datetime.date.fromisoformat(trend["full"][0]["about"]).toordinal(), day.toordinal(), 1)
        cost = self.ask("show", self.file, "--prices", "prices.json")["cost_a_day"]
        total = Fraction(0)
        for row in self.show["rows"]:
            total += row["gpus"] * Fraction(str(self.price(row["kind"]))) * 24
        same("EUR a day", cost["total_micro"], total * 1_000_000)
        same("used + free + out", cost["used_micro"] + cost["free_micro"] + cost["out_micro"], cost["total_micro"])
        return f"full about {trend['full'][0]['about']}, {float(total):.2f} EUR a day"

    @staticmethod
    def price(kind):
        words = set(kind.replace("-", " ").split())
        return next(price for model, price in clusters.PRICES["gpu_hour"].items() if set(model.split("-")) <= words)


def main(names):
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        for name in names or clusters.CLUSTERS:
            questions = Questions(name, Path(folder))
            for number in range(1, 13):
                known = OPEN.get((name, number))
                try:
                    answer = f"equal: {getattr(questions, f'check_{number}')()}"
                    differences += known is not None
                    answer += " (and no longer open: take it out of OPEN)" if known else ""
                except Differs as difference:
                    is_known = known is not None and known in str(difference)
                    differences += not is_known
                    answer = f"{'open' if is_known else 'DIFFERS'}: {difference}"
                print(f"{name} {number}: {answer}", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
