"""A build that checks itself (sanitizers, invariants after every step) writes the same bytes as the one under test.

VGPUALLOC_CHECKED_REPLAY names its replay_scenario.
"""

import json
import os
import subprocess
import unittest
from pathlib import Path

from support import QUICKSTART, SOURCE, CliTest, skip_or_fail, untimed

CHECKED = os.environ.get("VGPUALLOC_CHECKED_REPLAY", "")
TRACES = Path(os.environ.get("VGPUALLOC_TRACES") or "/nonexistent")
OPENB = {"nodes": str(TRACES / "openb_node_list_gpu_node.csv"), "pods": str(TRACES / "openb_pod_list_default.csv")}
LISTS = {"nodes": str(QUICKSTART / "nodes.csv"), "pods": str(QUICKSTART / "pods.csv")}
# The keys of a scenario that name files.
PATHS = {"nodes", "pods", "classes", "queues", "config", "scheduler_config", "catalog", "events", "failures", "autoscaler"}


class CheckedBuildTest(CliTest):
    def files_of(self, out):
        return {path.name: untimed(path.read_text()) if path.name == "summary.json" else path.read_bytes()
                for path in out.iterdir() if path.is_file() and path.name != "report.html"}

    def assert_same(self, scenario):
        ours, theirs = self.root / "ours", self.root / "theirs"
        self.assert_done(self.vgpusim("run", scenario, "--out", ours))
        done = subprocess.run([CHECKED, scenario, theirs], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours, theirs = self.files_of(ours), self.files_of(theirs)
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, content in ours.items():
            self.assertTrue(content == theirs[name], (scenario, name))  # a diff of megabytes takes minutes

    def assert_same_for(self, **keys):
        self.assert_same(self.write("scenario.json", json.dumps(keys)))

    def test_quickstart(self):
        for policy in ("best_fit", "fgd", "random", "spread", "compat:fgd", "compat:random", "compat:gpuclustering",
                       "weighted:fgd=0.7,binpack=0.3"):
            for more in ({}, {"departures": True}, {"mode": "exclusive"}, {"departures": True, "discipline": "easy"}):
                with self.subTest(policy=policy, more=more):
                    self.assert_same_for(**LISTS, policy=policy, **more)

    def test_scenarios(self):
        """Every mode, disturbances, queues; without the baseline, which is a second run."""
        scenarios = sorted((SOURCE / "scenarios").glob("*.json"))
        self.assertGreater(len(scenarios), 12)
        for path in scenarios:
            keys = json.loads(path.read_text())
            keys.pop("baseline", None)
            if "study" in keys:
                keys = self.one_run_of(keys, path.parent)
            for name in PATHS & keys.keys():
                keys[name] = str(path.parent / keys[name])
            with self.subTest(scenario=path.name):
                self.assert_same_for(**keys)

    def one_run_of(self, keys, folder):
        """Of a study of workload models: its first model, with fewer arrivals, under the policy that also moves pods, if any."""
        study = keys.pop("study")
        model = json.loads((folder / study["pods"][0]).read_text())
        if "count" in model["pods"]:
            model["pods"]["count"] = min(model["pods"]["count"], 2000)
        moving = [entry for entry in study["policies"] if isinstance(entry, dict) and "defragment" in entry.get("set", {})]
        chosen = {"policy": moving[0]["policy"], **moving[0]["set"]} if moving else {"policy": study["policies"][0]}
        return {**keys, "pods": self.write("model.json", json.dumps(model)), **chosen}

    @unittest.skipUnless(TRACES.is_dir() or os.environ.get("CI") == "true", "VGPUALLOC_TRACES names no openb lists")
    def test_openb(self):
        for policy in ("fgd", "compat:fgd"):
            with self.subTest(policy=policy):
                self.assert_same_for(**OPENB, policy=policy, tune=1.3)


if __name__ == "__main__":
    if not CHECKED:
        skip_or_fail("no build with checks to compare with: VGPUALLOC_CHECKED_REPLAY is not set")
    unittest.main()
