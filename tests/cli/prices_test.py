"""Policies dual_price and bid_price: prices that are solved, learned, written and given back."""

import json
import unittest

from support import NODES_HEADER, PODS_HEADER, QUICKSTART, SOURCE, CliTest

DUAL = ("--policy", "dual_price")
TUNED = ("--tune", "1.3")
BID = ("--policy", "bid_price")


class PricesTest(CliTest):
    def prices(self, out):
        return json.loads((out / "prices.json").read_text())

    def test_prices_given_back_give_the_same_run(self):
        self.assert_done(self.run_quickstart(*DUAL, *TUNED))
        again = self.root / "again"
        self.assert_done(self.run_quickstart(*DUAL, *TUNED, "--prices", self.out / "prices.json", out=again))
        for name in ("pods.csv", "prices.json", "timeseries.csv"):
            self.assertEqual((self.out / name).read_bytes(), (again / name).read_bytes(), name)
        self.assertIn("prices.json", (again / "summary.json").read_text())

    def test_bid_price_with_solved_prices_fills_as_dual_price_does(self):
        """Nobody leaves, so no slot has a price."""
        self.assert_done(self.run_quickstart(*DUAL, *TUNED))
        again = self.root / "again"
        self.assert_done(self.run_quickstart(*BID, *TUNED, "--prices", "lp", out=again))
        self.assertEqual((self.out / "pods.csv").read_bytes(), (again / "pods.csv").read_bytes())
        self.assertEqual(json.loads((again / "summary.json").read_text())["config"]["prices"], "lp")

    def test_bid_price_learns_by_itself_and_keeps_what_it_learned(self):
        self.assert_done(self.run_quickstart(*BID, *TUNED))
        self.assertEqual(json.loads((self.out / "summary.json").read_text())["config"]["prices"], "online")
        learned = self.prices(self.out)
        self.assertEqual(learned["turnover"], 0)
        self.assertAlmostEqual(sum(slot["share"] for slot in learned["slots"]), 1, delta=0.02)
        self.assertGreater(max(device["idle"] for device in learned["devices"]), 0)
        again = self.root / "again"
        self.assert_done(self.run_quickstart(*BID, *TUNED, "--prices", self.out / "prices.json", out=again))
        self.assertEqual(self.prices(again)["devices"], learned["devices"])
        self.assertNotEqual((self.out / "pods.csv").read_bytes(), (again / "pods.csv").read_bytes())

    def test_words_for_prices_go_with_the_policy(self):
        for arguments, refusal in (((*DUAL, "--prices", "online"), "prices: got 'online', expected lp or a prices.json"),
                                ((*BID, "--set", "price_demand=learned"), "price_demand: got 'learned', expected no such setting"),
                                (("--policy", "fgd", "--prices", "lp"), "prices: got 'lp', expected no such setting")):
            self.assert_refused(self.run_quickstart(*arguments), refusal)
        self.assert_refused(self.run_quickstart(*BID, "--prices", "./lp"), "lp: cannot open")

    def test_prices_of_other_devices_are_warned_of(self):
        self.assert_done(self.run_quickstart(*DUAL, *TUNED))
        prices = self.prices(self.out)
        for device in prices["devices"]:
            device["model"] = f"other {device['model']}"
        given = self.write("given.json", json.dumps(prices))
        result = self.run_quickstart(*DUAL, *TUNED, "--prices", given)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning", result.stderr)
        self.assertIn("given.json: devices: got 'model 'other", result.stderr)

    def test_prices_decide(self):
        self.assert_done(self.run_quickstart(*DUAL, *TUNED))
        prices = self.prices(self.out)
        self.assertGreater(prices["cpu_milli_per_gpu"], 0)
        self.assertGreater(max(device["idle"] for device in prices["devices"]), 0)
        for device in prices["devices"]:
            device["parts"] = []
        other = self.root / "other"
        given = self.write("given.json", json.dumps(prices))
        self.assert_done(self.run_quickstart(*DUAL, *TUNED, "--prices", given, out=other))
        self.assertNotEqual((self.out / "pods.csv").read_bytes(), (other / "pods.csv").read_bytes())
        self.assertEqual(self.prices(other), prices)

    def test_prices_that_are_learned_are_the_same_twice_and_start_from_a_file(self):
        learned = ("--set", "price_demand=learned", "--set", "price_every=50")
        outs = [self.root / name for name in ("a", "b", "c")]
        for out in outs[:2]:
            self.assert_done(self.run_quickstart(*DUAL, *TUNED, *learned, out=out))
        self.assertEqual((outs[0] / "pods.csv").read_bytes(), (outs[1] / "pods.csv").read_bytes())
        self.assertEqual(self.prices(outs[0]), self.prices(outs[1]))
        self.assert_done(self.run_quickstart(*DUAL, *TUNED, *learned, "--prices", outs[0] / "prices.json", "--set",
                                             "price_every=10000000", out=outs[2]))
        self.assertNotEqual((outs[0] / "pods.csv").read_bytes(), (outs[2] / "pods.csv").read_bytes())

    def test_every_way_of_cutting_devices_has_prices(self):
        """MIG, templates of NPUs, slices of memory and compute."""
        for name, mode in (("which-mig-instance-does-a-pod-get", "mig"),
                           ("which-part-of-an-npu-does-a-pod-get", "ascend_vir"),
                           ("does-a-hami-core-pod-get-what-it-asks-for", "hami_core")):
            with self.subTest(scenario=name):
                out = self.root / name
                self.assert_done(self.vgpusim("run", SOURCE / "scenarios" / f"{name}.json", *DUAL, "--out", out))
                of_mode = [device for device in self.prices(out)["devices"] if device["mode"] == mode]
                self.assertTrue(of_mode)
                for device in of_mode:
                    self.assertGreater(device["idle"], 0)
                    self.assertTrue(device["parts"])

    def test_a_case_by_hand(self):
        """Two pods of 500 go together and not beside the one of 300, so that the one of 700 finds room."""
        nodes = NODES_HEADER + "a,90000,90000,1,G\nb,90000,90000,1,G\n"
        pods = PODS_HEADER + "p0,1000,10,1,700\np1,1000,10,1,500\np2,1000,10,1,300\np3,1000,10,1,500\n"
        self.assert_done(self.run_lists(*DUAL, nodes=nodes, pods=pods))
        self.assertEqual([row["placed"] for row in self.pods()].count("1"), 4, self.pods())

    def test_prices_of_something_else_change_nothing_but_prices(self):
        """What no device serves is left out, and kinds that are not there are nobody's."""
        odd = {"cpu_milli_per_gpu": 1000, "devices": [
            {"model": "A100", "mode": mode, "memory_mib": 1000, "compute": 100, "idle": 5, "premium": 0,
             "parts": [{"worth": 5, "request": {"memory_mib": 999999999}}, {"worth": 3, "request": {"profile": "9g.1gb"}}]}
            for mode in ("hami_core", "mig", "cce")]}
        nodes, pods = NODES_HEADER + "a,9000,9000,1,A100\n", PODS_HEADER + "p,1000,10,1,700\n"
        self.assert_done(self.run_lists(*DUAL, "--prices", self.write("odd.json", json.dumps(odd)), nodes=nodes, pods=pods))

    def test_a_baseline_under_another_policy_has_no_use_for_prices(self):
        self.assert_done(self.run_quickstart(*DUAL, out=self.root / "first"))
        keys = {"nodes": str(QUICKSTART / "nodes.csv"), "pods": str(QUICKSTART / "pods.csv"), "policy": "dual_price",
                "prices": str(self.root / "first" / "prices.json"), "out": str(self.out), "baseline": {"policy": "fgd"}}
        self.assert_done(self.vgpusim("run", self.write("scenario.json", json.dumps(keys))))
        self.assertTrue((self.out / "prices.json").exists())
        self.assertFalse((self.out / "baseline" / "prices.json").exists())

    def test_a_study_of_models_takes_prices_too(self):
        study = {"format": "model", "out": str(self.out), "study": {
            "pods": [str(SOURCE / "scenarios" / "mig-models" / "a30-uniform.json")], "policies": [
                "dual_price", {"name": "given", "policy": "dual_price", "set": {"prices": "nowhere.json"}}],
            "loads": [1.0], "arrivals": 200, "seeds": "1..2"}}
        self.assert_refused(self.vgpusim("study", self.write("s.json", json.dumps(study))), "nowhere.json")
        study["study"]["policies"][1]["set"]["prices"] = self.write("size.json", '{"cpu_milli_per_gpu": 0, "devices": []}')
        self.assert_done(self.vgpusim("study", self.write("s.json", json.dumps(study))))

    def test_prices_of_an_earlier_run_go_with_its_other_files(self):
        self.assert_done(self.run_quickstart(*DUAL))
        self.assertTrue((self.out / "prices.json").exists())
        self.assert_done(self.run_quickstart("--policy", "fgd"))
        self.assertFalse((self.out / "prices.json").exists())

    def test_bad_input(self):
        self.assert_done(self.run_quickstart(*DUAL, out=self.root / "first"))
        prices = self.root / "first" / "prices.json"
        self.assert_refused(self.run_quickstart("--policy", "fgd", "--prices", prices), "prices", "dual_price")
        self.assert_refused(self.run_quickstart(*DUAL, "--prices", self.root / "nowhere.json"), "nowhere.json")
        self.assert_refused(self.run_quickstart(*DUAL, "--prices", self.write("bad.json", "{}")), "bad.json",
                            "cpu_milli_per_gpu")
        self.assert_refused(self.run_quickstart(*DUAL, "--set", "price_demand=guessed"), "price_demand", "learned")
        self.assert_refused(self.run_quickstart(*DUAL, "--set", "price_every=0"), "price_every")
        self.assert_refused(self.run_quickstart("--policy", "fgd", "--set", "price_demand=learned"), "price_demand")
        lists = ("--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--out", self.out)
        for command in ("compare", "study"):
            self.assert_refused(self.vgpusim(command, *lists, "--policy", "fgd", "--policy", "best_fit", "--prices", prices)
                                if command == "compare" else
                                self.vgpusim(command, self.write("s.json", json.dumps(
                                    {"nodes": str(QUICKSTART / "nodes.csv"), "out": str(self.out), "prices": str(prices), "study":
                                     {"policies": ["fgd"], "pods": [str(QUICKSTART / "pods.csv")], "seeds": "1..2"}}))),
                                "prices", "dual_price")
        # The prices of an earlier run are not overwritten by those that they led to.
        result = self.run_quickstart(*DUAL, "--prices", prices, out=self.root / "first")
        self.assertEqual(result.returncode, 2, result)


if __name__ == "__main__":
    unittest.main()
