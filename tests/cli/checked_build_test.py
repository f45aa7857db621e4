"""A build that checks itself (sanitizers, invariants after every step) writes the same bytes as the one under test.

VGPUALLOC_CHECKED_VGPUSIM names its vgpusim.
"""

import os
import unittest
from pathlib import Path

from support import QUICKSTART, VGPUSIM, CliTest, skip_or_fail, untimed

CHECKED = os.environ.get("VGPUALLOC_CHECKED_VGPUSIM", "")
TRACES = Path(os.environ.get("VGPUALLOC_TRACES") or "/nonexistent")
OPENB = ["--nodes", TRACES / "openb_node_list_gpu_node.csv", "--pods", TRACES / "openb_pod_list_default.csv"]


class CheckedBuildTest(CliTest):
    def written(self, binary, *arguments):
        out = self.root / "out"
        self.assert_done(self.vgpusim("run", *arguments, "--out", out, binary=binary))
        return ((out / "pods.csv").read_bytes(), (out / "timeseries.csv").read_bytes(),
                untimed((out / "summary.json").read_text()))

    def assert_same(self, *arguments):
        for ours, theirs in zip(self.written(VGPUSIM, *arguments), self.written(CHECKED, *arguments)):
            self.assertTrue(ours == theirs, arguments)  # not assertEqual: a diff of megabytes takes minutes

    def test_quickstart(self):
        lists = ["--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv"]
        for policy in ("best_fit", "fgd", "random", "spread", "compat:fgd", "compat:random", "compat:gpuclustering",
                       "weighted:fgd=0.7,binpack=0.3"):
            for more in ([], ["--departures"], ["--mode", "exclusive"]):
                with self.subTest(policy=policy, more=more):
                    self.assert_same(*lists, "--policy", policy, *more)

    @unittest.skipUnless(OPENB[1].exists() or os.environ.get("CI") == "true", "VGPUALLOC_TRACES names no openb lists")
    def test_openb(self):
        for policy in ("fgd", "compat:fgd"):
            with self.subTest(policy=policy):
                self.assert_same(*OPENB, "--policy", policy, "--tune", "1.3")


if __name__ == "__main__":
    if not CHECKED:
        skip_or_fail("no build with checks to compare with: VGPUALLOC_CHECKED_VGPUSIM is not set")
    unittest.main()
