"""vgpusim show on random clusters of all dialects: its sums hold, and they are those that the objects give without it.

    python3 tests/cli/show_random_test.py                      # 120 clusters, about 32 s of one processor core
    python3 tests/cli/show_random_test.py --clusters 1000      # --first 5000: other seeds
"""

import collections
import json
import re
import sys
import unittest

import dialect_nodes
from counted_gpus import CountedCluster, amounts_of, cpu_of
from counted_room import Room
from random_dialects import DIALECTS, Drawn
from support import CliTest

CLUSTERS, FIRST = 120, 0
PARTS = ("used", "free", "out")
OF_PODS = ("namespace", "owner", "queue", "resource")
QUEUE_LABELS = ("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name")
# What a pod gets of these depends on which of several devices it comes to, so OF USE is not always what best_fit takes.
OF_SEVERAL_SIZES = {"HamiMig", "VolcanoMig", "MindCluster"}


def idle_of(row):
    return row["of_use"] + row["scattered"] + row["host_full"] + sum(row["wrong_kind"].values()) + row["out"]


def tolerates_all(pod):
    """Such pods also go to nodes that are cordoned or not ready, whose GPUs are out of service for everybody else."""
    return {"operator": "Exists"} in pod["spec"].get("tolerations", [])


class OneCluster:
    """A random cluster, what vgpusim says of it, and the same counted from its objects."""

    def __init__(self, test, seed):
        self.test, self.drawn = test, Drawn(seed)
        self.items = self.drawn.objects()["items"]
        self.file = self.write("cluster.json", self.items)
        self.flags = ["--config", test.write("volcano.json", json.dumps(dialect_nodes.VOLCANO_CONFIG))] if self.drawn.has_volcano_mig() else []
        self.counted = CountedCluster(self.items)
        self.shown = self.ask("show", self.file)
        self.gpus = self.shown["totals"]["gpus"]

    def write(self, name, items):
        return self.test.write(name, json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))

    def text(self, *arguments):
        done = self.test.vgpusim(*arguments, *self.flags)
        self.test.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def ask(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))

    def same(self, what, theirs, ours):
        self.test.assertEqual(theirs, ours, what)

    def near(self, what, theirs, ours):
        """What is used of each GPU is rounded up, and which GPU of a node has a unit more is the plugin's choice."""
        self.test.assertLessEqual(abs(theirs - ours), self.gpus, f"{what}: vgpusim {theirs}, from the objects {ours}")

    def check_totals(self):
        ours = self.counted.totals_of(self.counted.nodes)
        self.same("totals", {key: self.shown["totals"][key] for key in ours}, ours)
        self.same("pods", (self.shown["totals"]["pods_run"], self.shown["totals"]["pods_wait"]),
                  (len(self.counted.pods_run), len(self.counted.pods_wait)))
        self.same("nodes", self.shown["totals"]["nodes_all"], len(self.counted.nodes))

    def check_rows_of_devices(self):
        nodes = self.counted.nodes
        keys = {"pool": lambda name: nodes[name].labels.get("pool"), "node": lambda name: name, "kind": lambda name: None}
        for by, key_of in keys.items():
            rows = self.shown["rows"] if by == "pool" else self.ask("show", self.file, "--by", by)["rows"]
            ours = collections.defaultdict(list)
            for name in nodes:
                ours[key_of(name)].append(name)
            for key in {row["key"] for row in rows}:
                of_key = [row for row in rows if row["key"] == key]
                counted = self.counted.totals_of(ours[key])
                self.same(f"{by} {key}", {part: sum(row[part] for row in of_key) for part in counted}, counted)
            for row in rows:
                self.same(f"row {row['key']} {row['kind']}", sum(row[part] for part in PARTS), row["milli"])
                self.same("GPUs of a row", row["milli"], 1000 * row["gpus"])
            self.same(f"GPUs by {by}", sum(row["gpus"] for row in rows), self.gpus)

    def key_of_pod(self, by, pod):
        metadata = pod["metadata"]
        if by == "owner":
            [owner] = metadata.get("ownerReferences", [{"name": metadata["name"], "kind": "Pod"}])
            return f"{metadata['namespace']}/{owner['name']} {owner['kind']}"
        if by == "queue":
            return next((metadata["labels"][label] for label in QUEUE_LABELS if label in metadata["labels"]), None)
        return metadata["namespace"]

    def check_rows_of_pods(self):
        for by in OF_PODS:
            shown = self.ask("show", self.file, "--by", by)
            self.same(f"used by {by}", sum(row["used"] for row in shown["rows"]), self.shown["totals"]["used"])
            self.same(f"users by {by}", shown["users"], self.shown["users"])
            for part, pods in (("run", self.counted.pods_run), ("wait", self.counted.pods_wait)):
                self.same(f"{part} by {by}", sum(row[part] for row in shown["rows"]), len(pods))
                if by != "resource":
                    counts = collections.Counter(self.key_of_pod(by, pod) for pod in pods)
                    self.same(f"{part} by {by}", {row["key"]: row[part] for row in shown["rows"] if row[part]}, dict(counts))

    def check_idle(self):
        idle = self.shown["totals"]["free"] + self.shown["totals"]["out"]
        for row in [*self.shown["shapes"], *([self.shown["mean"]] if self.shown["shapes"] else [])]:
            self.same(f"idle of {row}", idle_of(row), idle)
            self.test.assertGreaterEqual(min(row["of_use"], row["scattered"], row["host_full"], *row["wrong_kind"].values(), row["out"]), 0, row)
            self.same(f"out of {row}", row["out"], self.shown["totals"]["out"])
        self.same("pods of shapes", [sum(row[part] for row in self.shown["shapes"]) for part in ("run", "wait")],
                  [len(self.counted.pods_run), len(self.counted.pods_wait)])

    def rows_of(self, pod):
        """The rows of IDLE that may be this pod's."""
        asks = {**amounts_of(pod), "cpu_milli": 1000 * cpu_of(pod), "memory_mib": 0}
        rules = len(pod["spec"].get("nodeSelector", {})) + len(pod["spec"].get("tolerations", []))
        return [row for row in self.shown["shapes"] if row["asks"] == asks and len(row["rules"]) == rules]

    def check_room(self):
        """More, and every cause of what is idle, of the shapes whose room is counted here."""
        for pod in self.counted.pods_run + self.counted.pods_wait:
            if Room.is_known(self.counted, pod):
                room = Room(self.counted, pod)
                rows = [row for row in self.rows_of(pod) if (row["more"], sum(row["wrong_kind"].values())) == (room.more, room.wrong_kind)]
                self.test.assertTrue(rows, f"{pod['metadata']['name']}: more {room.more}, wrong kind {room.wrong_kind}, not in {self.rows_of(pod)}")
                closest = min(rows, key=lambda row: abs(row["scattered"] - room.scattered))
                self.near("scattered", closest["scattered"], room.scattered)
                self.near("of use and host full", closest["of_use"] + closest["host_full"], room.fits)
                self.test.rooms += 1

    def check_more(self):
        """With the pods that wait taken out, one pod more than MORE waits, and the others use what is of use."""
        pods = self.counted.pods_run + self.counted.pods_wait
        if not pods:
            return
        pod = self.drawn.random.choice(pods)
        running = self.write("running.json", [item for item in self.items if item["kind"] != "Pod" or "nodeName" in item["spec"]])
        rows = self.rows_of(pod)
        labels = {key: value for key, value in pod["metadata"]["labels"].items() if key not in QUEUE_LABELS}
        spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "schedulingGates")}
        pods_of_shape = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "more"},
                         "spec": {"replicas": 1 + max(row["more"] for row in rows), "template": {"metadata": {"labels": labels}, "spec": spec}}}
        answer = self.ask("whatif", running, "--policy", "best_fit", "--add-pods", self.test.write("more.json", json.dumps(pods_of_shape)))
        alike = [row for row in rows if row["more"] == answer["placed"]]
        self.test.assertTrue(alike, f"whatif places {answer['placed']} of {pod['metadata']['name']}, not in {rows}")
        self.test.more_tried += 1
        if not tolerates_all(pod) and not OF_SEVERAL_SIZES & {dialect.__name__ for dialect in self.drawn.dialects}:
            risen = answer["comparison"]["used"]["change"]
            self.near("of use", min((row["of_use"] for row in alike), key=lambda of_use: abs(of_use - risen)), risen)

    def check_why(self):
        why = self.ask("why", self.file)
        verdicts = {pod: group["verdict"] for group in why["groups"] for pod in group["pods"]}
        ours = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in self.counted.pods_wait}
        self.same("pods that wait", sorted(pod for group in why["groups"] for pod in group["pods"]), sorted(ours))
        self.same("verdicts of show", {pod["pod"]: pod["verdict"] for pod in self.shown["waiting"]}, verdicts)
        self.same("pods that fit", why["pods_fit_now"], list(verdicts.values()).count("fits now"))
        if verdicts:
            name = self.drawn.random.choice(sorted(verdicts))
            self.same(f"verdict of {name}", self.ask("why", self.file, "--pod", name)["verdict"], verdicts[name])

    def check_whatif(self):
        """Before is what show says, each change is the difference, and the count line is what happens to pods."""
        node = self.drawn.random.choice(sorted(self.counted.nodes))
        is_cordoned = any(item["kind"] == "Node" and item["metadata"]["name"] == node and "unschedulable" in item["spec"] for item in self.items)
        answer = self.ask("whatif", self.file, "--uncordon" if is_cordoned else self.drawn.random.choice(("--drain", "--fail")), node)
        compared, counts = answer["comparison"], answer["counts"]
        totals = self.shown["totals"]
        self.same("before", {key: compared[key]["before"] for key in (*PARTS, "gpus", "pods_run")},
                  {**{key: totals[key] for key in PARTS}, "gpus": totals["milli"], "pods_run": totals["pods_run"]})
        for row in [row for row in compared.values() if isinstance(row, dict)] + compared["free_parts"]:
            self.same(f"change {row}", row["after"] - row["before"], row["change"])
        for moment in ("before", "after"):
            self.same(f"sum {moment}", sum(compared[part][moment] for part in PARTS), compared["gpus"][moment])
        self.same("pods that run", compared["pods_run"]["change"], counts["starts"] - counts["stops"])
        self.same("pods that wait", sum(counts["waiting"].values()), counts["waits"])

    def check_text(self):
        """Rows and columns add up as they are printed."""
        text = self.text("show", self.file, "--all", "--by", self.drawn.random.choice(("pool", "kind", "node")))
        first_table, _, rest = text.partition("\nIDLE: ")
        rows = re.findall(r"^.* (\d+) +(\d+\.\d) +(\d+\.\d) +(\d+\.\d)(?:  |$)", first_table, re.MULTILINE)
        tenths = [(10 * int(gpus), *(round(10 * float(part)) for part in parts)) for gpus, *parts in rows]
        self.same(f"printed rows\n{text}", [row[0] for row in tenths], [sum(row[1:]) for row in tenths])
        self.same(f"printed columns\n{text}", [sum(column) for column in zip(*tenths[:-1])], list(tenths[-1]) if self.gpus else [])
        idle = re.findall(r"^.* \d+ +\d+ +\d* ((?: +\d+\.\d){5})$", rest, re.MULTILINE)
        for row in idle:
            self.same(f"printed idle\n{text}", sum(round(10 * float(part)) for part in row.split()), sum(tenths[-1][2:]))
        self.same("rows of idle", len(idle), len(self.shown["shapes"]) + 1 if self.shown["shapes"] else 0)


class ShowRandom(CliTest):
    rooms = more_tried = 0

    def test_the_sums_hold_on_random_clusters_of_all_dialects(self):
        dialects = collections.Counter()
        for seed in range(FIRST, FIRST + CLUSTERS):
            cluster = None
            for check in (name for name in dir(OneCluster) if name.startswith("check_")):
                with self.subTest(seed=seed, check=check.removeprefix("check_")):
                    cluster = cluster or OneCluster(self, seed)
                    getattr(cluster, check)()
            if cluster:
                dialects.update({type(node).__name__ for node in cluster.drawn.nodes})
        self.assertEqual(sorted(dialects), sorted(dialect.__name__ for dialect in DIALECTS), "every dialect was there")
        print(f"{CLUSTERS} clusters, {self.rooms} shapes counted, {self.more_tried} times MORE tried; clusters with {dict(sorted(dialects.items()))}")


if __name__ == "__main__":
    for flag in ("--clusters", "--first"):
        if flag in sys.argv:
            position = sys.argv.index(flag)
            number = int(sys.argv[position + 1])
            del sys.argv[position:position + 2]
            CLUSTERS, FIRST = (number, FIRST) if flag == "--clusters" else (CLUSTERS, number)
    unittest.main()
