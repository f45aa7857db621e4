#!/usr/bin/env python3
"""Runs what docs/price-policy.md reports, and writes the tables of that page and its figure docs/price-policy.svg.

    python3 studies/price_tables.py [--vgpusim PROGRAM] [--results FOLDER] [--jobs N] [--run [PART …]]

Without --run the results of an earlier run in FOLDER are taken. A table is made when all results that it needs are there and the
page has a place for it; otherwise it is left as it is. PART is one or more of filling, scarce, bounds, departures, steady, modes, time; without any, all are
run. openb's lists are looked for by vgpusim, in $VGPUALLOC_TRACES or in the folder of `vgpusim fetch`; scarce makes lists of its own
of the default list in $VGPUALLOC_TRACES.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from page_tables import mean_or_dash, paired, table, with_table
from price_figure import drawn

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "price-policy.md"
FIGURE = ROOT / "docs" / "price-policy.svg"
MODEL = ROOT / "traces" / "models" / "openb-like.json"

NODES = "openb_node_list_gpu_node.csv"
LISTS = ["default", "gpushare40", "multigpu20", "gpuspec10", "cpu050", "cpu100"]
BASELINE, OURS = "compat:fgd", "dual_price"
LEARNED = "dual_price, learned"
FILLING = ["compat:fgd", "fgd", "best_fit", OURS]
TUNING, FRESH = "42..46", "47..51"  # seeds that parameters were chosen by, and others
KNOWN_FEEDS, LEARNED_FEEDS = "feeds", "feeds-learned"

# Variants of the default list that want more CPU: the CPU of pods with GPUs times the first number, pods without GPUs times the second.
SCARCE = {"gpu-pods-x1.2": (1.2, 1), "gpu-pods-x1.5": (1.5, 1), "gpu-pods-x2": (2, 1), "gpu-pods-x3": (3, 1), "cpu-pods-x2": (1, 2),
          "cpu-pods-x3": (1, 3)}

TUNES = ["1.5", "2"]
STEADY = [OURS, "weighted:dual_price=0.5,fgd=0.5", BASELINE, "fgd", "best_fit"]
LOADS = ["0.9", "1.0", "1.1"]
STEADY_SEEDS = range(1, 6)
STEADY_PODS = 60_000
MEAN_DURATION_S = 3600
# What is measured in a steady state, with its decimals: accepted pods, and pods weighted by the GPUs that they ask for.
STEADY_MEASURES = {"accepted": ("pods accepted, %", 3), "accepted_gpus": ("GPUs accepted, %", 3), "allocated": ("allocated, %", 3),
                   "wait_s": ("wait, s", 0)}

MIXES = ["mig-uniform", "mig-small", "mig-big", "mig-bimodal", "mig-mid", "mig-mixed-vendor"]
IN_MIXES = ["best_fit", "fgd", OURS, "ssp"]
MIX_SEEDS, MIX_ARRIVALS = "21..30", 30_000

TIMED = {"fgd": ["--policy", "fgd"], BASELINE: ["--policy", BASELINE], OURS: ["--policy", OURS],
         LEARNED: ["--policy", OURS, "--set", "price_demand=learned"]}
GIVEN = "dual_price, --prices"
REPEATS = 15
SOLUTIONS = 30  # of a run that learns: the default list tuned to 1.3 has 10,866 arrivals


def pods_of(name):
    return f"openb_pod_list_{name}.csv"


def seeds_of(text):
    first, last = text.split("..")
    return range(int(first), int(last) + 1)


def loaded(path):
    return json.loads(path.read_text()) if path.exists() else None


def default_list():
    path = pathlib.Path(os.environ.get("VGPUALLOC_TRACES", "")).resolve() / pods_of("default")
    if not path.exists():
        raise SystemExit(f"price_tables: scarce makes its lists of {path.name}; set VGPUALLOC_TRACES to the folder that has it")
    return path


# Running.


class runner:
    def __init__(self, program, results, jobs):
        self.program, self.results, self.jobs = program, results, str(jobs)

    def call(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.results, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"price_tables: exit code {done.returncode}: vgpusim {' '.join(map(str, arguments))}")
        return done.stdout

    def summary(self, *arguments):
        """Of a run, whose other files are of no use here."""
        return json.loads(self.call("run", *arguments, "--out", "scratch", "--json"))

    def filling(self):
        lists = [argument for name in LISTS for argument in ("--pods", pods_of(name))]
        policies = [argument for policy in FILLING for argument in ("--policy", policy)]
        scenario = {"nodes": NODES, "tune": 1.3, "price_demand": "learned",
                    "study": {"policies": [OURS], "pods": [pods_of(name) for name in LISTS]}}
        (self.results / "learned.json").write_text(json.dumps(scenario, indent=2) + "\n")
        for seeds in (TUNING, FRESH):
            self.call("study", "--nodes", NODES, *lists, *policies, "--tune", 1.3, "--seeds", seeds, "--jobs", self.jobs,
                      "--out", f"filling-{seeds}")
            self.call("study", "learned.json", "--seeds", seeds, "--jobs", self.jobs, "--out", f"learned-{seeds}")
        # A study gives means; the single feeds come from compare.
        seeds = f"{seeds_of(TUNING)[0]}..{seeds_of(FRESH)[-1]}"
        for name in LISTS:
            for folder, demand in ((KNOWN_FEEDS, "known"), (LEARNED_FEEDS, "learned")):
                self.call("compare", "--nodes", NODES, "--pods", pods_of(name), "--tune", 1.3, "--seeds", seeds,
                          "--policy", BASELINE, "--policy", OURS, "--set", f"price_demand={demand}", "--jobs", self.jobs,
                          "--out", f"{folder}/{name}")

    def scarce(self):
        with open(default_list(), newline="") as file:
            pods = list(csv.DictReader(file))
        for name, (of_cpu, of_pods) in SCARCE.items():
            with open(self.results / pods_of(name), "w", newline="") as file:
                writer = csv.DictWriter(file, pods[0].keys())
                writer.writeheader()
                for pod in pods:
                    if int(pod["num_gpu"]) > 0:
                        writer.writerow(pod | {"cpu_milli": int(int(pod["cpu_milli"]) * of_cpu)})
                        continue
                    for copy in range(of_pods):
                        writer.writerow(pod | {"name": f"{pod['name']}-{copy}"})
        lists = [str(self.results / pods_of(name)) for name in SCARCE]
        policies = [argument for policy in FILLING for argument in ("--policy", policy)]
        scenario = {"nodes": NODES, "tune": 1.3, "price_demand": "learned", "study": {"policies": [OURS], "pods": lists}}
        (self.results / "scarce.json").write_text(json.dumps(scenario, indent=2) + "\n")
        paths = [argument for path in lists for argument in ("--pods", path)]
        for seeds in (TUNING, FRESH):
            self.call("study", "--nodes", NODES, *paths, *policies, "--tune", 1.3, "--seeds", seeds, "--jobs", self.jobs, "--out",
                      f"scarce-{seeds}")
            self.call("study", "scarce.json", "--seeds", seeds, "--jobs", self.jobs, "--out", f"scarce-learned-{seeds}")

    def bounds(self):
        for name in LISTS:
            for seed in seeds_of(TUNING):
                self.call("bound", "--nodes", NODES, "--pods", pods_of(name), "--tune", 1.3, "--seed", seed,
                          "--policy", OURS, "--out", f"bounds/{name}-{seed}")

    def departures(self):
        policies = [argument for policy in FILLING for argument in ("--policy", policy)]
        for tune in TUNES:
            self.call("compare", "--nodes", NODES, "--pods", pods_of("default"), "--departures", "--tune", tune, "--seeds",
                      TUNING, *policies, "--jobs", self.jobs, "--out", f"departures-{tune}")

    def steady(self):
        (self.results / "steady-model.json").write_text(json.dumps(steady_model(), indent=1) + "\n")
        rows = []
        for load in LOADS:
            for seed in STEADY_SEEDS:
                self.call("generate", "steady-model.json", "--pods", STEADY_PODS, "--offered-load", load, "--seed", seed,
                          "--out", "steady-lists")
                for policy in STEADY:
                    row = {"load": load, "seed": seed, "policy": policy}
                    for discipline in ("try_once", "fifo"):
                        summary = self.summary("--nodes", "steady-lists/nodes.csv", "--pods", "steady-lists/pods.csv",
                                               "--departures", "--policy", policy, "--discipline", discipline,
                                               "--sample-interval-s", 3600)
                        acceptance = summary["acceptance"]
                        if discipline == "try_once":
                            row["accepted"] = 100 * acceptance["accepted_ratio"]
                            row["accepted_gpus"] = 100 * acceptance["accepted_gpu_ratio"]
                            row["accepted_by_size"] = {size["size"]: 100 * size["accepted_ratio"] for size in acceptance["by_size"]}
                            row["allocated"] = 100 * summary["gpu"]["allocation_until_last_arrival_ratio"]
                        else:
                            row["wait_s"] = summary["wait_s"]["mean"]
                            row["wait_s_by_size"] = {size["size"]: size["wait_mean_s"] for size in acceptance["by_size"]}
                    rows.append(row)
        (self.results / "steady.json").write_text(json.dumps(rows, indent=1) + "\n")
        shutil.rmtree(self.results / "steady-lists")

    def modes(self):
        policies = [argument for policy in IN_MIXES for argument in ("--policy", policy)]
        for mix in MIXES:
            self.call("study", ROOT / "scenarios" / f"{mix}.json", "--loads", "1.0", "--seeds", MIX_SEEDS, "--arrivals",
                      MIX_ARRIVALS, *policies, "--jobs", self.jobs, "--out", f"modes/{mix}")

    def time(self):
        """The policies in turn, so that what else the machine does meets all of them."""
        default = ["--nodes", NODES, "--pods", pods_of("default"), "--tune", 1.3]
        self.summary(*default, *TIMED[OURS])
        (self.results / "scratch" / "prices.json").replace(self.results / "prices.json")
        measured = {}
        for _ in range(REPEATS):
            for name, arguments in (TIMED | {GIVEN: ["--policy", OURS, "--prices", "prices.json"]}).items():
                measured.setdefault(name, []).append(self.summary(*default, *arguments)["timing"])
        (self.results / "time.json").write_text(json.dumps(measured, indent=1) + "\n")


def steady_model():
    """openb's shapes with an exponential lifetime, given by its quantiles, and arrivals that do not know the hour."""
    model = json.loads(MODEL.read_text())
    parts = [i / 50 for i in range(50)] + [0.985, 0.99, 0.995, 0.998, 0.999, 0.9999]
    quantiles = [[part, max(1, round(-MEAN_DURATION_S * math.log(1 - part)))] for part in parts]
    model["duration_quantiles_s"] = quantiles + [[1, 12 * MEAN_DURATION_S]]
    model["arrivals"] = {"process": "poisson", "mean_interarrival_s": 1}
    return model


