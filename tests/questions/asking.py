"""Asks vgpusim, and compares with what the objects say; the verdicts of docs/show.md."""

import json
import os
import subprocess
from fractions import Fraction

from model import World, anti_terms, selected

VGPUSIM = os.environ.get("VGPUSIM", "vgpusim")


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


class Asking:
    """A cluster that vgpusim is asked about, and the same objects read without it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.file = f"{name}.json"
        self.items = json.loads((folder / self.file).read_text(encoding="utf-8"))["items"]
        self.world = World(self.items)
        self.known = {}
        self.aside = []  # differences of the question at hand that leave the rest of it to be compared
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
            return "scattered" if free >= self.asked(able, pod) else "all used"
        key, amount = next(iter(pod.units.items()))
        return "scattered" if sum(node.units[key] for node in able) >= amount else "all used"

    @staticmethod
    def asked(nodes, pod):
        """GPUs that a slice takes, on the cards where it is least."""
        count, memory, cores = pod.slice
        return count * min(max(Fraction(memory, card["all"]), Fraction(cores, 100)) for node in nodes for card in node.cards)

    def item_of(self, pod):
        item = next(item for item in self.items if item["kind"] == "Pod" and f"{item['metadata']['namespace']}/{item['metadata']['name']}" == pod.full_name)
        spec = {key: value for key, value in item["spec"].items() if key != "nodeName"}
        return {**item, "spec": spec}
