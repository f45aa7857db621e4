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
        for seed in ("-1", "18446744073709551616", "1.5", ""):
            self.assert_refused(self.generate("--seed", seed), "--seed", "from 0 to 2^64 - 1")
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
