"""vgpusim bound, and run --bound: bounds that hold, what was achieved of them, and bad input."""

import json
import os
import unittest

from support import NODES_HEADER, PODS_HEADER, QUICKSTART, CliTest

LISTS = ("--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--tune", "1.3")
POLICIES = ("fgd", "best_fit", "worst_fit", "random")


class BoundTest(CliTest):
    def bound(self, *arguments, **how):
        result = self.vgpusim("bound", *arguments, "--json", **how)
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_no_policy_comes_above_its_bounds(self):
        for policy in POLICIES:
            figures = self.bound(*LISTS, "--policy", policy)
            achieved = figures["achieved"]["milli"]
            self.assertGreater(achieved, 0)
            bounds = [figures[key]["milli"] for key in ("forced_prefix", "work_conserving", "configuration")]
            for bound in bounds:  # of a policy that fails early the second may be below the first
                self.assertLessEqual(achieved, bound + 1e-6, policy)
                self.assertLessEqual(bound, bounds[2] + 1e-6, policy)
            self.assertEqual(figures["configuration"]["achieved_ratio"], achieved / bounds[2])
            self.assertEqual(figures["forced_prefix"]["policy"], policy)
            self.assertNotIn("pool", figures)

    def test_the_exact_bound_is_reached_or_above(self):
        figures = self.bound(*LISTS, "--policy", "fgd", "--exact")
        self.assertEqual(figures["exact"]["status"], "optimal")
        self.assertLessEqual(figures["exact"]["milli"], figures["configuration"]["milli"] + 1e-6)
        self.assertGreaterEqual(figures["exact"]["milli"], figures["achieved"]["milli"])

    def test_a_case_by_hand(self):
        nodes = NODES_HEADER + "a,10000,10000,1,G\nb,10000,10000,1,G\n"
        pods = PODS_HEADER + "".join(f"p{i},1000,100,1,600\n" for i in range(3)) + "q,1000,100,1,300\n"
        figures = self.bound(*self.inputs(nodes, pods), "--exact")
        self.assertEqual(figures["configuration"]["milli"], 1500)  # 600 and 300 on one, 600 on the other
        self.assertEqual(figures["exact"]["milli"], 1500)
        self.assertEqual(figures["configuration"]["pods"], 3)
        self.assertEqual(figures["arrived_milli"], 2100)

    def test_all_of_nothing_is_achieved_where_no_pod_can_run(self):
        inputs = self.inputs(NODES_HEADER + "a,10000,10000,1,G\n", PODS_HEADER + "p,20000,100,1,600\n")
        figures = self.bound(*inputs, "--policy", "fgd", "--exact")
        for key in ("configuration", "exact"):
            self.assertEqual((figures[key]["milli"], figures[key]["achieved_ratio"]), (0, 1), key)
        self.assertIn("at most 0.00 % of 1 GPUs; achieved 100.00 % of that",
                      self.vgpusim("bound", *inputs, "--policy", "fgd", "--exact").stdout)

    def test_forced_pods_that_do_not_fit_together(self):
        nodes = NODES_HEADER + "a,10000,10000,1,G\n"
        pods = PODS_HEADER + "p,1000,100,1,600\nq,1000,100,1,600\n"
        figures = self.bound(*self.inputs(nodes, pods), "--forced-load", "2")
        self.assertEqual(figures["forced_prefix"]["status"], "infeasible")
        self.assertAlmostEqual(figures["forced_prefix"]["shortage_pods"], 1.0)
        self.assertNotIn("milli", figures["forced_prefix"])
        words = self.vgpusim("bound", *self.inputs(nodes, pods), "--forced-load", "2").stdout
        self.assertIn("do not fit together", words)

    def test_where_pods_leave_there_is_a_pool_that_is_no_bound(self):
        nodes = NODES_HEADER + "a,10000,10000,1,G\nb,10000,10000,1,G\n"
        header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
        pods = header + "".join(f"p{i},1000,100,1,600,,{i},{i + 10}\n" for i in range(3))
        figures = self.bound(*self.inputs(nodes, pods), "--departures", "--policy", "best_fit")
        self.assertFalse(figures["pool"]["is_a_bound"])
        self.assertEqual(figures["pool"]["accepted"], {"pods": 3, "memory_units": 1800})
        self.assertEqual(figures["pool"]["achieved"], {"pods": 2, "memory_units": 1200})
        self.assertNotIn("forced_prefix", figures)
        words = self.vgpusim("bound", *self.inputs(nodes, pods), "--departures").stdout
        self.assertIn("no bound on the number of pods", words)

    def test_a_run_says_how_near_it_came(self):
        self.assert_done(self.run_quickstart("--tune", "1.3", "--bound"))
        summary = self.summary()
        figures = self.bound(*LISTS, "--policy", "bid_price")
        for key in ("version", "seed", "inputs"):
            del figures[key]
        self.assertEqual(summary["bound"], figures)
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("Achieved of the bound for any policy", page)
        of_summary = self.bound(*LISTS, "--summary", self.out / "summary.json")
        self.assertEqual(of_summary["achieved"], summary["bound"]["achieved"])
        self.assert_done(self.run_quickstart("--tune", "1.3"))
        self.assertNotIn("bound", self.summary())

    def test_the_file_is_what_json_prints_and_the_same_every_time(self):
        first = self.vgpusim("bound", *LISTS, "--out", self.out, "--json")
        self.assert_done(first)
        self.assertEqual((self.out / "bound.json").read_text(), first.stdout)
        self.assertEqual(self.vgpusim("bound", *LISTS, "--json").stdout, first.stdout)
        self.assertEqual(os.listdir(self.out), ["bound.json"])

    def test_bad_input(self):
        self.assert_refused(self.vgpusim("bound", "--nodes", "none.csv", "--pods", "none.csv"), "none.csv")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--policy", "none"), "policy", "'none'")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--forced-load", "-1"), "--forced-load")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--forced-load", "nan"), "--forced-load", "not a number")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--summary", self.write("s.json", "{}")), "s.json", "policy")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--summary", self.write("s.json", "{")), "s.json")
        self.assert_refused(self.vgpusim("bound", *LISTS, "--summary", "s", "--policy", "fgd"), "--summary")
        self.assert_done(self.run_quickstart(out=self.root / "other"))
        other = self.root / "other" / "summary.json"
        self.assert_refused(self.vgpusim("bound", *LISTS, "--summary", other), "summary.json: gpu.arrived_milli")

    def test_exact_is_for_small_cases(self):
        nodes = NODES_HEADER + "".join(f"n{i},64000,262144,8,G\n" for i in range(400))
        pods = PODS_HEADER + "".join(f"p{i},1000,100,1,{10 + 10 * (i % 80)}\n" for i in range(4000))
        result = self.vgpusim("bound", *self.inputs(nodes, pods), "--exact")
        self.assert_refused(result, "--exact: got '400 nodes, 4000 pods', expected a smaller case")


if __name__ == "__main__":
    unittest.main()
