"""Runs that begin with a living cluster (vgpusim run --start)."""

import csv
import json
import random
import unittest

import clusters
from support import SOURCE, CliTest, read_csv

ATLAS = "scenarios/clusters/atlas.json"
WHOLE = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}


def whole_node(name, gpus):
    labels = {**WHOLE, "nvidia.com/gpu.count": str(gpus)}
    return clusters.node(name, labels=labels, **{"nvidia_com__gpu": str(gpus)})


def gpus(count):
    return {"cpu": "1", "nvidia.com/gpu": str(count)}


def whole_class(count):
    return clusters.pod(f"gpus-{count}", gpus(count), ns=None)


def table(rows):
    return "name,class,arrival,duration\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)


class Start(CliTest):
    def replay(self, *arguments, out="out", expect=0):
        done = self.vgpusim("run", "--format", "kubernetes", "--out", self.root / out, *arguments)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def pods(self, out="out"):
        return {row["name"]: row for row in read_csv(self.root / out / "pods.csv")}

    def summary(self, out="out"):
        return json.loads((self.root / out / "summary.json").read_text())

    def classes(self):
        manifests = [whole_class(count) for count in (1, 2, 4)]
        for manifest in manifests:
            del manifest["metadata"]["namespace"]
        return self.write("classes.json", json.dumps(clusters.cluster(*manifests)))

    def test_a_run_that_is_cut_goes_on_as_the_whole_run_did(self):
        """Replays a list; makes the cluster of one moment as objects; what comes after starts when it did before."""
        draw = random.Random(7)
        nodes = [whole_node(f"n{i}", 4) for i in range(3)]
        rows = []
        for i in range(120):
            rows.append((f"p{i}", f"gpus-{draw.choice((1, 1, 2, 4))}", round(draw.uniform(0, 4000), 1), draw.randint(50, 900)))
        rows.sort(key=lambda row: row[2])
        count_of = {row[0]: int(row[1][-1]) for row in rows}
        duration_of = {row[0]: row[3] for row in rows}
        whole = self.write("nodes.json", json.dumps(clusters.cluster(*nodes)))
        how = ("--classes", self.classes(), "--policy", "best_fit", "--discipline", "fifo", "--sample-interval-s", 60)
        self.replay("--nodes", whole, "--pods", self.write("all.csv", table(rows)), *how)
        before = self.pods()
        for moment in (700.05, 1900.05, 3300.05):
            objects, ends, later = list(nodes), [], []
            for name, *_ in rows:
                row = before[name]
                arrival, start, end = (float(row[key]) for key in ("arrival_s", "start_s", "end_s"))
                if end <= moment:
                    continue
                if start <= moment:
                    objects.append(clusters.pod(name, gpus(count_of[name]), on=row["node"], ns="cut"))
                    ends.append((f"cut/{name}", end - moment))
                else:
                    later.append((name, f"gpus-{count_of[name]}", max(0.0, round(arrival - moment, 6)), duration_of[name]))
            self.assertTrue(ends and later, "the cut is in the middle")
            cluster = self.write("cluster.json", json.dumps(clusters.cluster(*objects)))
            known = self.write("ends.csv", "pod,end\n" + "".join(f"{pod},{end:.6f}\n" for pod, end in ends))
            self.replay("--start", cluster, "--start-ends", known, "--pods", self.write("later.csv", table(later)), *how,
                        out="cut")
            after = self.pods("cut")
            for name, *_ in later:
                self.assertAlmostEqual(float(after[name]["start_s"]) + moment, float(before[name]["start_s"]), 4, name)
                self.assertEqual(after[name]["node"], before[name]["node"], name)
            for pod, end in ends:
                self.assertAlmostEqual(float(after[pod]["end_s"]), end, 4)
                self.assertEqual((after[pod]["arrival_s"], after[pod]["start_s"], after[pod]["placed"]), ("", "", "1"))
            pods = self.summary("cut")["pods"]
            self.assertEqual((pods["arrived"], pods["ran_before"], pods["ran_before_ended"]), (len(later), len(ends), len(ends)))
            waits = [float(after[name]["start_s"]) - float(after[name]["arrival_s"]) for name, *_ in later]
            self.assertAlmostEqual(self.summary("cut")["wait_s"]["mean"], sum(waits) / len(waits), 4)

    def test_what_is_used_at_first_is_what_show_says(self):
        """Atlas with pods that stay, and one row of which no node has the kind free: as much is used as show counts."""
        classes = self.write("classes.json", json.dumps(clusters.cluster(clusters.pod("none", gpus(8)))))
        done = self.replay("--start", SOURCE / ATLAS, "--start-ends", "stay", "--classes", classes, "--pods",
                           self.write("rows.csv", table([("late", "none", 10, 5)])), "--policy", "best_fit")
        with open(self.root / "out" / "timeseries.csv", newline="", encoding="utf-8") as file:
            series = list(csv.DictReader(file))
        shown = json.loads(self.vgpusim("show", SOURCE / ATLAS, "--json").stdout)
        runs = self.summary()["pods"]["ran_before"]
        self.assertEqual(runs, shown["totals"]["pods_run"])
        self.assertEqual(series[runs - 1]["time"], "0")
        self.assertAlmostEqual(int(series[runs - 1]["allocated_milli"]), shown["totals"]["used"], delta=1)
        self.assertIn("at the start   28 pods ran, not counted above: 0 ended since, 28 did not", done.stdout)
        self.assertIn("waiting pods that are left out, as a gate or a queue holds them back: 1", done.stderr)

    def test_draws_are_the_same_with_other_rows_and_nodes(self):
        objects = [whole_node("n0", 4), *(clusters.pod(f"r{i}", gpus(1), on="n0", created="2026-11-26T08:00:00Z") for i in range(4))]
        rows = [(f"x{i}", "gpus-1", 1000 + i, 10 * i + 10) for i in range(50)]

        def ends(objects, rows, *more):
            self.replay("--start", self.write("c.json", json.dumps(clusters.cluster(*objects))), "--classes", self.classes(),
                        "--pods", self.write("r.csv", table(rows)), "--discipline", "fifo", *more)
            return {name: row["end_s"] for name, row in self.pods().items() if name.startswith("team/r")}

        first = ends(objects, rows)
        self.assertEqual(len(set(first.values())), 4, "each draws for itself")
        self.assertEqual(ends([whole_node("a0", 4), *objects], [*rows, ("y", "gpus-2", 0, 5)]), first)
        self.assertNotEqual(ends(objects, rows, "--seed", 5), first)

    def test_waits_with_a_layout_are_those_of_a_run_from_the_cluster_that_is_cut_so_by_hand(self):
        """whatif --find-layout --pods, as it is and with mig-2 cut like mig-1: the pods that ran there come again."""
        history = ("--pods", SOURCE / "scenarios/forecast/atlas-arrivals.csv", "--classes",
                   SOURCE / "scenarios/forecast/atlas-classes.yaml")
        answer = self.vgpusim("whatif", SOURCE / ATLAS, "--policy", "best_fit", "--find-layout", "mig-*", *history, "--json")
        layouts = json.loads(answer.stdout)
        self.assertEqual((layouts["nodes"], layouts["replayed"]), (["mig-1", "mig-2"], 200))
        items = json.loads((SOURCE / ATLAS).read_text())["items"]
        by_name = {item["metadata"]["name"]: item for item in items if item["kind"] == "Node"}
        cut = json.loads(json.dumps(by_name["mig-1"]).replace("mig-1\"", "mig-2\""))
        evicted = [item for item in items if item["kind"] == "Pod" and item["spec"].get("nodeName") == "mig-2"]
        rest = [item for item in items if item not in evicted]
        for pod in evicted:
            del pod["spec"]["nodeName"]
        by_hand = [cut if item is by_name["mig-2"] else item for item in rest]
        first_waiting = next(i for i, item in enumerate(by_hand) if item["kind"] == "Pod" and "nodeName" not in item["spec"])
        by_hand[first_waiting:first_waiting] = evicted
        for layout, cluster in (("all-1g.10gb", str(SOURCE / ATLAS)),
                                ("all-balanced", self.write("cut.json", json.dumps(clusters.cluster(*by_hand))))):
            row = next(row for row in layouts["rows"] if row["layouts"] == ["all-balanced", layout])
            self.replay("--start", cluster, *history, "--policy", "best_fit", "--discipline", "gang")
            waits = sorted(float(pod["start_s"] or "inf") - float(pod["arrival_s"]) for name, pod in self.pods().items()
                           if "/" not in name)
            self.assertEqual(len(waits), 200)
            self.assertAlmostEqual(row["waits"]["median_us"] / 1e6, waits[99], 4)
            self.assertAlmostEqual(row["waits"]["p95_us"] / 1e6, waits[189], 4)

    def test_pods_of_the_cluster_are_in_no_queue_of_the_table(self):
        objects = [whole_node("n", 1), clusters.pod("r", gpus(1), on="n"), *(clusters.pod(f"w{i}", gpus(1)) for i in range(3))]
        rows = "name,class,arrival,duration,queue\na,gpus-1,0,5,research\nb,gpus-1,0,5,prod\n"
        done = self.replay("--start", self.write("c.json", json.dumps(clusters.cluster(*objects))), "--start-ends",
                           self.write("ends.csv", "pod,end\nteam/r,10\n"), "--classes", self.classes(), "--pods",
                           self.write("r.csv", rows), "--discipline", "fifo")
        arrived = {queue["name"]: queue["arrived"] for queue in self.summary()["by_queue"]}
        self.assertEqual(arrived, {"research": 1, "prod": 1, "there at the start": 3})
        self.assertEqual(self.summary()["gpu"]["arrived_milli"], 5000, "what ran before has not arrived")
        self.assertIn("1 pod ran, not counted above: 1 ended since, 0 did not", done.stdout)

    def test_what_cannot_be_followed_is_an_error(self):
        start = ("--start", SOURCE / ATLAS, "--classes", self.classes(), "--pods",
                 self.write("rows.csv", table([("late", "gpus-1", 10, 5)])))
        for more, words in (
                (("--nodes", SOURCE / ATLAS), "nodes"),
                (("--start-ends", self.write("ends.csv", "pod,end\na/b,1\n")), "ends.csv:2: pod: got 'a/b', expected a pod"),
                (("--offered-load", "0.5"), "offered_load"),
                (("--queues", self.write("q.yaml", "- name: default\n")), "queues"),
                (("--policy", "compat:volcano"), "start"),
                (("--set", "start_ends=nowhere.csv"), "nowhere.csv")):
            done = self.replay(*start, *more, expect=2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse(self.out.exists())
        done = self.vgpusim("run", "--nodes", "n.csv", "--pods", "p.csv", "--start", "c.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("format openb has no use for it", done.stderr)


if __name__ == "__main__":
    unittest.main()
