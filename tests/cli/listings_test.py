"""What vgpusim says about itself: version, help, lists of names, usage errors."""

import json
import resource
import subprocess
import sys
import unittest

from support import QUICKSTART, SOURCE, VGPUSIM, CliTest

COMMANDS = ["run", "compare", "explain", "generate", "fetch", "policies", "modes", "dialects", "options"]
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

    def test_options_are_those_of_the_page(self):
        sys.path.insert(0, str(SOURCE / "scripts"))
        import option_table
        self.assertEqual(option_table.shown(), option_table.table(VGPUSIM),
                         "run scripts/option_table.py on vgpusim")
        help_of_run = self.vgpusim("run", "--help").stdout
        for option in json.loads(self.vgpusim("options", "--json").stdout):
            self.assertIn(option["flag"], help_of_run)

    def test_help_of_every_command(self):
        for arguments in [["--help"], ["-h"], *([command, "--help"] for command in COMMANDS)]:
            with self.subTest(arguments=arguments):
                result = self.vgpusim(*arguments)
                self.assert_done(result)
                self.assertIn("Usage:", result.stdout)
        overview = self.vgpusim("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, overview)

    def test_help_shows_values_defaults_and_examples(self):
        for command, words in (("explain", ["CLUSTER FILE", "--pod POD|FILE", "--node NODE", "--policy POLICY", "--config FILE"]),
                               ("validate", ["FILE ... ", "--config FILE", "--scheduler-config FILE", "--file FILE"])):
            text = self.vgpusim(command, "--help").stdout
            for word in words:
                self.assertIn(word, text)
            self.assertNotIn("TEXT", text)
        for command in ("run", "compare"):
            text = self.vgpusim(command, "--help").stdout
            for words in (r"--policy POLICY", r"--format FORMAT\W*openb", r"--out FOLDER\W*out/run", r"--mode MODE\W*hami_core",
                          r"--tune NUMBER\W*0", r"--seed INTEGER\W*42"):
                self.assertRegex(text, words)
            self.assertNotIn("TEXT", text)
            self.assertIn("a flag wins over --set, and --set over the scenario", text)
        self.assertRegex(self.vgpusim("run", "--help").stdout, r"--policy POLICY\W*bid_price")

    def test_help_ends_with_examples_that_can_be_parsed(self):
        for command in [*COMMANDS, "catalog", "transition", "validate", "conformance", "help"]:
            with self.subTest(command=command):
                text = self.vgpusim(command, "--help").stdout
                self.assertEqual(self.vgpusim("help", command).stdout, text)
                self.assertIn(f"Usage: vgpusim {command}", text)
                self.assertRegex(text.split("Examples:\n")[1], rf"(?m)^  vgpusim {command}\b")

    def test_examples_of_runs_work(self):
        """As they stand, from the checkout, but for the folder that they write to."""
        for command in ("run", "compare", "generate"):
            examples = self.vgpusim(command, "--help").stdout.split("Examples:\n")[1].splitlines()
            for line in (line for line in examples if line.startswith("  vgpusim ")):
                with self.subTest(line=line):
                    words = line.split()[1:]
                    if "--out" in words:
                        at = words.index("--out")
                        del words[at:at + 2]
                    self.assert_done(self.vgpusim(*words, "--out", self.out, cwd=SOURCE))

    def test_help_of_a_command_that_is_not(self):
        """Which there are."""
        for arguments in (["frobnicate"], ["frobnicate", "--help"], ["help", "frobnicate"]):
            self.assert_refused(self.vgpusim(*arguments), "'frobnicate'", "one of run, compare", "explain", "dialects")
        self.assertEqual(self.vgpusim("help").stdout, self.vgpusim("--help").stdout)

    def test_seeds_are_taken_alike(self):
        """-1 and 2^64 - 1 are the same 64 bits, for every command that draws."""
        pods = self.write("cluster.yaml", (SOURCE / "tests/data/explain/cluster.yaml").read_text())
        commands = (lambda seed: self.vgpusim("generate", SOURCE / "traces/models/quickstart.json", "--pods", "50",
                                              "--seed", seed, "--out", self.root / "lists"),
                    lambda seed: self.run_quickstart("--policy", "random", "--seed", seed),
                    lambda seed: self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods",
                                              QUICKSTART / "pods.csv", "--policy", "random", "--policy", "fgd", "--tune",
                                              "0.1", "--seed", seed, "--out", self.root / "both"),
                    lambda seed: self.vgpusim("explain", pods, "--pod", "team/waits", "--policy", "random", "--seed", seed))
        for command in commands:
            written = []
            for seed in ("-1", "18446744073709551615"):
                result = command(seed)
                self.assert_done(result)
                lists = [path.read_bytes() for path in sorted(self.root.rglob("pods.csv"))]
                written.append((lists, result.stdout if "CONTAINER" in result.stdout else ""))
            self.assertEqual(*written)
            self.assert_done(command("-9223372036854775808"))
            self.assert_error_line(command("18446744073709551616"), 2, "seed", "from -2^63 to 2^64 - 1")
            self.assert_error_line(command("1.5"), 2, "seed", "from -2^63 to 2^64 - 1")

    def test_policies(self):
        named = self.names("policies")
        for name in POLICIES + MODELS:
            self.assertIn(name, named)
        self.assertTrue(any(name.startswith("weighted:") for name in named))

    def test_policies_say_which_one_to_take_and_which_are_baselines(self):
        summaries = dict(line.split(maxsplit=1) for line in self.vgpusim("policies").stdout.splitlines())
        self.assertEqual(sorted(name for name, summary in summaries.items() if summary.endswith("a baseline, to compare with")),
                         ["best_fit", "binpack", "fgd", "fgd_literal", "fgd_stranded", "first_fit", "mcc", "mecc", "mfi", "random", "worst_fit"])
        self.assertEqual(sorted(name for name, summary in summaries.items() if ": take it" in summary or ": start with it" in summary),
                         ["bid_price", "compat:fgd", "dual_price", "ssp"])

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
            if policy == "compat:volcano":  # decides by Kubernetes objects, which openb lists have not
                self.assert_error_line(self.run_quickstart("--policy", policy), 2, "policy", f"'{policy}'", "kubernetes")
            elif not policy.startswith("weighted:"):
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
        """A full disk behind standard output is an error of one line, not silence, for all that prints."""
        pod = self.write("pod.yaml", "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}")
        for arguments in (["run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--out", self.out,
                           "--json"], ["catalog", "--json"], ["catalog"], ["--help"], ["--version"], ["run", "--help"],
                          ["policies"], ["validate", pod], ["validate", "--json", pod]):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([VGPUSIM, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True,
                                        timeout=60, check=False)
                self.assert_error_line(result, 1, "vgpusim: standard output: cannot be written")

    def test_files_that_cannot_be_written(self):
        """A disk that is full is nobody's bad input, and leaves nothing behind."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # and SIGXFSZ as it is by default

        lists = ["--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv"]
        for arguments in (["run", *lists], ["compare", *lists, "--policy", "fgd", "--policy", "random"],
                          ["generate", SOURCE / "traces" / "models" / "quickstart.json"]):
            with self.subTest(arguments=arguments):
                result = subprocess.run([VGPUSIM, *map(str, arguments), "--out", self.out], capture_output=True, text=True,
                                        timeout=60, check=False, preexec_fn=limit)
                self.assert_error_line(result, 1, str(self.out), "cannot write: File too large")
                self.assertEqual(self.present(), [])


if __name__ == "__main__":
    unittest.main()
