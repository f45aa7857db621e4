"""A simulation of texts in memory writes what `vgpusim run` writes, and says the same of bad input."""

import os
import subprocess
import unittest

from support import QUICKSTART, CliTest

PROGRAM = os.environ["SIMULATE_IN_MEMORY"]
NODES, PODS = (str(QUICKSTART / name) for name in ("nodes.csv", "pods.csv"))


def untimed(name, content):
    """The content without what was measured."""
    if name == "summary.json":
        return content.split(b'"timing"')[0]
    return content


class InMemoryTest(CliTest):
    def simulate(self, *options):
        return subprocess.run([PROGRAM, self.root / "memory", f"nodes={NODES}", f"pods={PODS}", *options],
                              capture_output=True, text=True, timeout=120)

    def test_files_are_the_same(self):
        for settings in (["policy=fgd", "tune=1.3", "seed=77"], ["policy=random", "departures=true", "discipline=easy"],
                         ["policy=best_fit", "mode=exclusive", "trace=true"]):
            with self.subTest(settings=settings):
                self.assertEqual(self.simulate(*settings).returncode, 0)
                sets = [part for setting in settings for part in ("--set", setting)]
                self.assert_done(self.vgpusim("run", "--nodes", NODES, "--pods", PODS, *sets, "--out", self.out))
                names = sorted(path.name for path in self.out.iterdir())
                self.assertEqual(sorted(path.name for path in (self.root / "memory").iterdir()), names)
                for name in names:
                    ours, theirs = ((folder / name).read_bytes() for folder in (self.root / "memory", self.out))
                    if name == "report.html":  # its speed is measured: as many bytes but for those digits
                        self.assertAlmostEqual(len(ours), len(theirs), delta=200)
                    else:
                        self.assertEqual(untimed(name, ours), untimed(name, theirs), name)
                for path in (self.root / "memory").iterdir():
                    path.unlink()

    def test_errors_are_the_same(self):
        for setting in ("discipline=lifo", "tune=-1", "policy=nobody", "defragment=sometimes", "offered_load=0.5", "key=1"):
            with self.subTest(setting=setting):
                refused = self.vgpusim("run", "--nodes", NODES, "--pods", PODS, "--set", setting, "--out", self.out)
                ours = self.simulate(setting)
                self.assertEqual((ours.returncode, ours.stderr), (refused.returncode, refused.stderr))


if __name__ == "__main__":
    unittest.main()
