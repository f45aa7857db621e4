"""`vgpusim generate`: the same seed gives the same lists, and what it writes can be replayed."""

import json
import unittest

from support import QUICKSTART, SOURCE, CliTest, read_csv

MODEL = SOURCE / "traces" / "models" / "quickstart.json"
FILES = ["model.json", "nodes.csv", "pods.csv"]


class GenerateTest(CliTest):
    def generate(self, *more, out=None, model=MODEL):
        return self.vgpusim("generate", model, "--out", out or self.out, *more)

    def written(self, *more):
        self.assert_done(self.generate(*more))
        return {name: (self.out / name).read_bytes() for name in FILES}

    def test_the_shipped_trace_comes_out_again(self):
        self.assertEqual(self.written("--seed", "1"), {name: (QUICKSTART / name).read_bytes() for name in FILES})
        self.assertEqual(self.present(self.out), FILES)

    def test_the_model_it_writes_gives_the_same_lists(self):
        first = self.written("--seed", "5", "--nodes", "12", "--load", "0.5")
        used = self.write("used.json", first["model.json"])
        self.assert_done(self.generate(out=self.root / "again", model=used))
        for name in FILES:
            self.assertEqual((self.root / "again" / name).read_bytes(), first[name], name)

    def test_seeds_differ(self):
        self.assertNotEqual(self.written("--seed", "1")["pods.csv"], self.written("--seed", "2")["pods.csv"])

    def test_an_offered_load(self):
        """What the two lists offer, counted here, is what was asked for, and `run` says so too."""
        for load in (0.05, 0.9, 2.5):
            result = self.generate("--pods", "3000", "--offered-load", load, "--seed", "3", "--json")
            self.assert_done(result)
            pods = read_csv(self.out / "pods.csv")
            begin, end = int(pods[0]["creation_time"]), int(pods[-1]["creation_time"])
            asked = sum(int(p["num_gpu"]) * int(p["gpu_milli"]) * (int(p["deletion_time"]) - int(p["creation_time"]))
                        for p in pods)
            offered = asked / (end - begin) / 412_000
            self.assertAlmostEqual(offered / load, 1, delta=0.0011)
            self.assertAlmostEqual(json.loads(result.stdout)["offered_load"], offered, places=9)
        lists = self.root / "lists"
        self.assert_done(self.generate("--pods", "3000", "--offered-load", "2.5", "--seed", "3", out=lists))
        self.assert_done(self.vgpusim("run", "--nodes", lists / "nodes.csv", "--pods", lists / "pods.csv", "--departures",
                                      "--out", self.out / "run"))
        run = json.loads((self.out / "run" / "summary.json").read_text())
        self.assertAlmostEqual(run["gpu"]["offered_load"], offered, places=9)
        self.assert_done(self.generate(out=self.root / "again", model=lists / "model.json"))
        self.assertEqual((self.root / "again" / "pods.csv").read_bytes(), (lists / "pods.csv").read_bytes())

    def test_requests_are_not_called_a_load(self):
        shown = self.generate("--load", "1.1")
        self.assert_done(shown)
        self.assertNotIn("requested load", shown.stdout)
        self.assertRegex(shown.stdout, r"(?m)^requests +1\.1\d* times all GPUs, if all pods stayed$")
        self.assertRegex(shown.stdout, r"(?m)^offered load +0\.\d{4} of all GPUs: ")

    def test_counts(self):
        result = self.generate("--nodes", "10", "--pods", "77", "--json")
        self.assert_done(result)
        shown = json.loads(result.stdout)
        self.assertEqual((shown["nodes"], shown["pods"]), (10, 77))
        self.assertEqual(len(read_csv(self.out / "pods.csv")), 77)

    def test_what_it_writes_can_be_replayed(self):
        lists = self.root / "lists"
        self.assert_done(self.generate("--pods", "100", out=lists))
        for more in ([], ["--departures"]):
            self.assert_done(self.vgpusim("run", "--nodes", lists / "nodes.csv", "--pods", lists / "pods.csv", "--out",
                                          self.out, *more))
            self.assertEqual(self.summary()["pods"]["arrived"], 100)

    def test_bad_input(self):
        for seed in ("-9223372036854775809", "18446744073709551616", "1.5", ""):
            self.assert_refused(self.generate("--seed", seed), "--seed", "from -2^63 to 2^64 - 1")
        for load in ("0", "-1", "nan", "1e9"):
            self.assert_refused(self.generate("--offered-load", load), "--offered-load")
        self.assert_refused(self.generate("--pods", "1", "--offered-load", "1"), "--offered-load", "seconds apart")
        self.assert_refused(self.generate("--nodes", "0"), "nodes")
        self.assert_refused(self.generate("--pods", "-5"), "pods")
        self.assert_refused(self.generate("--load", "nan"), "load")
        self.assert_refused(self.generate(model=self.root / "absent.json"), "absent.json")
        for text in ("", "{", "[]", "{}", '{"nodes": 1}'):
            self.assert_refused(self.generate(model=self.write("bad.json", text)), "bad.json")
        model = (SOURCE / "traces" / "models" / "openb-like.json").read_text(encoding="utf-8")
        (self.root / "own").mkdir()
        self.write("own/pods.csv", model)
        self.assert_error_line(self.generate(model=self.root / "own" / "pods.csv", out=self.root / "own"), 2, "pods.csv")
        self.assertEqual((self.root / "own" / "pods.csv").read_text(encoding="utf-8"), model)
        taken = self.write("taken", "mine")
        self.assert_error_line(self.generate(out=taken), 2, "taken")


if __name__ == "__main__":
    unittest.main()
