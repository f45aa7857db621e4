#!/usr/bin/env python3
"""Runs what docs/bid-price.md reports of demand that changes, and writes the tables of that section.

    python3 studies/changing_demand.py [--vgpusim PROGRAM] [--results FOLDER] [--jobs N] [--seeds FIRST..LAST] [--run [INPUT …]]

Without --run the results of an earlier run in FOLDER are taken; with it, what is in FOLDER is not run again. First all runs
in which pods are lost are made, then those in which they wait; the tables have the seeds whose runs are all there. INPUT is one or more of
the names in changing_inputs.py; without any, all are run. openb's lists are looked for in $VGPUALLOC_TRACES.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics

import changing_inputs as inputs
from page_tables import STUDENT, paired, table, with_table
from running import call, run_all

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "bid-price.md"
OURS = "bid_price"
POLICIES = {OURS: [], "bid_price, prices=lp": ["--set", "prices=lp"], "dual_price": [],
            "dual_price, learned": ["--set", "price_demand=learned"], "compat:fgd": [], "fgd": [], "best_fit": [], "ssp": []}
DISCIPLINES = ["try_once", "fifo"]  # pods are lost, pods wait
SIZES = {"below 1": (0, 1), "1": (1, 2), "2 to 3": (2, 4), "4 to 7": (4, 8), "8": (8, 9)}
# By measure: its title, its decimals, and 1 where more is better.
MEASURES = {"accepted_gpus": ("GPUs accepted, points", 2, 1), "accepted": ("pods accepted, points", 2, 1),
            "allocated": ("allocated, points", 2, 1), "wait_s": ("mean wait, s", 0, -1)}


# Running.


def measured(list_rows, run_rows, cluster_gpus, discipline, begin_s):
    """Of the pods that arrive after the warm-up: accepted ones and their GPUs, in all and by size, or the wait of those that started.
    Allocated is the part of all GPUs from then until the last arrival."""
    requested = {row["name"]: inputs.gpus_of(row) for row in list_rows}
    runs = [(float(row["arrival_s"]), row["placed"] == "1", requested[row["name"]], row) for row in run_rows]
    counted = [run for run in runs if run[0] >= begin_s]
    if discipline == "fifo":
        return {"wait_s": statistics.fmean(float(row["start_s"]) - arrival_s for arrival_s, placed, _, row in counted if placed)}
    end_s = max(run[0] for run in runs)
    placed_pods = [(float(row["start_s"]), float(row["end_s"]) - float(row["start_s"]), gpus) for _, placed, gpus, row in runs if placed]
    result = {"accepted": 100 * statistics.fmean(placed for _, placed, *_ in counted),
              "accepted_gpus": accepted_gpus(counted),
              "allocated": 100 * inputs.present(placed_pods, begin_s, end_s) / cluster_gpus, "accepted_gpus_by_size": {}}
    for size, (least, below) in SIZES.items():
        of_size = [run for run in counted if least <= run[2] < below and run[2] > 0]
        if of_size:
            result["accepted_gpus_by_size"][size] = accepted_gpus(of_size)
    return result


def accepted_gpus(runs):
    return 100 * sum(gpus for _, placed, gpus, _ in runs if placed) / sum(gpus for _, _, gpus, _ in runs)


def results_of(results, name, seed, discipline):
    return results / f"{name}-{seed}-{discipline}.json"


def loaded(path):
    """By policy, what was measured with one list in one discipline."""
    return json.loads(path.read_text()) if path.exists() else {}


class study:
    def __init__(self, program, results, traces):
        self.program, self.results = program, results
        self.nodes, self.listed = inputs.read(traces / inputs.NODES), inputs.read(traces / inputs.PODS)

    def run(self, name, seed, discipline):
        """All policies with one list: a file of results, written after each run."""
        path = results_of(self.results, name, seed, discipline)
        values = loaded(path)
        if values.keys() >= POLICIES.keys():
            return
        folder = self.results / f"scratch-{path.stem}"
        folder.mkdir(parents=True, exist_ok=True)
        step, pods_by = inputs.INPUTS[name]
        nodes = inputs.every(self.nodes, step)
        gpus = sum(int(node["gpu"]) for node in nodes)
        pods, begin_s = pods_by(gpus, seed, self.listed)
        inputs.write(folder / "nodes.csv", nodes, nodes[0].keys())
        inputs.write(folder / "pods.csv", pods, inputs.POD_KEYS)
        for policy, settings in POLICIES.items():
            if policy not in values:
                self.call("--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv", "--departures", "--policy", policy.split(",")[0],
                          *settings, "--discipline", discipline, "--sample-interval-s", 3600, "--out", folder / "out")
                values[policy] = measured(pods, inputs.read(folder / "out" / "pods.csv"), gpus, discipline, begin_s)
                path.write_text(json.dumps(values, indent=1) + "\n")
        shutil.rmtree(folder)

    def call(self, *arguments):
        call(self.program, "run", *arguments)


# Tables.


def values_of(results, name, seeds):
    """By policy and measure, the values by seed, of the seeds whose results are complete."""
    values = {(policy, measure): [] for policy in POLICIES for measure in MEASURES}
    for discipline in DISCIPLINES:
        for seed in seeds:
            of_list = loaded(results_of(results, name, seed, discipline))
            if of_list.keys() >= POLICIES.keys():
                for policy, measure in values:
                    if measure in of_list[policy]:
                        values[policy, measure].append(of_list[policy][measure])
    return values


def mean(values, places):
    return f"{statistics.fmean(values):.{places}f}" if values else "–"


def named(policy):
    policy, _, prices = policy.partition(", ")
    name = f"`{policy}`" + (f", {'`prices=lp`' if '=' in prices else prices}" if prices else "")
    return f"**{name}**" if name == f"`{OURS}`" else name


def difference(mine, theirs, places, better):
    """An interval takes two seeds."""
    return marked(*paired(mine, theirs), places, better) if len(mine) > 1 else "–"


def overall(of_inputs, places, better):
    """The mean of the inputs, each with its own mean and variance; degrees of freedom by Welch and Satterthwaite, rounded down."""
    differences = [[a - b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in of_inputs]
    if any(len(of_input) < 2 for of_input in differences):
        return "–"
    parts = [(statistics.variance(of_input) / len(of_input), len(of_input) - 1) for of_input in differences]
    variance, weakest = sum(part for part, _ in parts), sum(part**2 / degrees for part, degrees in parts)
    degrees = min(max(STUDENT), max(1, int(variance**2 / weakest))) if weakest > 0 else 1
    half = STUDENT[degrees] * math.sqrt(variance) / len(differences)
    return marked(statistics.fmean(statistics.fmean(of_input) for of_input in differences), half, places, better)


def marked(mean_difference, half, places, better):
    """Bold where bid_price is better by more than the interval, italic where it is worse."""
    text = f"{mean_difference:+.{places}f} ± {half:.{places}f}"
    if abs(mean_difference) <= half:
        return text
    return f"**{text}**" if mean_difference * better > 0 else f"*{text}*"


def values_table(values):
    rows = []
    for policy in POLICIES:
        rows.append([named(policy), *(f"{mean(of_input[policy, 'accepted_gpus'], 2)} / {mean(of_input[policy, 'wait_s'], 0)}"
                                      for of_input in values.values())])
    rows.append(["seeds", *(" / ".join(str(len(of_input[OURS, measure])) for measure in ("accepted_gpus", "wait_s"))
                            for of_input in values.values())])
    return table(["policy", *values], rows)


def differences_table(values):
    """Without the measures that no input has two seeds of."""
    rows = []
    for measure, (title, places, better) in MEASURES.items():
        if all(len(of_input[OURS, measure]) < 2 for of_input in values.values()):
            continue
        for policy in POLICIES:
            if policy != OURS:
                pairs = [(of_input[OURS, measure], of_input[policy, measure]) for of_input in values.values()]
                rows.append([title, named(policy), *(difference(*pair, places, better) for pair in pairs), overall(pairs, places, better)])
    return table(["measure", "`bid_price` minus", *values, "all inputs"], rows)


def written(page, values):
    page = with_table(page, "changing-values", values_table(values))
    return with_table(page, "changing-differences", differences_table(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vgpusim", default=str(ROOT / "build" / "release" / "bin" / "vgpusim"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "changing-demand")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", default="91..94", help="FIRST..LAST, at least two")
    parser.add_argument("--run", nargs="*", choices=inputs.INPUTS, metavar="INPUT", help="run these inputs first; without any, all")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    chosen = parser.parse_args()
    first, last = map(int, chosen.seeds.split(".."))
    seeds, results = range(first, last + 1), chosen.results.resolve()
    if chosen.run is not None:
        traces = pathlib.Path(os.environ.get("VGPUALLOC_TRACES", "")).resolve()
        if not (traces / inputs.PODS).exists():
            raise SystemExit(f"changing_demand: {inputs.PODS} is not there; set VGPUALLOC_TRACES to the folder that has it")
        running = study(str(pathlib.Path(chosen.vgpusim).resolve()), results, traces)
        run_all(chosen.jobs, [(running.run, name, seed, discipline) for discipline in DISCIPLINES for seed in seeds
                              for name in chosen.run or inputs.INPUTS])
    values = {name: values_of(results, name, seeds) for name in inputs.INPUTS}
    if not any(of_seeds for of_input in values.values() for of_seeds in of_input.values()):
        raise SystemExit(f"changing_demand: no results in {results}; run it with --run")
    chosen.page.write_text(written(chosen.page.read_text(), values))


if __name__ == "__main__":
    main()
