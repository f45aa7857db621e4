"""Which jobs their queue lets in, as recorded from Kueue (tests/data/kueue_admissions): whatif and why say the same."""

import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import SOURCE, VGPUSIM, CliTest

sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
import kueue_answers

DATA = SOURCE / "tests" / "data" / "kueue_admissions"


class RecordedQueues(CliTest):
    def test_whatif_and_why_let_in_what_kueue_admits(self):
        setups = kueue_answers.read(DATA)
        self.assertGreater(len(setups), 100, "the recordings are not there")
        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda entry: kueue_answers.ours(VGPUSIM, entry, Path(scratch)), setups))
        differing = [f"{entry['setup']}: {what}" for entry, answer in zip(setups, answers) if (what := kueue_answers.difference(entry, answer))]
        self.assertEqual(differing, [], f"{len(differing)} of {len(setups)} setups differ")


if __name__ == "__main__":
    unittest.main()
