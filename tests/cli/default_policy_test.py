"""The policy of every command where none is named: bid_price, which its output says."""

import json
import unittest

from clusters import cluster, gpu_node, on_card, pod, vgpu
from support import QUICKSTART, CliTest, untimed

DEFAULT = "bid_price"


class DefaultPolicyTest(CliTest):
    def written(self, folder):
        """What a run has written, without what was measured."""
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.html"}
        return {**files, "summary.json": untimed(files["summary.json"])}

    def test_a_run_says_which_policy_it_had_and_is_that_policy_s(self):
        self.assert_done(self.run_quickstart())
        self.assert_done(self.run_quickstart("--policy", DEFAULT, out=self.root / "named"))
        self.assert_done(self.run_quickstart("--policy", "fgd", out=self.root / "fgd"))
        summary = self.summary()
        self.assertEqual((summary["policy"], summary["config"]["policy"], summary["config"]["prices"]), (DEFAULT, DEFAULT, "online"))
        self.assertEqual(self.written(self.out), self.written(self.root / "named"))
        self.assertNotEqual((self.out / "pods.csv").read_bytes(), (self.root / "fgd" / "pods.csv").read_bytes())

    def test_a_scenario_and_its_baseline(self):
        scenario = {"nodes": str(QUICKSTART / "nodes.csv"), "pods": str(QUICKSTART / "pods.csv"), "out": str(self.out),
                    "baseline": {"mode": "exclusive"}}
        self.assert_done(self.vgpusim("run", self.write("scenario.json", json.dumps(scenario))))
        baseline = json.loads((self.out / "baseline" / "summary.json").read_text())
        self.assertEqual([(summary["policy"], summary["config"]["policy"]) for summary in (self.summary(), baseline)], [(DEFAULT, DEFAULT)] * 2)

    def test_the_table_of_options_has_it(self):
        listed = self.vgpusim("policies").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed if line.endswith(": start with it")], [DEFAULT])
        for command in ("run", "whatif", "explain"):
            text = " ".join(self.vgpusim(command, "--help").stdout.split())
            self.assertNotIn("[fgd]", text)
            self.assertIn(DEFAULT, text, command)

    def test_questions_about_a_cluster(self):
        objects = cluster(gpu_node("a"), gpu_node("b"), on_card("r", "a", 0, 20000), pod("q", vgpu(8000)))
        file = self.write("cluster.json", json.dumps(objects))
        answer = json.loads(self.vgpusim("explain", file, "--pod", "team/q", "--json").stdout)
        self.assertEqual(answer["policy"], DEFAULT)
        printed = self.vgpusim("whatif", file, "--all").stdout
        self.assertIn(f"\nplaced by {DEFAULT}\n", printed)
        self.assertEqual(printed, self.vgpusim("whatif", file, "--all", "--policy", DEFAULT).stdout)


if __name__ == "__main__":
    unittest.main()
