"""Which jobs their queue lets in, as recorded from Kueue (tests/data/kueue_admissions) and Volcano (tests/data/volcano_queues): whatif and
why say the same."""

import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import SOURCE, VGPUSIM, CliTest

sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
import kueue_answers
import volcano_answers

DATA = SOURCE / "tests" / "data"


class RecordedQueues(CliTest):
    def compare(self, answers_of, folder, least):
        setups = kueue_answers.read(DATA / folder)
        self.assertGreaterEqual(len(setups), least, "the recordings are not there")
        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda entry: answers_of.ours(VGPUSIM, entry, Path(scratch)), setups))
        differing = [f"{entry['setup']}: {what}" for entry, answer in zip(setups, answers) if (what := answers_of.difference(entry, answer))]
        self.assertEqual(differing, [], f"{len(differing)} of {len(setups)} setups differ")

    def test_whatif_and_why_let_in_what_kueue_admits(self):
        self.compare(kueue_answers, "kueue_admissions", 120)

    def test_whatif_lets_in_what_volcano_binds(self):
        self.compare(volcano_answers, "volcano_queues", 86)


if __name__ == "__main__":
    unittest.main()
