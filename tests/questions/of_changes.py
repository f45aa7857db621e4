"""Questions 7 to 12: the cluster changed, packed anew, last month and later."""

import collections
import csv
import datetime
import io
import itertools
import json
import operator
from fractions import Fraction

import clusters
from asking import Differs, milli, near, same
from model import Pod, World
from of_now import OfNow

WHERE = {"gpu-operator": {"kind": "a100-00", "rack": "rack=r2", "mig": "mig-0,mig-3,mig-5"},
         "hami": {"kind": "a100-0", "rack": "rack=r1", "mig": "mig-*"},
         "volcano-queues": {"kind": "a100-00", "rack": "rack=r2", "mig": "mig-2,mig-3"}}


class Questions(OfNow):
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
        for pod in refused:
            verdict = self.verdict(world, pod)
            if pod.has_devices() and verdicts[pod.full_name] != verdict:
                self.aside.append(f"{pod.full_name}: vgpusim {verdicts[pod.full_name]}, from the objects {verdict}")

    def check_7(self):
        kind = WHERE[self.name]["kind"]
        answer = self.ask("whatif", self.file, "--find-nodes", kind)
        needed = answer["find_nodes"]
        world = self.world.copy()
        for number in range(1, needed["nodes"] + 1):
            world.add(self.world.nodes[kind].emptied(f"{kind}-added-{number}"))
        refused = self.replay(world, answer)
        self.wait_rightly(world, refused, answer)
        fresh = self.world.nodes[kind].emptied("empty")
        alone = World([])
        alone.add(fresh)
        for pod in refused:
            if not pod.gates and not self.world.is_kept_apart(fresh, pod) and not alone.groups(fresh, pod):
                raise Differs(f"{pod.full_name} waits with {needed['nodes']} nodes more, and an empty one takes it")
        helped = [pod for pod in world.pods.values() if pod.node and self.world.pods[pod.full_name].node is None]
        if self.can_start(helped, kind, needed["nodes"] - 1):
            if needed["is_proved"]:
                raise Differs(f"{needed['nodes']} nodes proved, and {needed['nodes'] - 1} are enough")
            return f"{needed['nodes']} nodes are enough; {needed['nodes'] - 1} would be too by another order (the answer says heuristic)"
        return f"{needed['nodes']} nodes are enough, {needed['nodes'] - 1} are not"

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
        # Of each node: its own, and those with something that the mix asks for which no other one has as much of.
        useful = {layout: tuple(counts.get(profile, 0) for profile in sorted(wanted)) for layout, counts in clusters.LAYOUTS.items()}

        def is_replaced(layout):
            return any(other != useful[layout] and all(map(operator.ge, other, useful[layout])) for other in useful.values())

        layouts = [[layout for layout in useful if (any(useful[layout]) and not is_replaced(layout))
                    or layout == self.world.nodes[name].labels["nvidia.com/mig.config"]] for name in names]
        expected = {}
        for ways in itertools.product(*layouts):
            supply = collections.Counter(fixed)
            for name, layout in zip(names, ways):
                for profile, count in clusters.LAYOUTS[layout].items():
                    supply[profile] += self.world.nodes[name].gpus * count
            run = {profile: min(wanted[profile], supply[profile]) for profile in wanted}
            expected[ways] = (sum(run.values()), {profile: supply[profile] - run[profile] for profile in wanted})
        same("ways", answer["possible"], len(expected))
        same("rows", len(answer["rows"]), len(expected))
        for row in answer["rows"]:
            run, spare = expected[tuple(row["layouts"])]
            same(f"run with {row['layouts']}", row["run"], run)
            if row["spare"] != spare:
                self.aside.append(f"spare with {', '.join(row['layouts'])}: vgpusim {row['spare']}, from the objects {spare}")
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
                self.aside.append(f"{pod.full_name} moves from {source}, which is not ready")
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
