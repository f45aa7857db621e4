"""The studies in scenarios/: each runs and gives the summary that is stored beside it, measured times left out.

After a change that is meant to change results: VGPUSIM=build/release/bin/vgpusim tests/cli/scenarios_test.py --store
"""

import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import OUTPUTS, QUICKSTART, SOURCE, CliTest, read_csv, untimed

FOLDER = SOURCE / "scenarios"
ALL = sorted(FOLDER.glob("*.json"))
STUDIES = [path for path in ALL if "study" not in json.loads(path.read_text())]
OF_MANY_RUNS = [path for path in ALL if path not in STUDIES]  # for vgpusim study
FEW = ["--seeds", "21..22", "--loads", "1.0", "--arrivals", "600"]


class ScenariosTest(CliTest):
    storing = False

    def summary_of(self, study, *more):
        """From the checkout's root, because the paths in a summary depend on where one stands."""
        self.assert_done(self.vgpusim("run", study.relative_to(SOURCE), "--out", self.out, *more, cwd=SOURCE))
        return untimed(self.summary())

    def test_each_gives_what_is_stored(self):
        self.assertGreaterEqual(len(STUDIES), 3)
        seen = set()
        for study in STUDIES:
            with self.subTest(study=study.name):
                summary = self.summary_of(study)
                stored = FOLDER / "expected" / study.name
                if self.storing:
                    stored.write_text(json.dumps(summary, indent=2) + "\n")
                self.assertEqual(summary, json.loads(stored.read_text()))
                expected = list(OUTPUTS)
                if "baseline" in json.loads(study.read_text()):
                    expected += ["baseline", *("baseline/" + name for name in OUTPUTS if name != "report.html")]
                self.assertEqual([name for name in self.present(self.out) if name not in seen], sorted(
                    name for name in expected if name not in seen))
                seen.update(expected)

    def test_nothing_else_is_stored(self):
        self.assertEqual([path.name for path in sorted((FOLDER / "expected").iterdir())],
                         [study.name for study in ALL])

    def test_each_study_of_many_runs_gives_what_is_stored(self):
        """With two seeds and few arrivals. Placements that a change moves show in the means of some policy."""
        self.assertGreaterEqual(len(OF_MANY_RUNS), 11)
        results = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for study in OF_MANY_RUNS:
            with self.subTest(study=study.name):
                fills = "arrival-only" in study.name  # its models say themselves when arrivals end
                few = ["--seeds", "21..22"] if fills else FEW
                result = self.vgpusim("study", study.relative_to(SOURCE), "--out", self.out, "--json", *few,
                                      cwd=SOURCE)
                self.assert_done(result)
                summary = untimed(result.stdout)
                kept = {"runs": summary["runs"], "policies": [policy["name"] for policy in summary["policies"]],
                        "cells": [{"model": cell["model"], "load": cell["load"],
                                   "accepted": {policy["policy"]: [policy["accepted_ratio"]["by_seed"],
                                                                   policy["accepted_memory_ratio"]["by_seed"]]
                                                for policy in cell["policies"]}} for cell in summary["cells"]]}
                stored = FOLDER / "expected" / study.name
                if self.storing:
                    stored.write_text(json.dumps(kept, indent=1) + "\n")
                self.assertEqual(kept, json.loads(stored.read_text()))
                self.assertEqual(self.present(self.out), ["study.csv", "study.json"])
                (results / study.stem).mkdir()
                shutil.copy(self.out / "study.json", results / study.stem)
        self.check_tables_of_mig(results)

    def check_tables_of_mig(self, results):
        """The script of docs/mig.md reads what studies write: it makes every table of them. The figure takes more than one load."""
        page = results / "mig.md"
        text = (SOURCE / "docs" / "mig.md").read_text(encoding="utf-8")
        names = re.findall(r"<!-- /([\w-]+) -->", text)
        self.assertGreaterEqual(len(names), 8)
        page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names), encoding="utf-8")
        run = subprocess.run([sys.executable, SOURCE / "studies" / "mig_tables.py", "--results", results, "--page", page,
                              "--figure", results / "mig.svg"], capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""), run.stderr)
        for name in names:
            self.assertRegex(page.read_text(encoding="utf-8"), rf"<!-- {name} -->\n(\||Seeds )")
        self.assertIn("| `compat:volcano` |", page.read_text(encoding="utf-8"))

    def test_each_is_named_after_its_question(self):
        for study in ALL:
            with self.subTest(study=study.name):
                scenario = json.loads(study.read_text())
                self.assertTrue(scenario["name"].endswith("?"))
                self.assertTrue(scenario["description"])
                self.assertEqual(scenario["out"], "out/" + study.stem)

    def said_by(self, study, *more):
        """What the command prints, once it is sure that the report and the summary say the same sentence."""
        result = self.vgpusim("run", study.relative_to(SOURCE), "--out", self.out, *more, cwd=SOURCE)
        self.assert_done(result)
        answer = self.summary()["answer"]
        self.assertIn(f"\n{answer}\n", result.stdout)
        self.assertIn(f'<p class="card answer">{answer}</p>', (self.out / "report.html").read_text(encoding="utf-8"))
        return answer

    def test_sharing_is_said_to_gain(self):
        """The sentence, and that each number in it is what the two runs' files say."""
        answer = self.said_by(FOLDER / "what-does-sharing-gain.json")
        said = re.fullmatch(r"Sharing gains \(mode hami_core against exclusive\): it serves ([\d.]+) % of all GPUs instead "
                            r"of ([\d.]+) %, ([\d.]+) times as much, and places (\d+) pods instead of (\d+)\.", answer)
        self.assertIsNotNone(said, answer)
        requested = {row["name"]: int(row["num_gpu"]) * int(row["gpu_milli"]) for row in read_csv(QUICKSTART / "pods.csv")}
        shares, counts = [], []
        for folder in (self.out, self.out / "baseline"):
            placed = [row["name"] for row in read_csv(folder / "pods.csv") if row["placed"] == "1"]
            shares.append(sum(requested[name] for name in placed) / 412_000)
            counts.append(len(placed))
            self.assertEqual(json.loads((folder / "summary.json").read_text())["gpu"]["served_ratio"], shares[-1])
        self.assertEqual([said[1], said[2]], [f"{100 * share:.2f}" for share in shares])
        self.assertEqual(said[3], f"{shares[0] / shares[1]:.1f}")
        self.assertEqual([int(said[4]), int(said[5])], counts)
        self.assertEqual(json.loads((self.out / "baseline" / "summary.json").read_text())["config"]["mode"], "exclusive")

    def test_what_does_not_gain_is_not_said_to(self):
        """The sentence is computed: without a share there is nothing to gain, and the other way round it loses."""
        study = FOLDER / "what-does-sharing-gain.json"
        self.assertIn("changes little (the same configuration)", self.said_by(study, "--mode", "exclusive"))
        turned = json.loads(study.read_text())
        turned.update(mode="exclusive", baseline={"mode": "hami_core"}, nodes=str(QUICKSTART / "nodes.csv"),
                      pods=str(QUICKSTART / "pods.csv"))
        result = self.vgpusim("run", self.write("turned.json", json.dumps(turned)), "--out", self.out)
        self.assertIn("The change loses (mode exclusive against hami_core): it serves 31.28 % of all GPUs instead of",
                      result.stdout)

    def test_how_full_is_said(self):
        """Mean and peak, not the empty end; against sums of our own over every event."""
        study = FOLDER / "how-full-is-the-cluster-when-pods-leave.json"
        answer = self.said_by(study, "--set", "sample_interval_s=0")
        said = re.fullmatch(r"The cluster is ([\d.]+) % full on average and ([\d.]+) % full at its peak, (\d+) s after the "
                            r"first arrival; running pods asked for ([\d.]+) % of it on average\. Until the last pod "
                            r"has arrived it is ([\d.]+) % full on average\.", answer)
        self.assertIsNotNone(said, answer)
        rows = [(float(row["time"]), int(row["allocated_milli"]), int(row["served_milli"])) for row in self.series()]
        span = rows[-1][0] - rows[0][0]
        mean, served = (sum(a[column] * (b[0] - a[0]) for a, b in zip(rows, rows[1:])) / span / 4120 for column in (1, 2))
        peak = max(rows, key=lambda row: row[1])
        self.assertEqual([said[1], said[2], said[4]], [f"{mean:.2f}", f"{peak[1] / 4120:.2f}", f"{served:.2f}"])
        self.assertEqual(int(said[3]), peak[0] - rows[0][0])
        with open(QUICKSTART / "pods.csv", encoding="utf-8") as pods:
            last_arrival = max(float(row["creation_time"]) for row in csv.DictReader(pods))
        until = sum(a[1] * (min(b[0], last_arrival) - a[0]) for a, b in zip(rows, rows[1:]) if a[0] < last_arrival)
        self.assertEqual(said[5], f"{until / (last_arrival - rows[0][0]) / 4120:.2f}")
        self.assertGreater(mean, 1)
        self.assertEqual(answer, self.said_by(study))  # how often a row is written changes nothing

    def test_a_baseline_is_compared_in_the_report(self):
        self.said_by(FOLDER / "what-does-sharing-gain.json")
        page = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("best_fit (baseline)", page)
        self.assertIn('id="comparison"', page)

    def test_a_baseline_s_file_may_not_replace_an_input(self):
        self.write("out/baseline/pods.csv", (QUICKSTART / "pods.csv").read_text())
        study = self.write("s.json", json.dumps({"nodes": str(QUICKSTART / "nodes.csv"), "pods": "out/baseline/pods.csv",
                                                 "baseline": {"mode": "exclusive"}}))
        self.assert_error_line(self.vgpusim("run", study, "--out", self.out), 2, "baseline/pods.csv", "not an input")


if __name__ == "__main__":
    if "--store" in sys.argv:
        sys.argv.remove("--store")
        ScenariosTest.storing = True
    unittest.main()
