"""What vgpusim says about itself: version, help, lists of names, usage errors."""

import json
import subprocess
import unittest

from support import QUICKSTART, VGPUSIM, CliTest

COMMANDS = ["run", "compare", "explain", "generate", "fetch", "policies", "modes", "dialects"]
POLICIES = ["best_fit", "binpack", "fgd", "random", "spread", "worst_fit"]
MODELS = ["compat:bestfit", "compat:dotprod", "compat:fgd", "compat:gpuclustering", "compat:gpupacking",
          "compat:random"]


class ListingsTest(CliTest):
    def names(self, command):
        """The names of a list, which is one a line with a sentence."""
        result = self.vgpusim(command)
        self.assert_done(result)
        lines = result.stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r"^\S+ +\S.*\S$")
        named = [line.split()[0] for line in lines]
        self.assertEqual(len(set(named)), len(named))
        return named

    def test_version(self):
        result = self.vgpusim("--version")
        self.assert_done(result)
        self.assertRegex(result.stdout, r"^\d+\.\d+\.\d+\n$")

    def test_help_of_every_command(self):
        for arguments in [["--help"], ["-h"], *([command, "--help"] for command in COMMANDS)]:
            with self.subTest(arguments=arguments):
                result = self.vgpusim(*arguments)
                self.assert_done(result)
                self.assertIn("Usage:", result.stdout)
        overview = self.vgpusim("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, overview)

    def test_policies(self):
        named = self.names("policies")
        for name in POLICIES + MODELS:
            self.assertIn(name, named)
        self.assertTrue(any(name.startswith("weighted:") for name in named))

    def test_modes(self):
        named = self.names("modes")
        for name in ("exclusive", "hami_core"):
            self.assertIn(name, named)

    def test_dialects(self):
        self.assertIn("openb", self.names("dialects"))

    def test_json_lists_the_same(self):
        for command in ("policies", "modes", "dialects"):
            with self.subTest(command=command):
                result = self.vgpusim(command, "--json")
                self.assert_done(result)
                listed = json.loads(result.stdout)
                self.assertEqual([entry["name"] for entry in listed], self.names(command))
                for entry in listed:
                    self.assertEqual(sorted(entry), ["name", "summary"])
                    self.assertTrue(entry["summary"])

    def test_every_listed_policy_and_mode_runs(self):
        for policy in self.names("policies"):
            if not policy.startswith("weighted:"):
                with self.subTest(policy=policy):
                    self.assert_done(self.run_quickstart("--policy", policy, "--tune", "0.1"))
                    self.assertEqual(self.summary()["policy"], policy)
        for mode in self.names("modes"):
            with self.subTest(mode=mode):
                result = self.run_quickstart("--mode", mode, "--tune", "0.1")
                if mode in ("exclusive", "hami_core", "mps"):
                    self.assert_done(result)
                else:  # openb gives shares of a GPU, which these do not cut
                    self.assert_error_line(result, 2, "mode", f"'{mode}'", "hami_core")

    def test_usage_errors(self):
        for arguments in ([], ["frobnicate"], ["run", "--frobnicate"], ["run", "a.json", "b.json"], ["policies", "x"],
                          ["run", "--seed"], ["run", "--seed", "1", "--seed", "2"], ["generate"]):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.vgpusim(*arguments))
        self.assertEqual(self.present(), [])

    def test_output_that_cannot_be_printed(self):
        """A full disk behind standard output is an error, not silence."""
        with open("/dev/full", "wb") as full:
            result = subprocess.run([VGPUSIM, "run", "--nodes", QUICKSTART / "nodes.csv", "--pods",
                                     QUICKSTART / "pods.csv", "--out", self.out, "--json"],
                                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assert_error_line(result, 1, "standard output")


if __name__ == "__main__":
    unittest.main()