# What the results say.


def at_end(folder):
    """By list and policy of a study, in per cent, at the highest load."""
    return {(row["list"].split("openb_pod_list_")[-1].removesuffix(".csv"), row["policy"]):
            100 * row["allocation_ratio"]["mean"] for row in loaded(folder / "study.json")["headlines"]}


def filled(results, seeds):
    """By list and policy, the learned prices among them."""
    of_policy = at_end(results / f"filling-{seeds}")
    of_policy |= {(name, LEARNED): value for (name, _), value in at_end(results / f"learned-{seeds}").items()}
    return of_policy


def by_seed(results, folder, name):
    """By policy and seed, in per cent, from compare."""
    compared = loaded(results / folder / name / "compare.json")
    return {policy["policy"]: dict(zip(compared["seeds"], (100 * value for value in policy["allocation_mean_ratio"]["by_seed"])))
            for policy in compared["policies"]}


def gains_by_seed(results, folder, name):
    values = by_seed(results, folder, name)
    return {seed: values[OURS][seed] - values[BASELINE][seed] for seed in values[OURS]}


def bound_of(results, name, seed):
    return loaded(results / "bounds" / f"{name}-{seed}" / "bound.json")


def steady_rows(results):
    rows = loaded(results / "steady.json")
    if "accepted_gpus" not in rows[0]:
        raise SystemExit("price_tables: steady.json does not say which GPUs were accepted; run the part steady again")
    return rows


