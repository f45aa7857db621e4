"""Every placement of the sample in the tree (sample.py), pod by pod. It needs no evidence, so it is never skipped."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from support import VGPUSIM  # noqa: E402  (the path comes first)

import sample  # noqa: E402


class SampleTest(unittest.TestCase):
    def test_every_placement(self):
        for workload, (_, policies) in sample.WORKLOADS.items():
            header, *recorded = sample.read_table(workload)
            self.assertEqual(header, ["pod", *policies])
            rows = sample.table(VGPUSIM, workload)[1:]
            self.assertEqual([row[0] for row in rows], [row[0] for row in recorded], workload)
            for column, policy in enumerate(policies, 1):
                with self.subTest(workload=workload, policy=policy):
                    self.assert_column([(row[0], row[column]) for row in rows], [(row[0], row[column]) for row in recorded])

    def assert_column(self, placed, recorded):
        """The first difference is named, because hundreds of them help nobody."""
        differing = [(pod, cell, expected) for (pod, cell), (_, expected) in zip(placed, recorded) if cell != expected]
        if differing:
            pod, cell, expected = differing[0]
            self.fail(f"{pod}: placed on {cell}, recorded {expected}; {len(differing)} of {len(recorded)} pods differ")

    def test_the_sample_tells_policies_apart(self):
        """Two columns alike could be one policy under two names; a policy that places all or nothing decides nothing."""
        for workload in sample.WORKLOADS:
            header, *rows = sample.read_table(workload)
            _, *columns = zip(*rows)
            by_policy = dict(zip(header[1:], columns))
            for policy, cells in by_policy.items():
                unplaced = cells.count("-") / len(cells)
                self.assertTrue(0.01 < unplaced < 0.5, f"{workload}, {policy}: {unplaced:.0%} not placed")
            self.assertEqual(len(set(by_policy.values())), len(by_policy), workload)


if __name__ == "__main__":
    unittest.main()
