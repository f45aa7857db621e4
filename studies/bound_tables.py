#!/usr/bin/env python3
"""Measures what part of the possible each policy reaches in a steady state, and writes the table of docs/bound.md.

    python3 studies/bound_tables.py [--vgpusim PROGRAM] [--results FOLDER] [--run]

Without --run the results of an earlier run in FOLDER are taken. The workload is that of the steady state in docs/price-policy.md
(traces/models/openb-like.json with exponential lifetimes), with fewer pods.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

from page_tables import table, with_table
from price_runs import steady_model

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "bound.md"
POLICIES = ["fgd", "compat:fgd", "dual_price", "bid_price"]
LOADS = ["0.9", "1.0", "1.1"]
SEEDS = [101, 102]
PODS = 60_000
RESULT = "bound-steady.json"


def run(program, folder, *arguments):
    done = subprocess.run([program, *map(str, arguments)], cwd=folder, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bound_tables: exit code {done.returncode}: vgpusim {' '.join(map(str, arguments))}")
    return done.stdout


def measured(program, folder):
    rows = []
    (folder / "model.json").write_text(json.dumps(steady_model(), indent=1) + "\n")
    for load in LOADS:
        for seed in SEEDS:
            run(program, folder, "generate", "model.json", "--pods", PODS, "--offered-load", load, "--seed", seed, "--out", "lists")
            for policy in POLICIES:
                row = {"load": load, "seed": seed, "policy": policy}
                for discipline in ("try_once", "fifo"):
                    summary = json.loads(run(program, folder, "run", "--nodes", "lists/nodes.csv", "--pods", "lists/pods.csv",
                                             "--departures", "--policy", policy, "--discipline", discipline, "--bound",
                                             "--sample-interval-s", 3600, "--out", "scratch", "--json"))
                    row[discipline] = summary["bound"]["steady"]
                    print(f"bound_tables: load {load}, seed {seed}, {policy}, {discipline}", file=sys.stderr)
                rows.append(row)
            (folder / RESULT).write_text(json.dumps(rows, indent=1) + "\n")
    shutil.rmtree(folder / "lists")
    shutil.rmtree(folder / "scratch")


def steady_table(rows):
    lines = []
    for load in dict.fromkeys(row["load"] for row in rows):
        for policy in dict.fromkeys(row["policy"] for row in rows):
            of_cell = [row for row in rows if (row["load"], row["policy"]) == (load, policy)]

            def mean(read):
                return statistics.fmean(read(row) for row in of_cell)

            blind = [row["try_once"]["accepted_gpus_blind"] for row in of_cell]
            possible = statistics.fmean(min(1, bound["ratio"] + bound["luck_ratio"]) for bound in blind)
            wait, least = mean(lambda row: row["fifo"]["wait_s"]["achieved_mean"]), mean(lambda row: row["fifo"]["wait_s"]["mean"])
            lines.append([load, f"`{policy}`", f"{100 * statistics.fmean(bound['achieved'] for bound in blind):.2f}",
                          f"{100 * possible:.2f}", f"{100 * statistics.fmean(bound['achieved_ratio'] for bound in blind):.2f}",
                          f"{100 * mean(lambda row: row['try_once']['served']['achieved_ratio']):.2f}",
                          f"{wait:,.0f}", f"{least:,.0f}", f"{100 * least / wait:.0f}" if wait > 0 else "100"])
    return table(["load", "policy", "GPUs accepted, %", "possible, %", "reached, %", "served, % of the possible", "mean wait, s",
                  "at least, s", "unavoidable, %"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vgpusim", default=str(ROOT / "build" / "release" / "bin" / "vgpusim"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "bound")
    parser.add_argument("--run", action="store_true", help="run first")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    chosen = parser.parse_args()
    folder = chosen.results.resolve()
    if chosen.run:
        folder.mkdir(parents=True, exist_ok=True)
        measured(str(pathlib.Path(chosen.vgpusim).resolve()), folder)
    if not (folder / RESULT).exists():
        raise SystemExit(f"bound_tables: no results in {folder}; run it with --run")
    chosen.page.write_text(with_table(chosen.page.read_text(), "steady", steady_table(json.loads((folder / RESULT).read_text()))))


if __name__ == "__main__":
    main()
