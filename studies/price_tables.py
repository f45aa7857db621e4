#!/usr/bin/env python3
"""Runs what docs/price-policy.md reports, and writes the tables of that page and its figure docs/price-policy.svg.

    python3 studies/price_tables.py [--vgpusim PROGRAM] [--results FOLDER] [--jobs N] [--run [PART …]]

Without --run the results of an earlier run in FOLDER are taken. A table is made when all results that it needs are there and the
page has a place for it; otherwise it is left as it is. PART is one or more of filling, scarce, bounds, departures, steady, modes, time; without any, all are
run. openb's lists are looked for by vgpusim, in $VGPUALLOC_TRACES or in the folder of `vgpusim fetch`; scarce makes lists of its own
of the default list in $VGPUALLOC_TRACES.
"""

import argparse
import pathlib
import shutil
import statistics
import sys

from page_tables import mean_or_dash, paired, table, with_table
from price_figure import drawn
from price_runs import (BASELINE, DEFAULT, FILLING, FRESH, GIVEN, IN_MIXES, KNOWN_FEEDS, LEARNED, LEARNED_FEEDS, LISTS, LOADS, MIXES,
                        OURS, PARTS, ROOT, SCARCE, SOLUTIONS, STEADY, TUNES, TUNING, default_list, loaded, runner, seeds_of)

PAGE = ROOT / "docs" / "price-policy.md"
FIGURE = ROOT / "docs" / "price-policy.svg"

# What is measured in a steady state, with its decimals: accepted pods, and pods weighted by the GPUs that they ask for.
STEADY_MEASURES = {"accepted": ("pods accepted, %", 3), "accepted_gpus": ("GPUs accepted, %", 3), "allocated": ("allocated, %", 3),
                   "wait_s": ("wait, s", 0)}
# The same in MIG mixes.
MODE_MEASURES = {"accepted_ratio": "pods", "accepted_gpu_ratio": "GPUs", "accepted_memory_ratio": "memory"}


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


def gains_by_seed(results, folder, name, policy=OURS):
    values = by_seed(results, folder, name)
    return {seed: values[policy][seed] - values[BASELINE][seed] for seed in values[policy]}


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
    """As a page shows it; the default policy is bold."""
    if policy in (LEARNED, GIVEN):
        name, variant = policy.split(", ")
        return f"`{name}`, {variant}"
    return f"**`{policy}`**" if policy == DEFAULT else f"`{policy}`"