def steady_values(results):
    """By load, policy and measure, the values by seed."""
    values = {}
    for row in steady_rows(results):
        for measure in STEADY_MEASURES:
            values.setdefault((row["load"], row["policy"], measure), []).append(row[measure])
    return values


# Tables.


def named(policy):
    if policy == LEARNED:
        return "**`dual_price`, learned**"
    return f"**`{policy}`**" if policy == OURS else f"`{policy}`"


def seeds_named(seeds):
    return seeds.replace("..", " to ")


def filling_table(results):
    rows = []
    for seeds in (TUNING, FRESH):
        values = filled(results, seeds)
        for policy in [*FILLING, LEARNED]:
            line = [values[name, policy] for name in LISTS]
            rows.append([seeds_named(seeds), named(policy), *(f"{v:.2f}" for v in [*line, statistics.fmean(line)])])
    return table(["seeds", "policy", *LISTS, "mean"], rows)


def filling_accepted_table(results):
    """Pods and GPUs accepted until the end, and of each size of pod how many: means of the lists that have such pods."""
    rows, sizes, by_size = [], {}, "accepted_ratio_by_size"
    for seeds in (TUNING, FRESH):
        headlines = [headline | {"policy": policy or headline["policy"]} for kind, policy in (("filling", ""), ("learned", LEARNED))
                     for headline in loaded(results / f"{kind}-{seeds}" / "study.json")["headlines"]]
        sizes |= {size: None for headline in headlines for size in headline[by_size]}
        for policy in [*FILLING, LEARNED]:
            mine = [headline for headline in headlines if headline["policy"] == policy]
            line = [[headline[key]["mean"] for headline in mine] for key in ("accepted_ratio", "accepted_gpu_ratio")]
            line += [[headline[by_size][size]["mean"] for headline in mine if size in headline[by_size]] for size in sizes]
            rows.append([seeds_named(seeds), named(policy), *(f"{100 * statistics.fmean(values):.2f}" for values in line)])
    return table(["seeds", "policy", "pods accepted, %", "GPUs accepted, %", *(f"size {size}, %" for size in sizes)], rows)


