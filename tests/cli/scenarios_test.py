"""The studies in scenarios/: each runs and gives the summary that is stored beside it, measured times left out.

After a change that is meant to change results: VGPUSIM=build/release/bin/vgpusim tests/cli/scenarios_test.py --store
"""

import json
import sys
import unittest

from support import OUTPUTS, SOURCE, CliTest, untimed

FOLDER = SOURCE / "scenarios"
STUDIES = sorted(FOLDER.glob("*.json"))


class ScenariosTest(CliTest):
    storing = False

    def summary_of(self, study, *more):
        """From the checkout's root, because the paths in a summary depend on where one stands."""
        self.assert_done(self.vgpusim("run", study.relative_to(SOURCE), "--out", self.out, *more, cwd=SOURCE))
        return untimed(self.summary())

    def test_each_gives_what_is_stored(self):
        self.assertGreaterEqual(len(STUDIES), 3)
        for study in STUDIES:
            with self.subTest(study=study.name):
                summary = self.summary_of(study)
                stored = FOLDER / "expected" / study.name
                if self.storing:
                    stored.write_text(json.dumps(summary, indent=2) + "\n")
                self.assertEqual(summary, json.loads(stored.read_text()))
                self.assertEqual(self.present(self.out), OUTPUTS)

    def test_nothing_else_is_stored(self):
        self.assertEqual([path.name for path in sorted((FOLDER / "expected").iterdir())],
                         [study.name for study in STUDIES])

    def test_each_is_named_after_its_question(self):
        for study in STUDIES:
            with self.subTest(study=study.name):
                scenario = json.loads(study.read_text())
                self.assertTrue(scenario["name"].endswith("?"))
                self.assertTrue(scenario["description"])
                self.assertEqual(scenario["out"], "out/" + study.stem)

    def test_sharing_gains_pods(self):
        study = FOLDER / "what-does-sharing-gain.json"
        alone, shared = self.summary_of(study), self.summary_of(study, "--mode", "hami_core")
        self.assertEqual((alone["config"]["mode"], shared["config"]["mode"]), ("exclusive", "hami_core"))
        self.assertGreater(shared["pods"]["placed"], alone["pods"]["placed"])


if __name__ == "__main__":
    if "--store" in sys.argv:
        sys.argv.remove("--store")
        ScenariosTest.storing = True
    unittest.main()
