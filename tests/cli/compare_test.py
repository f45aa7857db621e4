"""`vgpusim compare`: the same workload under several policies."""

import json
import re
import shutil
import statistics
import unittest

from support import DEFAULT_OUTPUTS, OUTPUTS, QUICKSTART, SOURCE, CliTest, untimed

POLICIES = ["best_fit", "spread", "weighted:fgd=0.7,binpack=0.3", "compat:fgd"]
COMPARED = ["compare.json", "report.html"]
RUN_FILES = ["pods.csv", "summary.json", "timeseries.csv"]
FOLDERS = ["best_fit", "spread", "weighted-fgd-0.7-binpack-0.3", "compat-fgd"]


class CompareTest(CliTest):
    def compare(self, *more, policies=tuple(POLICIES)):
        flags = [word for policy in policies for word in ("--policy", policy)]
        return self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", *flags,
                            "--out", self.out, *more)

    def test_files(self):
        self.assert_done(self.compare())
        expected = ["compare.json", "report.html", *FOLDERS]
        expected += [f"{folder}/{name}" for folder in FOLDERS for name in ("pods.csv", "summary.json", "timeseries.csv")]
        self.assertEqual(self.present(self.out), sorted(expected))

    def test_each_is_what_run_gives(self):
        self.assert_done(self.compare())
        for policy, folder in zip(POLICIES, FOLDERS):
            with self.subTest(policy=policy):
                alone = self.root / "alone"
                self.assert_done(self.run_quickstart("--policy", policy, out=alone))
                for name in ("pods.csv", "timeseries.csv"):
                    self.assertEqual((self.out / folder / name).read_bytes(), (alone / name).read_bytes())
                self.assertEqual(untimed((self.out / folder / "summary.json").read_text()),
                                 untimed((alone / "summary.json").read_text()))

    def test_compare_json_holds_the_summaries_in_the_order_given(self):
        result = self.compare("--json")
        self.assert_done(result)
        summaries = json.loads((self.out / "compare.json").read_text())
        self.assertEqual(json.loads(result.stdout), summaries)
        self.assertEqual([summary["policy"] for summary in summaries], POLICIES)
        for summary, folder in zip(summaries, FOLDERS):
            self.assertEqual(summary, json.loads((self.out / folder / "summary.json").read_text()))

    def test_the_table_and_who_wins_by_how_much(self):
        result = self.compare(policies=["spread", "best_fit"])
        self.assert_done(result)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^policy +GPUs accepted % +served % +allocation % +unusable GPUs +placed +failed +decisions/s$")
        self.assertEqual([line.split()[0] for line in lines[1:3]], ["spread", "best_fit"])
        summaries = {s["policy"]: s for s in json.loads((self.out / "compare.json").read_text())}
        ratio = {name: 100 * s["gpu"]["served_ratio"] for name, s in summaries.items()}
        accepted = {name: s["acceptance"] for name, s in summaries.items()}
        for line in lines[1:3]:
            name, _, served, allocation, _, placed, failed, _ = line.split()
            self.assertAlmostEqual(float(served), ratio[name], delta=0.0051)
            self.assertAlmostEqual(float(allocation), 100 * summaries[name]["gpu"]["allocation_ratio"], delta=0.0051)
            pods = summaries[name]["pods"]
            self.assertEqual((int(placed), int(failed)), (pods["placed"], pods["failed"]))
        won = re.search(r"^best_fit wins: it accepts ([\d.]+) percentage points of the GPUs asked for more than spread "
                        r"\(([\d.]+) GPUs\), on this one seed\.$", result.stdout, re.M)
        self.assertIsNotNone(won, result.stdout)
        for shown, key, scale in ((won[1], "accepted_gpu_ratio", 100), (won[2], "gpus_accepted", 1)):
            lead = scale * (accepted["best_fit"][key] - accepted["spread"][key])
            self.assertAlmostEqual(float(shown), lead, delta=0.051 if scale == 1 else 0.0051)
        self.assertIn(f"report: {self.out}/report.html", lines)

    def test_the_readme_shows_what_the_quickstart_prints(self):
        result = self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
                              "--policy", "bid_price", "--policy", "fgd", "--policy", "best_fit", "--seed", "42", "--out", self.out)
        self.assert_done(result)
        readme = (SOURCE / "README.md").read_text(encoding="utf-8")
        lines = result.stdout.splitlines()
        rate_begins = lines[0].index("decisions/s")
        for line in lines[:4]:
            self.assertIn(line[:rate_begins].rstrip(), readme)
        self.assertIn(next(line for line in lines if line.startswith("bid_price accepts")), readme)

    def test_opposite_weights_place_otherwise(self):
        placements = []
        for weight in ("1", "-1"):
            self.assert_done(self.vgpusim("run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
                                          "--policy", "weighted:fgd=" + weight, "--out", self.out))
            placements.append((self.out / "pods.csv").read_bytes())
        self.assertNotEqual(*placements)

    def test_a_draw(self):
        result = self.compare("--tune", "0.1", policies=["fgd", "best_fit"])
        self.assert_done(result)
        self.assertIn("All pods run under every policy, and none waits: no winner.", result.stdout)

    def test_a_small_lead_is_no_win(self):
        """best_fit is 0.29 points ahead here, and with another seed behind."""
        lists = self.root / "lists"
        self.assert_done(self.vgpusim("generate", SOURCE / "traces" / "models" / "quickstart.json", "--nodes", "16",
                                      "--load", "1.1", "--seed", "7", "--out", lists))
        result = self.vgpusim("compare", "--nodes", lists / "nodes.csv", "--pods", lists / "pods.csv", "--policy", "fgd",
                              "--policy", "best_fit", "--out", self.out)
        self.assert_done(result)
        self.assertNotIn("wins", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^best_fit accepts 0\.\d\d percentage points of the GPUs asked for more than fgd "
                                        r"\(0\.\d GPUs\)\. That is from one seed, where a lead below 1 point may be "
                                        r"chance: no winner\.$")

    def test_with_departures_the_mean_over_time_decides(self):
        result = self.compare("--departures", policies=["spread", "best_fit"])
        self.assert_done(result)
        self.assertRegex(result.stdout.splitlines()[0],
                         r"^policy +GPUs accepted % +mean served % +mean alloc % +peak alloc % +mean unusable +placed +failed +decis")
        with open(self.out / "best_fit" / "timeseries.csv", encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()[1:]]
        area = sum(int(a[3]) * (float(b[1]) - float(a[1])) for a, b in zip(rows, rows[1:]))
        mean = 100 * area / (float(rows[-1][1]) - float(rows[0][1])) / 412_000
        peak = 100 * max(int(row[3]) for row in rows) / 412_000
        _, _, served, allocated, at_peak, *_ = result.stdout.splitlines()[2].split()
        for shown, expected in ((served, mean), (allocated, mean), (at_peak, peak)):
            self.assertAlmostEqual(float(shown), expected, delta=0.0051)
        gpu = json.loads((self.out / "best_fit" / "summary.json").read_text())["gpu"]
        self.assertAlmostEqual(100 * gpu["served_ratio"], mean, places=9)
        self.assertAlmostEqual(100 * gpu["allocation_mean_ratio"], mean, places=9)
        self.assertAlmostEqual(100 * gpu["allocation_peak_ratio"], peak, places=9)
        self.assertIn(f"offered load   {gpu['offered_load']:.4f} of all GPUs in the ", result.stdout)

    def test_one_report_for_all(self):
        self.assert_done(self.compare())
        page = (self.out / "report.html").read_text(encoding="utf-8")
        for policy in POLICIES:
            self.assertIn(policy, page)

    def test_nothing_of_an_earlier_comparison_stays(self):
        """Folders of policies that are no longer compared, and the files of a run, lay beside the report."""
        lists = ["--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--out", self.out]
        self.assert_done(self.vgpusim("run", *lists))
        self.assert_done(self.compare(policies=["fgd", "random", "binpack"]))
        two = sorted([*COMPARED, *(f"{policy}/{name}" for policy in ("fgd", "random", "binpack") for name in RUN_FILES),
                      "fgd", "random", "binpack"])
        self.assertEqual(self.present(self.out), two)
        self.assert_done(self.compare(policies=["spread", "fgd"]))
        self.assertEqual(self.present(self.out), sorted(
            [*COMPARED, *(f"{policy}/{name}" for policy in ("fgd", "spread") for name in RUN_FILES), "fgd", "spread"]))
        self.assert_done(self.vgpusim("run", *lists))
        self.assertEqual(self.present(self.out), DEFAULT_OUTPUTS)

    def test_a_pipe_in_place_of_an_output_is_written_and_never_read(self):
        """The program looked for an earlier comparison in the pipe and waited there for ever."""
        for earlier in (False, True):
            for name in COMPARED:
                with self.subTest(name=name, earlier=earlier):
                    shutil.rmtree(self.out, ignore_errors=True)
                    arguments = ["compare", *self.inputs(), "--policy", "fgd", "--policy", "spread", "--out", self.out]
                    if earlier:
                        self.assert_done(self.vgpusim(*arguments))
                        (self.out / name).unlink()
                    self.out.mkdir(exist_ok=True)
                    done, received = self.vgpusim_into_pipe(self.out / name, *arguments)
                    self.assert_done(done)
                    self.assertTrue(received)
                    self.assertTrue((self.out / name).is_fifo())

    def test_what_is_not_ours_stays(self):
        """Only what says that a run has written it is removed."""
        self.assert_done(self.compare(policies=["fgd", "random"]))
        theirs = {"out/pods.csv": "name,x\n", "out/notes.txt": "x", "out/random/mine.csv": "x", "out/spread/pods.csv": "x",
                  "out/fgd.bak/summary.json": "{}", "out/summary.json": "{}"}
        for name, text in theirs.items():
            self.write(name, text)
        self.assert_done(self.vgpusim("run", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
                                      "--policy", "worst_fit", "--out", self.out / "worst_fit"))  # a run by itself
        self.assert_done(self.compare(policies=["best_fit", "binpack"]))
        self.assert_done(self.compare(policies=["best_fit", "spread"]))
        for name, text in theirs.items():
            if name != "out/spread/pods.csv":  # which the comparison has replaced
                self.assertEqual((self.root / name).read_text(), text)
        self.assertEqual(self.present(self.out / "worst_fit"), OUTPUTS)
        self.assertEqual(self.present(self.out / "random"), ["mine.csv"])
        self.assertFalse((self.out / "binpack").exists())
        self.assertFalse((self.out / "fgd").exists())

    def test_a_scenario_may_name_the_workload(self):
        path = self.write("s.json", json.dumps({"nodes": str(QUICKSTART / "nodes.csv"), "policy": "fgd", "tune": 0.5,
                                                "pods": str(QUICKSTART / "pods.csv")}))
        self.assert_done(self.vgpusim("compare", path, "--policy", "fgd", "--policy", "spread", "--out", self.out))
        for summary in json.loads((self.out / "compare.json").read_text()):
            self.assertEqual(summary["config"]["tune"], "0.5")