def scarce_table(results):
    rows = []
    for seeds in (TUNING, FRESH):
        values = at_end(results / f"scarce-{seeds}")
        values |= {(name, LEARNED): value for (name, _), value in at_end(results / f"scarce-learned-{seeds}").items()}
        for policy in [*FILLING, LEARNED]:
            rows.append([seeds_named(seeds), named(policy), *(f"{values[name, policy]:.2f}" for name in SCARCE)])
    return table(["seeds", "policy", *SCARCE], rows)


def gains_table(results):
    rows = []
    for policy, folder in ((OURS, KNOWN_FEEDS), (LEARNED, LEARNED_FEEDS)):
        for seeds in (TUNING, FRESH):
            values = filled(results, seeds)
            line = [values[name, policy] - values[name, BASELINE] for name in LISTS]
            least, name, seed = min((gains_by_seed(results, folder, name)[seed], name, seed)
                                    for name in LISTS for seed in seeds_of(seeds))
            rows.append([named(policy), seeds_named(seeds), *(f"{v:+.2f}" for v in line), f"**{statistics.fmean(line):+.3f}**",
                         f"{least:+.2f} ({name}, {seed})"])
    return table(["policy", "seeds", *LISTS, "mean", "smallest of 30 feeds"], rows)


def bounds_table(results):
    rows = []
    first = seeds_of(TUNING)[0]
    for name in LISTS:
        baseline = by_seed(results, KNOWN_FEEDS, name)[BASELINE][first]
        bound = bound_of(results, name, first)
        reached, prefix = 100 * bound["achieved"]["ratio"], bound["forced_prefix"]
        means = [statistics.fmean(100 * bound_of(results, name, seed)[key]["ratio"] for seed in seeds_of(TUNING))
                 for key in ("achieved", "forced_prefix")]
        rows.append([name, f"{baseline:.2f}", f"{reached:.2f}", f"{100 * prefix['ratio']:.2f}", f"{prefix['forced_load']:.4f}",
                     f"{100 * prefix['ratio'] - reached:.2f}", f"{means[1] - means[0]:.2f}"])
    return table(["list", f"`{BASELINE}`", f"**`{OURS}`**", "bound, same prefix", "prefix reaches", "left",
                  f"left, mean of seeds {seeds_named(TUNING)}"], rows)


