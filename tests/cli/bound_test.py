"""vgpusim bound, and run --bound: bounds that hold, what was achieved of them, and bad input."""

import json
import os
import unittest

from support import NODES_HEADER, PODS_HEADER, QUICKSTART, TIMED_HEADER, CliTest

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

    def steady(self, *arguments):
        """Of a run of the quickstart whose pods leave and ask for more than there is, and the run's summary."""
        self.assert_done(self.run_quickstart("--departures", "--tune", "2.6", "--offered-load", "20", "--bound",
                                             *arguments))
        return self.summary()["bound"]["steady"], self.summary()

    def test_no_policy_accepts_or_serves_more_than_its_bounds(self):
        ratios = set()
        for policy in ("fgd", "compat:fgd", "bid_price", "worst_fit"):
            steady, summary = self.steady("--policy", policy)
            self.assertEqual(steady["accepted_gpus"]["achieved"], summary["acceptance"]["accepted_gpu_ratio"])
            self.assertLess(steady["accepted_gpus"]["achieved"], 1, "the load is no test of the bounds")
            for key in ("served", "accepted_gpus", "accepted_gpus_blind"):
                bound = steady[key]
                most = bound["ratio"] + bound.get("luck_ratio", 0)
                self.assertLessEqual(bound["achieved"], most + 1e-9, (policy, key))
                self.assertAlmostEqual(bound["achieved_ratio"], bound["achieved"] / min(1, most))
                self.assertGreater(bound["achieved_ratio"], 0.6, (policy, key))
            self.assertLessEqual(steady["accepted_gpus_blind"]["ratio"], steady["accepted_gpus"]["ratio"] + 1e-9)
            self.assertIn("of the possible", summary["answer"])
            self.assertEqual(steady["no_wait_s"], "nobody waits under try_once")
            ratios.add(tuple(steady[key]["ratio"] for key in ("served", "accepted_gpus", "accepted_gpus_blind")))
        self.assertEqual(len(ratios), 1, "bounds depend on the policy")
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("GPUs accepted, of the bound for policies that do not know durations", page)

    def test_pods_wait_at_least_as_long_as_the_bound(self):
        for policy in ("fgd", "compat:fgd", "bid_price"):
            steady, summary = self.steady("--policy", policy, "--discipline", "fifo")
            wait = steady["wait_s"]
            self.assertAlmostEqual(wait["achieved_mean"], summary["wait_s"]["mean"])
            self.assertEqual(wait["pods"], summary["wait_s"]["count"])
            self.assertGreater(wait["mean"], 0)
            self.assertLessEqual(wait["mean"], wait["achieved_mean"], policy)
            self.assertLessEqual(wait["gpu_mean"], wait["achieved_gpu_mean"], policy)
            self.assertEqual(wait["unavoidable_ratio"], wait["mean"] / wait["achieved_mean"])
            self.assertNotIn("accepted_gpus", steady)
            self.assertLessEqual(steady["served"]["achieved"], steady["served"]["ratio"] + 1e-9)
        self.assertIn("under no policy could it be less than", summary["answer"])
        of_summary = self.bound("--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--departures",
                                "--tune", "2.6", "--offered-load", "20", "--discipline", "fifo", "--summary",
                                self.out / "summary.json")
        for key, value in wait.items():
            self.assertAlmostEqual(of_summary["steady"]["wait_s"][key], value)

    def test_a_steady_state_by_hand(self):
        # Two GPUs; every pod takes one for four seconds, and one arrives every second: half of them must wait or be lost.
        lists = self.inputs(NODES_HEADER + "n,64000,262144,2,G\n", TIMED_HEADER + "".join(
            f"p{i:03},1000,100,1,1000,,{i},{i + 4}\n" for i in range(200)))
        steady = self.bound(*lists, "--departures", "--policy", "best_fit")["steady"]
        self.assertEqual(steady["seconds"], 199)
        self.assertAlmostEqual(steady["accepted_gpus"]["ratio"], 0.5, delta=0.02)
        self.assertAlmostEqual(steady["accepted_gpus"]["achieved_ratio"], 1, delta=0.02)
        self.assertAlmostEqual(steady["served"]["ratio"], 1, delta=0.02)
        waiting = self.bound(*lists, "--departures", "--policy", "best_fit", "--discipline", "fifo")["steady"]["wait_s"]
        self.assertEqual((waiting["mean"], waiting["achieved_mean"]), (99, 99))  # 0, 0, 2, 2, 4, 4, …, 198, 198
        words = self.vgpusim("bound", *lists, "--departures", "--policy", "best_fit", "--discipline", "fifo").stdout
        self.assertIn("at least 99.0 s on average, 99.0 s for a GPU that is asked for; pods waited 99.0 s, of which "
                      "100.00 % could not be avoided", words)

    def test_why_there_is_no_bound_on_means(self):
        lists = self.inputs(NODES_HEADER + "n,64000,262144,2,G\n",
                            TIMED_HEADER + "a,1000,100,1,1000,,1,5\nb,1000,100,1,1000,,3,\n")
        for arguments, key, reason in ((("--discipline", "easy"), "no_wait_s", "pods overtake each other under easy"),
                                       (("--discipline", "fifo"), "no_wait_s", "some pods never leave"),
                                       (("--discipline", "fifo"), "no_accepted_gpus", "with a queue")):
            steady = self.bound(*lists, "--departures", *arguments)["steady"]
            self.assertIn(reason, steady[key])
            self.assertIn(reason, self.vgpusim("bound", *lists, "--departures", *arguments).stdout)
        slow = self.bound(*lists, "--departures", "--set", "layout_change_s=5")
        self.assertEqual(slow["no_steady"], "making MIG instances takes time")
        self.assertNotIn("steady", slow)
        self.assertNotIn("no_steady", self.bound(*lists))

    def test_a_summary_of_another_discipline_is_refused(self):
        lists = self.inputs(NODES_HEADER + "n,64000,262144,2,G\n", TIMED_HEADER + "a,1000,100,1,1000,,1,5\nb,1000,100,1,1000,,3,5\n")
        self.assert_done(self.vgpusim("run", *lists, "--departures", "--out", self.root / "run"))
        summary = self.root / "run" / "summary.json"
        self.assert_refused(self.vgpusim("bound", *lists, "--departures", "--discipline", "fifo", "--summary", summary),
                            "config.discipline", "'try_once'", "fifo")
        self.assertEqual(self.bound(*lists, "--departures", "--summary", summary)["steady"]
                         ["accepted_gpus"]["achieved_ratio"], 1)

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
        self.assert_refused(self.vgpusim("bound", *LISTS, "--forced-load", "nan"), "--forced-load", "expected a number")
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
