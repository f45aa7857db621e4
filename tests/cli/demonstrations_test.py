"""What the scenarios with a folder of inputs demonstrate, as claims: who sits where and with what, who waits, who is lost.

Each test names the requirements that its scenario shows (tests/requirements/rows.json). The summaries that are stored
beside the scenarios are compared in scenarios_test.py; what is claimed here is what docs/scenarios.md tells a reader.
"""

import json
import re
import unittest

from support import SOURCE, CliTest, read_csv

FOLDER = SOURCE / "scenarios"
PAGE = SOURCE / "docs" / "scenarios.md"


class DemonstrationsTest(CliTest):
    def replay(self, name, *more):
        """Runs it as the page says, with a trace; its pods by name, and those of its baseline."""
        self.assert_done(self.vgpusim("run", f"scenarios/{name}.json", "--out", self.out, "--trace", *more, cwd=SOURCE))
        self.rows = {row["name"]: row for row in self.pods()}
        baseline = self.out / "baseline" / "pods.csv"
        self.baseline = {row["name"]: row for row in read_csv(baseline)} if baseline.exists() else {}

    @staticmethod
    def places(rows):
        """By name 'node gpus', or the reason why the pod was not placed."""
        return {name: f"{row['node']} {row['gpus']}".strip() if row["placed"] == "1" else row["reason"]
                for name, row in rows.items()}

    def parts(self):
        """By name what a pod had of each of its devices, start by start, in the words of trace.json."""
        parts = {}
        for event in json.loads((self.out / "trace.json").read_text())["traceEvents"]:
            if event["ph"] == "X" and "parts" in event["args"]:
                parts.setdefault(event["name"], []).append(event["args"]["parts"])
        return parts

    def shares(self, name, pod, *more):
        """What a pod, of a class or in a file, gets in the empty cluster: (device, MiB, compute) of each share."""
        folder = FOLDER / name
        told = self.vgpusim("explain", folder / "nodes.yaml", folder / "classes.yaml", "--pod", pod, "--json", *more)
        self.assert_done(told)
        return [(share["device"], share["part"]["memory_mib"], share["part"]["cores"])
                for share in json.loads(told.stdout)["choice"]["shares"]]

    def test_hami_core_pod(self):
        """R023 R024 R025 R026 R073."""
        name = "does-a-hami-core-pod-get-what-it-asks-for"
        self.replay(name)
        self.assertEqual(self.places(self.rows), {
            "pair": "core-0 0|1",
            "half-0": "core-0 0", "half-1": "core-0 1", "half-2": "insufficient_device_cores",
            "memory-0": "core-0 0", "memory-1": "core-0 1", "memory-2": "insufficient_device_memory",
            "all": "insufficient_device_memory"})
        self.assertEqual(self.shares(name, "half"), [(0, 3000, 50)])
        self.assertEqual(self.shares(name, "two-cards"), [(0, 2000, 25), (1, 2000, 25)], "of each card")
        self.assertEqual(self.shares(name, "memory-only"), [(0, 9000, 0)], "compute is optional")
        self.assertEqual(self.shares(name, "all-memory"), [(0, 16160, 50)], "memory is optional: all of the card's")

    def test_mig_pod(self):
        """R030 R031 R065 R066 R073."""
        self.replay("which-mig-instance-does-a-pod-get")
        self.assertEqual(self.parts(), {
            "small-0": ["1g.5gb at 0"], "small-1": ["1g.5gb at 1"], "small-2": ["1g.5gb at 2"], "small-3": ["1g.5gb at 3"],
            "medium-0": ["2g.10gb at 0"], "large-0": ["3g.20gb at 0"]})
        self.assertEqual(self.places(self.rows), {
            "small-0": "mig-0 0", "small-1": "mig-0 0", "small-2": "mig-0 0", "small-3": "mig-0 0", "medium-0": "mig-0 1",
            "large-0": "mig-0 1"})
        self.assertEqual(self.rows["large-0"]["start_s"], self.rows["medium-0"]["end_s"], "when the first GPU is empty")
        config = FOLDER / "which-mig-instance-does-a-pod-get" / "device-config.yaml"
        self.assertEqual(self.shares("which-mig-instance-does-a-pod-get", "small", "--config", config), [(0, 5120, 14)],
                         "3000 MiB asked for, the instance of 5 GB given")

    def test_binpack_and_spread(self):
        """R021 R034 R035 R073."""
        self.replay("how-many-nodes-do-binpack-and-spread-use")
        packed, spread = self.places(self.rows), self.places(self.baseline)
        quarters = [f"quarter-{i}" for i in range(8)]
        self.assertEqual([packed[name] for name in quarters], ["node-0 0"] * 4 + ["node-0 1"] * 4)
        self.assertEqual([spread[name].split()[0] for name in quarters], [f"node-{i}" for i in (0, 1, 2, 3)] * 2)
        self.assertEqual([packed[f"whole-{i}"] for i in range(3)], ["node-1 0|1", "node-2 0|1", "node-3 0|1"])
        self.assertEqual([spread[f"whole-{i}"] for i in range(3)], ["insufficient_device_memory"] * 3)
        self.assertIn("places 11 pods instead of 8", self.summary()["answer"])

    def test_pods_without_a_mode(self):
        """R010 R032 R033 R067 R073."""
        self.replay("where-do-pods-without-a-sharing-mode-go")
        any_pods = [f"any-{i}" for i in range(5)]
        for rows in (self.rows, self.baseline):
            places = self.places(rows)
            self.assertEqual((places["mig-0"], places["core-0"]), ("mig-0 0", "core-0 0"), "where a mode is asked for")
            self.assertEqual((places["large-0"], places["large-1"]), ("core-0 0", "insufficient_device_memory"),
                             "where only one mode has room, that one")
        self.assertEqual([self.rows[name]["node"] for name in any_pods], ["mig-0"] * 5, "to the fuller node")
        self.assertEqual([self.baseline[name]["node"] for name in any_pods],
                         ["core-0", "mig-0", "core-0", "mig-0", "mig-0"], "by turns, until the large pod is on core-0")
        self.assertEqual(self.parts()["any-0"], ["1g.5gb at 1"])

    def test_npus(self):
        """R074 R077 R088 R090 R091 R092 R093 R095 R097 R098."""
        self.replay("which-part-of-an-npu-does-a-pod-get")
        whole = ["1000 milli-GPU"]
        self.assertEqual(self.parts(), {
            "template": ["vir02"], "quarter": ["vir05_1c_8g"], "half": ["vir10_3c_16g"], "whole-0": whole,
            "chip": whole, "video": ["vir04_4c_dvpp"], "low": ["vir02_1c"],
            **{f"high-{i}": ["vir02"] for i in range(6)}, "high-6": ["vir02_1c"]})
        self.assertEqual(self.rows["whole-1"]["placed"], "0", "neither 910B4 is idle")
        self.assertEqual({name: self.places(self.rows)[name] for name in ("template", "quarter", "half", "whole-0", "chip", "video")},
                         {"template": "npu-310p 0", "quarter": "npu-910b4 0", "half": "npu-910b4 0",
                          "whole-0": "npu-910b4 1", "chip": "atlas 0", "video": "atlas 1"})
        self.assertEqual(self.places(self.rows)["high-6"], "atlas 3", "downgraded where one AI CPU is left")

    def test_cce(self):
        """R101 R103 R104 R113 R118 R119."""
        self.replay("what-does-cce-let-share-a-gpu")
        places = self.places(self.rows)
        self.assertEqual({name: place for name, place in places.items() if not name.startswith("unit")}, {
            "memory-0": "cce-0 0", "memory-1": "cce-0 0", "both-0": "cce-0 1", "both-1": "cce-0 1", "whole-0": "cce-0 2",
            "five-0": "device_taken_whole", "whole-1": "device_in_use"})
        self.assertEqual([places[f"unit-{i}"] for i in range(18)], ["cce-0 0"] * 18)
        self.assertEqual(self.rows["unit-18"]["placed"], "0", "the 21st on the GPU")
        name = "what-does-cce-let-share-a-gpu"
        self.assertEqual(self.shares(name, FOLDER / "manifests" / "cce-memory.yaml"), [(0, 5120, 0)])
        self.assertEqual(self.shares(name, FOLDER / "manifests" / "cce-memory-and-compute.yaml"), [(0, 5120, 25)])

    def test_what_cce_refuses(self):
        """R102 R110 R112 R114 R117."""
        told = self.vgpusim("validate", FOLDER / "what-does-cce-let-share-a-gpu" / "refused.yaml", "--json")
        self.assert_error_line(told, 2, "6 errors in 6 of 6 objects")
        errors = {entry["name"]: [error["message"] for error in entry["errors"]]
                  for entry in json.loads(told.stdout)["objects"]}
        for name, words in (("seven-percent", "got '7', expected a multiple of 5 from 5 to 100"),
                            ("more-than-all-compute", "got '105', expected a multiple of 5 from 5 to 100"),
                            ("compute-alone", "memory beside compute, which cannot be isolated alone"),
                            ("no-memory", "got '0', expected 1 to 16777215 units of 128 MiB"),
                            ("init-container", "no virtual GPU in an init container"),
                            ("another-scheduler", "'volcano', which alone serves dialect cce")):
            self.assertEqual(len(errors[name]), 1, name)
            self.assertIn(words, errors[name][0])

    def test_mixed_cluster(self):
        """R010 R063 R077."""
        nodes = {"software": "core-0", "instance": "mig-0", "client": "mps-0", "cloud": "cce-0", "whole": "whole-0",
                 "npu": "npu-0", "chip": "atlas-0"}
        for policy in ("fgd", "binpack", "spread", "best_fit", "worst_fit", "random"):
            with self.subTest(policy=policy):
                self.replay("does-each-pod-find-a-node-of-its-kind", "--policy", policy)
                placed = {name: row["node"] for name, row in self.rows.items() if row["placed"] == "1"}
                for kind, node in nodes.items():
                    self.assertEqual({placed[name] for name in placed if name.startswith(kind)}, {node}, kind)
                self.assertEqual(set(self.rows) - set(placed), {"whole-2", "chip-2"}, "there is no third of these")

    def test_exclusive_baseline(self):
        """R046."""
        self.replay("how-little-of-an-exclusive-gpu-is-used")
        summary = self.summary()
        self.assertEqual((summary["pods"]["placed"], summary["pods"]["failed"]), (8, 32))
        self.assertEqual(summary["gpu"]["allocation_ratio"], 1.0, "all GPUs are given out")
        requested = {row["name"]: int(row["gpu_milli"])
                     for row in read_csv(FOLDER / "how-little-of-an-exclusive-gpu-is-used" / "pods.csv")}
        used = sum(requested[name] for name, row in self.rows.items() if row["placed"] == "1") / 8000
        self.assertEqual(summary["gpu"]["served_ratio"], used)
        self.assertLess(used, 0.1, "and less than a tenth of them is used")
        self.replay("how-little-of-an-exclusive-gpu-is-used", "--set", "mode=hami_core")
        self.assertEqual(self.summary()["pods"]["placed"], 40)

    def test_mps_fault(self):
        """R050."""
        self.replay("whom-does-a-crash-under-mps-take-along")
        self.assertEqual(self.places(self.rows), {"a": "shared-0 0", "b": "shared-0 0|1", "c": "shared-0 2", "d": "shared-0 1"})
        self.assertEqual(self.places(self.baseline), self.places(self.rows), "the baseline differs in the mode alone")
        ends = {name: row["end_s"] for name, row in self.rows.items()}
        self.assertEqual(ends, {"a": "", "b": "", "c": "1002", "d": ""})
        self.assertEqual({name: row["end_s"] for name, row in self.baseline.items()},
                         {"a": "", "b": "1001", "c": "1002", "d": "1003"})
        self.assertEqual(self.summary()["disturbances"]["pods_lost"], 3)
        self.replay("whom-does-a-crash-under-mps-take-along", "--set", "after_failure=requeue")
        self.assertEqual([row["attempts"] for row in self.rows.values()], ["2", "2", "1", "2"], "they begin again")

    def test_time_slicing_fault(self):
        """R048 R049."""
        name = "whom-does-a-crash-under-time-slicing-take-along"
        self.replay(name)
        gpus = {pod: row["gpus"] for pod, row in self.rows.items()}
        self.assertEqual(gpus, {**{f"pod-{i}": str(i % 2) for i in range(6)}, **{f"pod-{i}": "1" for i in range(6, 9)}})
        lost = {pod for pod, row in self.rows.items() if row["end_s"] == ""}
        self.assertEqual(lost, {"pod-1", "pod-3", "pod-5"}, "all of the GPU on which pod-1 crashes")
        self.assertEqual(self.summary()["disturbances"]["pods_lost"], 3)
        self.assertEqual({pod for pod, row in self.baseline.items() if row["end_s"] == ""}, {"pod-1"})
        self.replay(name, "--set", "events=")
        self.assertEqual({pod: row["reason"] for pod, row in self.rows.items() if row["end_s"] == ""},
                         {"pod-8": "insufficient_device_slots"}, "without the crash all end, and there is no room for another")

    def test_autoscaler_and_virtual_gpus(self):
        """R105."""
        self.replay("does-the-autoscaler-add-virtual-gpu-nodes")
        self.assertEqual({name: row["start_s"] for name, row in self.rows.items()},
                         {"virtual-0": "0", "virtual-1": "10", "virtual-2": "", "whole-0": "330"})
        self.assertEqual({name: row["start_s"] for name, row in self.baseline.items()},
                         {"virtual-0": "0", "virtual-1": "10", "virtual-2": "320", "whole-0": "330"})
        self.assertEqual(self.summary()["pods"]["waiting"], 1)
        self.assertEqual((self.rows["whole-0"]["node"], self.baseline["virtual-2"]["node"]), ("whole-0", "cce-1"))

    def test_cce_limit_on_the_books(self):
        """R107: what is booked, and never what a program sees of it."""
        self.replay("does-the-compute-limit-of-cce-hold-while-containers-start")
        starts = {name: int(row["start_s"]) for name, row in self.rows.items()}
        ends = {name: int(row["end_s"]) for name, row in self.rows.items()}
        self.assertEqual(starts, {"pod-0": 0, "pod-1": 0, "pod-2": 0, "pod-3": 0, "pod-4": 600, "pod-5": 660})
        for instant in set(starts.values()) | set(ends.values()):
            self.assertLessEqual(sum(25 for name in starts if starts[name] <= instant < ends[name]), 100, instant)
        self.assertEqual(max(int(row["allocated_milli"]) for row in self.series()), 1000)

    def test_the_page_lists_every_scenario(self):
        page = PAGE.read_text(encoding="utf-8")
        linked = re.findall(r"\]\(\.\./scenarios/([\w.-]+\.json)\)", page)
        self.assertEqual(sorted(linked), sorted(path.name for path in FOLDER.glob("*.json")))
        for path in FOLDER.glob("*.json"):
            self.assertIn(json.loads(path.read_text())["name"], page)


if __name__ == "__main__":
    unittest.main()