def departures_table(results):
    rows = []
    for tune in TUNES:
        compared = loaded(results / f"departures-{tune}" / "compare.json")
        for policy in compared["policies"]:
            rows.append([tune, named(policy["policy"]), f"{policy['pods_placed']['mean']:.1f}",
                         f"{100 * policy['allocation_mean_ratio']['mean']:.3f}",
                         f"{policy['fragmentation_mean_milli']['mean'] / 1000:.1f}"])
    return table(["`--tune`", "policy", "pods placed, mean", "allocated over time, %", "idle but unusable, GPUs"], rows)


def steady_table(results):
    values = steady_values(results)
    rows = []
    for load in LOADS:
        for policy in STEADY:
            row = [load, named(policy)]
            for measure, (_, places) in STEADY_MEASURES.items():
                mine = values[load, policy, measure]
                row.append(f"{statistics.fmean(mine):.{places}f}")
                if policy == BASELINE:
                    row.append("")
                    continue
                mean, half = paired(mine, values[load, BASELINE, measure])
                row.append(f"{mean:+.{places}f} ± {half:.{places}f}")
            rows.append(row)
    against = f"against `{BASELINE}`"
    return table(["load", "policy", *(head for title, _ in STEADY_MEASURES.values() for head in (title, against))], rows)


def steady_sizes_table(results):
    """Of the pods of each size, how many were accepted where they are lost, and how long they waited where they wait: means of seeds."""
    rows = steady_rows(results)
    sizes = list(dict.fromkeys(size for row in rows for size in row["accepted_by_size"]))
    lines = []
    for load in LOADS:
        for policy in STEADY:
            line = [load, named(policy)]
            of_cell = [row for row in rows if (row["load"], row["policy"]) == (load, policy)]
            for size in sizes:
                line.append(" / ".join(mean_or_dash([row[key].get(size) for row in of_cell], places)
                                       for key, places in (("accepted_by_size", 2), ("wait_s_by_size", 0))))
            lines.append(line)
    return table(["load", "policy", *sizes], lines)


def steady_against_fgd(results):
    values = steady_values(results)
    rows = []
    for load in LOADS:
        row = [load]
        for measure, (_, places) in STEADY_MEASURES.items():
            mean, half = paired(values[load, OURS, measure], values[load, "fgd", measure])
            row.append(f"{mean:+.{places}f} ± {half:.{places}f}")
        rows.append(row)
    return table(["load", *(title.replace("%", "points") for title, _ in STEADY_MEASURES.values())], rows)


def modes_table(results):
    """Accepted pods, GPUs and memory by policy, and the paired differences to fgd."""
    measures = {"accepted_ratio": "pods", "accepted_gpu_ratio": "GPUs", "accepted_memory_ratio": "memory"}
    rows = []
    for mix in MIXES:
        cell = loaded(results / "modes" / mix / "study.json")["cells"][0]
        values = {policy["policy"]: {measure: [100 * value for value in policy[measure]["by_seed"]]
                                     for measure in measures} for policy in cell["policies"]}
        row = [f"`{mix}`"]
        for policy in IN_MIXES:
            row.append(" / ".join(f"{statistics.fmean(line):.2f}" for line in values[policy].values()))
        for measure in measures:
            mean, half = paired(values[OURS][measure], values["fgd"][measure])
            row.append(f"{mean:+.2f} ± {half:.2f}")
        rows.append(row)
    return table(["scenario", *map(named, IN_MIXES), *(f"{title} against `fgd`" for title in measures.values())], rows)


def time_table(results):
    rows = []
    for name, runs in loaded(results / "time.json").items():
        fastest = max(run["decisions_per_s"] for run in runs)
        rows.append([named(name) if name != GIVEN else "**`dual_price`**, `--prices`", f"{fastest:,.0f}",
                     f"{1000 * min(run['wall_s'] for run in runs):.1f}", f"{1000 * min(run['cpu_s'] for run in runs):.1f}"])
    return table(["policy", "decisions per second", "replay, ms", "CPU of the whole run, ms"], rows)


