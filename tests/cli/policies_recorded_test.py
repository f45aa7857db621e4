"""Which pods are made and which may be evicted, as recorded from kube-apiserver (tests/data/kube_apiserver_policies): vgpusim says the same."""

import json
import sys
import unittest
from collections import Counter

from support import SOURCE, VGPUSIM, CliTest

sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
import policies_answers  # noqa: E402

DATA = SOURCE / "tests" / "data" / "kube_apiserver_policies"


class RecordedPolicies(CliTest):
    def test_pods_are_made_and_kept_as_by_kube_apiserver(self):
        cases, lines = Counter(), []
        for path in sorted(DATA.glob("decisions-*.json")):
            items = json.loads(path.with_name(path.name.replace("decisions", "cluster")).read_text(encoding="utf-8"))["items"]
            decisions = json.loads(path.read_text(encoding="utf-8"))["pods"]
            for what, differences in policies_answers.differences(VGPUSIM, self.root, items, decisions):
                cases[what] += 1
                lines += [f"{path.stem} {line}" for line in differences]
        self.assertEqual(lines, [], f"{len(lines)} of {sum(cases.values())} decisions differ")
        for what in ("pod made", "pod refused: quota exceeded", "pod refused: quota demands", "pod refused: limit range", "pod refused: not valid",
                     "pod kept by a budget", "pod evicted"):
            self.assertGreater(cases[what], 1, f"{what}: {dict(cases)}")


if __name__ == "__main__":
    unittest.main()
