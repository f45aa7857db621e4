"""compat:volcano and native against the recorded decisions of the real scheduler: every event of every family."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import VGPUSIM, skip_or_fail  # noqa: E402  (the path comes first)

EVIDENCE = Path(os.environ.get("VGPUALLOC_EVIDENCE") or "/nonexistent") / "conformance"
FAMILIES = ["ascend-hami", "ascend-mindcluster-310p", "gpushare", "hamicore", "hamicore-exclusive", "mig", "mixed"]


class RecordingsTest(unittest.TestCase):
    def run_on(self, impl, path):
        result = subprocess.run([VGPUSIM, "conformance", "--impl", impl, str(path)], capture_output=True, text=True,
                                timeout=250, check=False)
        self.assertEqual(result.returncode, 0, result.stdout[-3000:] + result.stderr)
        return result

    def replay(self, path):
        result = self.run_on("compat:volcano", path)
        passed, failed = map(int, re.fullmatch(r"(\d+) passed, (\d+) failed", result.stdout.splitlines()[-1]).groups())
        self.assertEqual(failed, 0)
        return passed

    def test_every_family(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                self.assertGreater(self.replay(EVIDENCE / "public" / f"{family}.jsonl"), 2000)

    def test_directed_cases(self):
        self.assertGreater(self.replay(EVIDENCE / "directed.jsonl"), 50)

    def test_native_is_equal_or_explained(self):
        for name in [f"public/{family}.jsonl" for family in FAMILIES] + ["directed.jsonl"]:
            with self.subTest(file=name):
                plain, attribution, totals = self.run_on("native", EVIDENCE / name).stdout.splitlines()[-3:]
                match = re.fullmatch(r"(\d+) equal, (\d+) explained( \(Q\w+ \d+(, Q\w+ \d+)*"
                                     r"(, \d+ by more than three)?\))?, 0 unexplained",
                                     attribution)
                self.assertIsNotNone(match, attribution)
                equal, explained = int(match[1]), int(match[2])
                self.assertEqual(totals, f"{equal + explained} passed, 0 failed")
                events = equal + explained
                self.assertEqual(plain, f"{events} of {events} decided as compat:volcano without quirks")
                self.assertGreater(equal, explained // 2, "native decides mostly as upstream does")


if __name__ == "__main__":
    if not (EVIDENCE / "public").is_dir():
        skip_or_fail("VGPUALLOC_EVIDENCE names no folder with conformance/public")
    unittest.main()