def time_of_solver(results):
    runs = loaded(results / "time.json")
    cpu = {name: 1000 * min(run["cpu_s"] for run in of_name) for name, of_name in runs.items()}
    return (f"Solving the packing program takes {cpu[OURS] - cpu[GIVEN]:.0f} ms, the difference between solved and given "
            f"prices; learning takes {cpu[LEARNED] - cpu[GIVEN]:.0f} ms in a run, for {SOLUTIONS} solutions.")


def figure(results):
    """What is gained over the baseline on every list, mean of the seeds for tuning, and what the bound leaves to gain."""
    bars = {name: {} for name in LISTS}
    for name in LISTS:
        baseline = by_seed(results, KNOWN_FEEDS, name)[BASELINE]
        for label, folder in (("dual_price, known", KNOWN_FEEDS), (LEARNED, LEARNED_FEEDS)):
            gains = gains_by_seed(results, folder, name)
            bars[name][label] = statistics.fmean(gains[seed] for seed in seeds_of(TUNING))
        bars[name]["bound"] = statistics.fmean(100 * bound_of(results, name, seed)["forced_prefix"]["ratio"] - baseline[seed]
                                               for seed in seeds_of(TUNING))
    return drawn(bars, f"Points of allocation above {BASELINE}, mean of seeds {seeds_named(TUNING)}", f"points above {BASELINE}")


FILLING_FILES = [*(f"{kind}-{seeds}/study.json" for kind in ("filling", "learned") for seeds in (TUNING, FRESH)),
                 *(f"{folder}/{name}/compare.json" for folder in (KNOWN_FEEDS, LEARNED_FEEDS) for name in LISTS)]
BOUND_FILES = [*(f"{KNOWN_FEEDS}/{name}/compare.json" for name in LISTS),
               *(f"bounds/{name}-{seed}/bound.json" for name in LISTS for seed in seeds_of(TUNING))]
# By name of the place in the page: what makes it, and of which results.
TABLES = {"filling": (filling_table, FILLING_FILES), "filling-accepted": (filling_accepted_table, FILLING_FILES), "gains": (gains_table, FILLING_FILES),
          "scarce": (scarce_table, [f"{kind}-{seeds}/study.json" for kind in ("scarce", "scarce-learned") for seeds in (TUNING, FRESH)]), "bounds": (bounds_table, BOUND_FILES),
          "departures": (departures_table, [f"departures-{tune}/compare.json" for tune in TUNES]),
          "steady": (steady_table, ["steady.json"]), "steady-sizes": (steady_sizes_table, ["steady.json"]),
          "steady-against-fgd": (steady_against_fgd, ["steady.json"]),
          "modes": (modes_table, [f"modes/{mix}/study.json" for mix in MIXES]),
          "time": (time_table, ["time.json"]), "time-of-solver": (time_of_solver, ["time.json"])}
PARTS = ["filling", "scarce", "bounds", "departures", "steady", "modes", "time"]


def are_there(results, files):
    return all((results / file).exists() for file in files)


def written(page, results):
    """The page with the tables whose results are there."""
    for name, (make, needed) in TABLES.items():
        if are_there(results, needed) and f"<!-- {name} -->" in page:
            page = with_table(page, name, make(results))
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vgpusim", default=str(ROOT / "build" / "release" / "bin" / "vgpusim"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "price-policy")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", nargs="*", choices=PARTS, metavar="PART", help="run these parts first; without any, all")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    parser.add_argument("--figure", type=pathlib.Path, default=FIGURE)
    chosen = parser.parse_args()
    results = chosen.results.resolve()
    if chosen.run is not None:
        results.mkdir(parents=True, exist_ok=True)
        if "scarce" in (chosen.run or PARTS):
            default_list()  # refuses before anything runs
        running = runner(str(pathlib.Path(chosen.vgpusim).resolve()), results, chosen.jobs)
        for part in chosen.run or PARTS:
            print(f"price_tables: {part}", file=sys.stderr)
            getattr(running, part)()
        shutil.rmtree(results / "scratch", ignore_errors=True)
    if not any(are_there(results, needed) for _, needed in TABLES.values()):
        raise SystemExit(f"price_tables: no results in {results}; run it with --run")
    chosen.page.write_text(written(chosen.page.read_text(), results))
    if are_there(results, FILLING_FILES + BOUND_FILES):
        chosen.figure.write_text(figure(results))


if __name__ == "__main__":
    main()