class CompareSeedsTest(CliTest):
    def compare(self, *more, seeds="5..9", out=None, policies=("best_fit", "spread", "random")):
        return self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv",
                            *[x for p in policies for x in ("--policy", p)], "--tune", "1.3", "--seeds", seeds,
                            "--out", out or self.out, *more)

    def test_figures_and_differences_are_those_of_single_runs(self):
        result = self.compare("--discipline", "easy", "--departures")
        self.assert_done(result)
        told = json.loads((self.out / "compare.json").read_text())
        self.assertEqual(self.present(self.out), ["compare.json", "report.html"])
        self.assertEqual(told["seeds"], [5, 6, 7, 8, 9])
        by_policy = {}
        for entry in told["policies"]:
            single = []
            for seed in told["seeds"]:
                self.assert_done(self.run_quickstart(
                    "--policy", entry["policy"], "--tune", "1.3", "--discipline", "easy", "--departures", "--seed",
                    seed, out=self.root / "single"))
                summary = json.loads((self.root / "single" / "summary.json").read_text())
                single.append({"served_ratio": summary["gpu"]["served_ratio"], "pods_placed": summary["pods"]["placed"],
                               "fragmentation_mean_milli": summary["fragmentation"]["mean_milli"],
                               "wait_mean_s": summary["wait_s"]["mean"],
                               "bounded_slowdown_mean": summary["bounded_slowdown"]["mean"]})
            for measure in single[0]:
                values = [run[measure] for run in single]
                self.assertEqual(entry[measure]["by_seed"], values)
                self.assertAlmostEqual(entry[measure]["mean"], statistics.fmean(values), 9)
                by_policy[entry["policy"], measure] = values
        self.assertEqual(len(told["differences"]), 18)
        for difference in told["differences"]:
            self.assertEqual(difference["against"], "best_fit")
            if (difference["policy"], difference["measure"]) not in by_policy:
                continue
            pairs = zip(by_policy["best_fit", difference["measure"]],
                        by_policy[difference["policy"], difference["measure"]])
            gaps = [second - first for first, second in pairs]
            half = 2.776445 * statistics.stdev(gaps) / 5 ** 0.5
            for key, expected in (("mean", statistics.fmean(gaps)), ("low_95", statistics.fmean(gaps) - half),
                                  ("high_95", statistics.fmean(gaps) + half)):
                self.assertAlmostEqual(difference[key], expected, delta=1e-6 * (1 + abs(expected)))
            holds_zero = difference["low_95"] <= 0 <= difference["high_95"]
            self.assertEqual(difference["shown"] == "no difference", holds_zero)
        self.assertIn("no difference shown", result.stdout)
        self.assertIn("seed 5 alone", (self.out / "report.html").read_text())

    def test_the_same_bytes_with_any_number_of_threads(self):
        written = []
        for jobs in ("1", "4"):
            out = self.root / jobs
            self.assert_done(self.compare("--jobs", jobs, out=out))
            written.append(untimed((out / "compare.json").read_text()))
        self.assertEqual(*written)

    def test_inputs_are_kept_and_that_is_said_before_anything_is_replayed(self):
        before = (QUICKSTART / "pods.csv").read_bytes()
        pods = self.write("compare.json", before)
        # conservative cannot plan shares of GPUs, which is found when the first run begins.
        result = self.vgpusim("compare", "--nodes", QUICKSTART / "nodes.csv", "--pods", pods, "--policy", "fgd", "--policy",
                              "spread", "--seeds", "1..2", "--discipline", "conservative", "--out", self.root)
        self.assertEqual(result.returncode, 2)
        self.assertIn("compare.json", result.stderr)
        self.assertNotIn("conservative", result.stderr)
        self.assertEqual((self.root / "compare.json").read_bytes(), before)
        self.assertEqual(self.present(), ["compare.json"])

    def test_what_has_no_effect_is_refused(self):
        lists = ["--nodes", QUICKSTART / "nodes.csv", "--pods", QUICKSTART / "pods.csv", "--policy", "fgd", "--out", self.out]
        for flags in (["--seeds", "1..2", "--seed", "5"], ["--seeds", "1..2", "--trace"], ["--jobs", "2"]):
            self.assert_refused(self.vgpusim("compare", *lists, *flags), flags[-2] if flags[-1].isdigit() else flags[-1])

    def test_a_difference_and_its_interval_have_one_sign(self):
        self.assert_done(self.compare(policies=("best_fit", "worst_fit")))
        words = json.loads((self.out / "compare.json").read_text())
        shown = self.compare(policies=("best_fit", "worst_fit"), out=self.root / "again").stdout
        found = re.findall(r"(?:better|worse) than best_fit by ([\d.]+) \(95 % interval (-?[\d.]+) to (-?[\d.]+)\)", shown)
        self.assertTrue(found and words, shown)
        for difference, low, high in found:
            self.assertTrue(0 <= float(low) <= float(difference) <= float(high), shown)

    def test_bad_seeds(self):
        for seeds in ("5..3", "a..b", "7", "1..1001", "5..5"):
            self.assert_refused(self.compare(seeds=seeds), "--seeds", f"'{seeds}'")
        self.assert_refused(self.vgpusim("compare", "--nodes", "-", "--pods", "p.csv", "--policy", "fgd", "--policy",
                                         "spread", "--seeds", "1..2", "--out", self.out), "nodes", "every seed")
        self.assert_refused(self.compare(policies=["fgd", "x"]), "'x'")


if __name__ == "__main__":
    unittest.main()
