"""Same version, input and seed: same bytes, wherever and however it runs."""

import locale
import subprocess
import unittest

from support import QUICKSTART, VGPUSIM, CliTest, untimed

POLICIES = ["best_fit", "bid_price", "binpack", "fgd", "random", "spread", "worst_fit", "compat:fgd", "compat:random",
            "weighted:fgd=0.7,binpack=0.3"]
SETTINGS = ([], ["--departures"], ["--tune", "2", "--seed", "7"], ["--mode", "exclusive", "--tune", "0.5"])


class DeterminismTest(CliTest):
    def written(self, *more, name="out", **how):
        """What a run writes, its measured times left out."""
        out = self.root / name
        self.assert_done(self.run_quickstart(*more, out=out, **how))
        return {"pods": (out / "pods.csv").read_bytes(), "series": (out / "timeseries.csv").read_bytes(),
                "summary": untimed((out / "summary.json").read_text()),
                # The text too: the order of keys and the digits are part of the promise.
                "text": (out / "summary.json").read_text().split('"timing"')[0]}

    def test_two_runs(self):
        for policy in POLICIES:
            for settings in SETTINGS:
                with self.subTest(policy=policy, settings=settings):
                    self.assertEqual(self.written("--policy", policy, *settings, name="a"),
                                     self.written("--policy", policy, *settings, name="b"))

    def test_surroundings(self):
        expected = self.written("--policy", "random", "--departures")
        elsewhere = self.root / "elsewhere"
        elsewhere.mkdir()
        for env in ({"TZ": "Asia/Kathmandu"}, {"TZ": "nonsense"}, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"},
                    {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}, {"LC_ALL": "tr_TR.UTF-8"}, {"COLUMNS": "20"}):
            with self.subTest(env=env):
                self.assertEqual(self.written("--policy", "random", "--departures", name="deep/other", cwd=elsewhere,
                                              env=env), expected)

    def test_nothing_in_the_surroundings_is_needed(self):
        expected = self.written()
        result = subprocess.run(
            [VGPUSIM, "run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
             "--out", self.root / "bare"], env={}, cwd="/", capture_output=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual((self.root / "bare" / "pods.csv").read_bytes(), expected["pods"])

    def test_several_at_once(self):
        expected = self.written("--policy", "fgd")
        command = [VGPUSIM, "run", "--nodes", QUICKSTART / "nodes.csv", "--pods",
                   QUICKSTART / "pods.csv", "--policy", "fgd", "--out"]
        running = [subprocess.Popen([*command, self.root / str(i)], env=self.environment, stdout=subprocess.DEVNULL)
                   for i in range(4)]
        for i, process in enumerate(running):
            self.assertEqual(process.wait(60), 0)
            self.assertEqual((self.root / str(i) / "pods.csv").read_bytes(), expected["pods"])

    def test_seeds_differ(self):
        for policy in ("fgd", "random"):
            self.assertNotEqual(self.written("--policy", policy, "--seed", "1")["pods"],
                                self.written("--policy", policy, "--seed", "2")["pods"])

    def test_a_decimal_comma_changes_nothing(self):
        """Only where a locale with one is installed does this say more than test_surroundings."""
        installed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
        for name in installed:
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            comma = locale.localeconv()["decimal_point"] == ","
            locale.setlocale(locale.LC_NUMERIC, "C")
            if comma:
                self.assertEqual(self.written("--tune", "0.5", env={"LC_ALL": name}), self.written("--tune", "0.5"))
                return
        self.skipTest("no locale with a decimal comma is installed")


if __name__ == "__main__":
    unittest.main()