def difference(mine, theirs, places):
    """Paired by seed, with half the 95 % interval."""
    mean, half = paired(mine, theirs)
    return f"{mean:+.{places}f} ± {half:.{places}f}"


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
    for policy, folder, compared in ((DEFAULT, KNOWN_FEEDS, DEFAULT), (OURS, KNOWN_FEEDS, OURS), (LEARNED, LEARNED_FEEDS, OURS)):
        for seeds in (TUNING, FRESH):
            values = filled(results, seeds)
            line = [values[name, policy] - values[name, BASELINE] for name in LISTS]
            least, name, seed = min((gains_by_seed(results, folder, name, compared)[seed], name, seed)
                                    for name in LISTS for seed in seeds_of(seeds))
            rows.append([named(policy), seeds_named(seeds), *(f"{v:+.2f}" for v in line), f"{statistics.fmean(line):+.3f}",
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
    return table(["list", f"`{BASELINE}`", named(OURS), "bound, same prefix", "prefix reaches", "left",
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
                row.append(difference(mine, values[load, BASELINE, measure], places))
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


def steady_default_table(results):
    """The default policy against each other one, paired by seed."""
    values = steady_values(results)
    rows = []
    for load in LOADS:
        for policy in STEADY:
            if policy == DEFAULT:
                continue
            row = [load, named(policy)]
            for measure, (_, places) in STEADY_MEASURES.items():
                row.append(difference(values[load, DEFAULT, measure], values[load, policy, measure], places))
            rows.append(row)
    return table(["load", "against", *(title.replace("%", "points") for title, _ in STEADY_MEASURES.values())], rows)


def mode_values(results, mix):
    """By policy and measure, in per cent by seed."""
    cell = loaded(results / "modes" / mix / "study.json")["cells"][0]
    return {(policy["policy"], measure): [100 * value for value in policy[measure]["by_seed"]]
            for policy in cell["policies"] for measure in MODE_MEASURES}


def modes_table(results):
    """Accepted pods, GPUs and memory by policy."""
    rows = []
    for mix in MIXES:
        values = mode_values(results, mix)
        rows.append([f"`{mix}`", *(" / ".join(f"{statistics.fmean(values[policy, measure]):.2f}" for measure in MODE_MEASURES)
                                   for policy in IN_MIXES)])
    return table(["scenario", *map(named, IN_MIXES)], rows)


def modes_default_table(results):
    """The default policy against the others, in points of pods, GPUs and memory."""
    others = ["fgd", OURS, "ssp"]
    rows = []
    for mix in MIXES:
        values = mode_values(results, mix)
        rows.append([f"`{mix}`", *(difference(values[DEFAULT, measure], values[policy, measure], 2)
                                   for policy in others for measure in MODE_MEASURES)])
    return table(["scenario", *(f"{title} against `{policy}`" for policy in others for title in MODE_MEASURES.values())], rows)


def time_table(results):
    rows = []
    for name, runs in loaded(results / "time.json").items():
        fastest = max(run["decisions_per_s"] for run in runs)
        rows.append([named(name), f"{fastest:,.0f}",
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
        for label, folder, policy in ((DEFAULT, KNOWN_FEEDS, DEFAULT), ("dual_price, known", KNOWN_FEEDS, OURS),
                                      (LEARNED, LEARNED_FEEDS, OURS)):
            gains = gains_by_seed(results, folder, name, policy)
            bars[name][label] = statistics.fmean(gains[seed] for seed in seeds_of(TUNING))
        bars[name]["bound"] = statistics.fmean(100 * bound_of(results, name, seed)["forced_prefix"]["ratio"] - baseline[seed]
                                               for seed in seeds_of(TUNING))
    return drawn(bars, f"Points of allocation above {BASELINE}, mean of seeds {seeds_named(TUNING)}", f"points above {BASELINE}")


FILLED_FILES = [f"{kind}-{seeds}/study.json" for kind in ("filling", "learned") for seeds in (TUNING, FRESH)]
FILLING_FILES = [*FILLED_FILES,
                 *(f"{folder}/{name}/compare.json" for folder in (KNOWN_FEEDS, LEARNED_FEEDS) for name in LISTS)]
BOUND_FILES = [*(f"{KNOWN_FEEDS}/{name}/compare.json" for name in LISTS),
               *(f"bounds/{name}-{seed}/bound.json" for name in LISTS for seed in seeds_of(TUNING))]
MODE_FILES = [f"modes/{mix}/study.json" for mix in MIXES]
# By name of the place in the page: what makes it, and of which results.
TABLES = {"filling": (filling_table, FILLED_FILES), "filling-accepted": (filling_accepted_table, FILLED_FILES), "gains": (gains_table, FILLING_FILES),
          "scarce": (scarce_table, [f"{kind}-{seeds}/study.json" for kind in ("scarce", "scarce-learned") for seeds in (TUNING, FRESH)]), "bounds": (bounds_table, BOUND_FILES),
          "departures": (departures_table, [f"departures-{tune}/compare.json" for tune in TUNES]),
          "steady": (steady_table, ["steady.json"]), "steady-sizes": (steady_sizes_table, ["steady.json"]),
          "steady-default": (steady_default_table, ["steady.json"]),
          "modes": (modes_table, MODE_FILES), "modes-default": (modes_default_table, MODE_FILES),
          "time": (time_table, ["time.json"]), "time-of-solver": (time_of_solver, ["time.json"])}

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
