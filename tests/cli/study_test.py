"""vgpusim study: policies x pod lists x seeds at every load."""

import json
import statistics
import unittest
from collections import defaultdict

from support import NODES, NODES_HEADER, PODS, PODS_HEADER, QUICKSTART, SOURCE, CliTest, read_csv, untimed

METRICS = ["allocation_ratio", "unallocated_ratio", "served_ratio", "fragmentation_milli", "fragmentation_ratio",
           "fragmentation_of_all_ratio", "active_nodes", "active_gpus"]
MODEL = SOURCE / "scenarios" / "mig-models" / "a100-uniform.json"
POLICIES = ["fgd", "random", "weighted:fgd=0.7,binpack=0.3"]


class StudyTest(CliTest):
    def study(self, *more, policies=POLICIES, pods=None, seeds="5..7", out=None):
        lists = pods or [QUICKSTART / "pods.csv"]
        return self.vgpusim("study", "--nodes", QUICKSTART / "nodes.csv", *[x for p in lists for x in ("--pods", p)],
                            *[x for p in policies for x in ("--policy", p)], "--seeds", seeds, "--tune", "1.3",
                            "--out", out or self.out, *more)

    def curves_of_run(self, policy, seed):
        """By whole percent of load and metric the mean over the events of one run, from its timeseries.csv."""
        out = self.root / "run"
        self.assert_done(self.run_quickstart("--policy", policy, "--seed", seed, "--tune", "1.3", out=out))
        gpus = json.loads((out / "summary.json").read_text())["gpu"]["count"]
        bins = defaultdict(list)
        for row in read_csv(out / "timeseries.csv"):
            bins[round(int(row["arrived_milli"]) / gpus / 10)].append(row)
        total = 1000 * gpus
        return {pct: {"allocation_ratio": statistics.fmean(int(r["allocated_milli"]) for r in rows) / total,
                      "fragmentation_milli": statistics.fmean(float(r["fragmentation_milli"]) for r in rows),
                      "fragmentation_ratio": statistics.fmean(float(r["fragmentation_pct"]) for r in rows) / 100,
                      "active_gpus": statistics.fmean(int(r["used_gpus"]) for r in rows)}
                for pct, rows in bins.items()}

    def test_the_table_is_what_single_runs_say(self):
        self.assert_done(self.study())
        rows = read_csv(self.out / "study.csv")
        self.assertEqual(list(rows[0]), ["policy", "list", "load_pct", "metric", "mean", "sd", "n"])
        self.assertEqual({r["policy"] for r in rows}, set(POLICIES))
        self.assertEqual([r["metric"] for r in rows[:8]], METRICS)
        for policy in POLICIES:
            runs = [self.curves_of_run(policy, seed) for seed in (5, 6, 7)]
            compared = 0
            for row in rows:
                values = [run.get(int(row["load_pct"]), {}).get(row["metric"]) for run in runs]
                if row["policy"] != policy or None in values:
                    continue
                compared += 1
                self.assertEqual(row["n"], "3")
                digits = 4 if row["metric"] in ("fragmentation_milli", "active_gpus") else 5
                self.assertAlmostEqual(float(row["mean"]), statistics.fmean(values), digits, row)
                self.assertAlmostEqual(float(row["sd"]), statistics.stdev(values), digits, row)
            self.assertGreater(compared, 100)

    def test_the_same_bytes_with_any_number_of_threads(self):
        other = self.write("other.csv", (QUICKSTART / "pods.csv").read_bytes())
        written = []
        for jobs in ("1", "4", "33"):
            out = self.root / jobs
            self.assert_done(self.study("--jobs", jobs, pods=[QUICKSTART / "pods.csv", other], out=out))
            written.append(((out / "study.csv").read_bytes(), untimed((out / "study.json").read_text())))
        self.assertEqual(written[0], written[1])
        self.assertEqual(written[0], written[2])

    def test_the_summary_says_what_was_replayed(self):
        result = self.study("--json", seeds="5..5")
        self.assert_done(result)
        self.assertEqual(result.stdout, (self.out / "study.json").read_text())
        summary = json.loads(result.stdout)
        self.assertEqual(summary["runs"], 3)
        self.assertEqual(summary["policies"], POLICIES)
        self.assertEqual(summary["config"]["seeds"], "5..5")
        self.assertEqual([f["path"] for f in summary["inputs"]],
                         [str(QUICKSTART / "nodes.csv"), str(QUICKSTART / "pods.csv")])
        self.assertEqual({h["load_pct"] for h in summary["headlines"]}, {130})
        self.assertEqual({r["sd"] for r in read_csv(self.out / "study.csv")}, {""})  # of one seed there is none

    def test_a_scenario_holds_a_study_and_flags_override_it(self):
        path = self.write("study.json", json.dumps(
            {"name": "n", "nodes": "nodes.csv", "tune": 1.3,
             "study": {"policies": ["fgd", "best_fit"], "pods": ["pods.csv"], "seeds": "1..2"}}))
        self.inputs()
        self.assert_done(self.vgpusim("study", path, "--out", self.out))
        self.assertEqual(json.loads((self.out / "study.json").read_text())["runs"], 4)
        self.assert_done(self.vgpusim("study", path, "--seeds", "1..5", "--policy", "spread", "--out", self.out))
        self.assertEqual(json.loads((self.out / "study.json").read_text())["runs"], 5)
        self.assert_error_line(self.vgpusim("run", path), 2, "study", "vgpusim study")
        self.assert_error_line(self.vgpusim("compare", path, "--policy", "fgd", "--policy", "spread"), 2, "study")

    def test_the_paper_s_scenario_has_its_1020_runs(self):
        study = json.loads((SOURCE / "scenarios" / "studies" / "fgd-paper.json").read_text())["study"]
        self.assertEqual((len(set(study["policies"])), len(set(study["pods"])), study["seeds"]), (6, 17, "42..51"))

    def test_bad_scenarios(self):
        self.inputs()
        good = {"policies": ["fgd"], "pods": ["pods.csv"], "seeds": "1..2"}
        for study, *words in (([], "study", ":1:"), ({**good, "seeds": "5..3"}, "study.seeds", "5..3"),
                              ({**good, "seeds": 42}, "study.seeds", "42"), ({**good, "policies": "fgd"}, "policies"),
                              ({**good, "pods": [1]}, "study.pods", "1"), ({**good, "lists": []}, "lists"),
                              ({**good, "policies": []}, "--policy"), ({**good, "policies": ["x"]}, "'x'", "fgd"),
                              ({**good, "pods": ["gone.csv"]}, "gone.csv")):
            with self.subTest(study=study):
                path = self.write("bad.json", json.dumps({"nodes": "nodes.csv", "study": study}))
                self.assert_refused(self.vgpusim("study", path, "--out", self.out), *words)
        path = self.write("bad.json", json.dumps({"nodes": "nodes.csv", "departures": True, "study": good}))
        self.assert_refused(self.vgpusim("study", path, "--out", self.out), "departures", "true")
        path = self.write("bad.json", json.dumps({"nodes": "nodes.csv", "baseline": {"tune": 1}, "study": good}))
        self.assert_refused(self.vgpusim("study", path, "--out", self.out), "baseline")

    def test_bad_flags(self):
        for seeds in ("5..3", "a..b", "1", "..", "1..", "1..1001", "1..2..3", "0..18446744073709551615"):
            self.assert_refused(self.study(seeds=seeds), "--seeds", f"'{seeds}'")
        for jobs in ("0", "-1", "x", "1025"):
            self.assert_refused(self.study("--jobs", jobs), "--jobs", jobs)
        self.assert_refused(self.study(policies=["fgd", "fgd"]), "--policy", "'fgd'")
        self.assert_refused(self.study(policies=["nonsense"]), "'nonsense'")
        self.assert_refused(self.study(pods=[QUICKSTART / "pods.csv"] * 2), "--pods", "pods.csv")
        self.assert_refused(self.study("--mode", "mig"), "mode", "'mig'")
        self.assert_refused(self.study("--tune", "x"), "tune")
        self.assert_refused(self.vgpusim("study", "--out", self.out), "nodes")
        self.assert_refused(self.study(seeds="1..1000", policies=[f"weighted:fgd=0.{i}" for i in range(1, 102)]),
                            "--seeds", "101000")

    def test_bad_lists(self):
        cpu = self.write("cpu.csv", PODS_HEADER + "a,1,1,0,0\n")
        self.assert_refused(self.study(pods=[QUICKSTART / "pods.csv", cpu]), "cpu.csv", "tune")
        bad = self.write("bad.csv", PODS_HEADER + "a,1,1,x,0\n")
        self.assert_refused(self.study(pods=[QUICKSTART / "pods.csv", bad]), "bad.csv", "num_gpu", "'x'")

    def test_a_folder_holds_the_files_of_one_run_or_study(self):
        self.assert_done(self.run_quickstart("--policy", "fgd"))
        self.write("out/mine.txt", "mine")
        self.assert_done(self.study(policies=["fgd"]))
        self.assertEqual(self.present(self.out), ["mine.txt", "study.csv", "study.json"])
        self.assert_done(self.run_quickstart("--policy", "fgd"))
        self.assertEqual(self.present(self.out),
                         ["mine.txt", "pods.csv", "report.html", "summary.json", "timeseries.csv"])

    def test_no_output_replaces_a_list(self):
        self.write("study.csv", PODS)
        nodes = self.write("nodes.csv", NODES)
        result = self.vgpusim("study", "--nodes", nodes, "--pods", self.root / "study.csv", "--policy", "fgd", "--out",
                              self.root)
        self.assert_error_line(result, 2, "study.csv")
        self.assertEqual((self.root / "study.csv").read_text(), PODS)

    def test_no_output_replaces_what_a_policy_of_a_study_of_models_reads(self):
        self.write("study.csv", "{}")
        policy = {"name": "dual_price", "policy": "dual_price", "set": {"prices": str(self.root / "study.csv")}}
        scenario = {"format": "model", "study": {"policies": [policy], "pods": [str(MODEL)], "arrivals": 10}}
        result = self.vgpusim("study", self.write("scenario.json", json.dumps(scenario)), "--seeds", "1..1", "--out", self.root)
        self.assert_error_line(result, 2, "study.csv is not an input")
        self.assertEqual((self.root / "study.csv").read_text(), "{}")

    def test_prices_of_other_devices_are_warned_of_once(self):
        device = {"model": "other", "mode": "hami_core", "memory_mib": 1, "compute": 100, "idle": 1, "premium": 0, "parts": []}
        prices = self.write("given.json", json.dumps({"cpu_milli_per_gpu": 1, "devices": [device]}))
        policies = [{"name": name, "policy": "dual_price"} for name in ("a", "b")]
        models = {"format": "model", "prices": str(prices),
                  "study": {"policies": policies, "pods": [str(MODEL)], "arrivals": 10, "loads": [0.5, 0.6]}}
        lists = {"nodes": str(QUICKSTART / "nodes.csv"), "prices": str(prices),
                 "study": {"policies": ["dual_price", "fgd"], "pods": [str(QUICKSTART / "pods.csv")]}}
        for scenario in (models, lists):
            result = self.vgpusim("study", self.write("scenario.json", json.dumps(scenario)), "--seeds", "1..2", "--out", self.out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count("warning"), 1, result.stderr)
            self.assertIn("given.json", result.stderr)

    def test_names_of_policies_are_shown_as_printable_text(self):
        scenario = {"format": "model", "study": {"policies": [{"name": "a\u001b[1mb", "policy": "best_fit"}],
                                                 "pods": [str(MODEL)], "arrivals": 10}}
        result = self.vgpusim("study", self.write("scenario.json", json.dumps(scenario)), "--seeds", "1..1", "--out", self.out)
        self.assert_done(result)
        self.assertNotIn("\x1b", result.stdout)

    def test_a_cluster_without_gpus_has_no_loads(self):
        nodes = self.write("nodes.csv", NODES_HEADER + "n,1000,1000,0,\n")
        pods = self.write("pods.csv", PODS_HEADER + "a,1,1,0,0\n")
        self.assert_done(self.vgpusim("study", "--nodes", nodes, "--pods", pods, "--policy", "fgd", "--out", self.out))
        self.assertEqual(read_csv(self.out / "study.csv"), [])


if __name__ == "__main__":
    unittest.main()
