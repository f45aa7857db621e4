#!/usr/bin/env python3
"""Runs what docs/bid-price.md reports of filling, of steady states and of MIG, and writes the tables of its section "Results".

    python3 studies/regimes.py [--vgpusim PROGRAM] [--results FOLDER] [--jobs N] [--run [REGIME …]]

Without --run the results of an earlier run in FOLDER are taken; with it, what is in FOLDER is not run again. A table is written when all of
its results are there; otherwise it is left as it is. REGIME is one or more of
filling, mig and the names in REGIMES; without any, all are run. openb's lists are looked for by vgpusim, in
$VGPUALLOC_TRACES or in the folder of `vgpusim fetch`.
"""

import argparse
import dataclasses
import json
import pathlib
import shutil
import statistics

import changing_inputs as inputs
from changing_demand import DISCIPLINES, loaded, marked, measured
from page_tables import paired, table, with_table
from price_runs import LISTS, NODES, MEAN_DURATION_S, pods_of, steady_model
from running import call, run_all

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "bid-price.md"
OURS = "bid_price"
POLICIES = [OURS, "compat:fgd", "fgd", "dual_price"]
FILLING = {"compat:fgd": [], "fgd": [], "best_fit": [], "dual_price": [], OURS: [], "bid_price, prices=lp": ["--set", "prices=lp"]}
FILLING_SEEDS, TUNE = range(91, 96), 1.3
# By study of scenarios/: what is compared, its seeds and arrivals.
MIXES = ["uniform", "small", "big", "bimodal", "mid"]
IN_MIXES = ["ssp", "dual_price", OURS]
MIG = {**{f"mig-{mix}": (IN_MIXES, "61..70", ["--loads", "1.0", "--arrivals", 12_000]) for mix in [*MIXES, "mixed-vendor"]},
       "mig-arrival-only": ([*IN_MIXES, "mcc", "best_fit", "fgd"], "51..60", []),
       "mig-ten-gpus": (["ssp", OURS], "51..60", ["--arrivals", 60_000])}
WARM_UP_S = 3 * MEAN_DURATION_S
CPU_OF_NODE = 96_000  # milli-CPU of the nodes with 8 GPUs: pods ask for no more


# How a class of the model changes.


def several_gpus(of):
    return of | {"weight": of["weight"] * 4} if of["num_gpu"] > 1 else of


def parts_of_gpus(of):
    return of | {"weight": of["weight"] * 3} if of["num_gpu"] == 1 and of["gpu_milli"] < 1000 else of


def more_cpu(of):
    return of | {"cpu_milli": min(int(of["cpu_milli"] * 1.4), CPU_OF_NODE)} if of["num_gpu"] > 0 else of


@dataclasses.dataclass(frozen=True)
class regime:
    load: float
    seeds: range = range(61, 66)
    of_class: callable = dict  # a class of the model, as it is in this regime
    pods: int = 60_000
    part: int = 1  # one node in so many, of each kind


REGIMES = {"base-0.9": regime(0.9), "base-1.0": regime(1.0), "base-1.1": regime(1.1),
           "multi-1.0": regime(1.0, of_class=several_gpus), "share-1.0": regime(1.0, of_class=parts_of_gpus),
           "cpu-0.9": regime(0.9, of_class=more_cpu),
           "small-0.9": regime(0.9, range(61, 71), pods=10_000, part=8), "small-1.0": regime(1.0, range(61, 71), pods=10_000, part=8)}


# Running.


class study:
    def __init__(self, program, results):
        self.program, self.results = program, results

    def call(self, *arguments):
        call(self.program, *arguments)

    def run(self, name, seed):
        """All policies with one list, lost and waiting: a file of results."""
        path = self.results / f"{name}-{seed}.json"
        values = loaded(path)
        missing = [(policy, discipline) for policy in POLICIES for discipline in DISCIPLINES if f"{policy} {discipline}" not in values]
        if not missing:
            return
        folder = self.results / f"scratch-{path.stem}"
        folder.mkdir(parents=True, exist_ok=True)
        wanted, model = REGIMES[name], steady_model()
        model["pods"]["classes"] = [wanted.of_class(of) for of in model["pods"]["classes"]]
        for kind in model["nodes"]["kinds"]:
            kind["count"] = max(1, kind["count"] // wanted.part)
        (folder / "model.json").write_text(json.dumps(model))
        self.call("generate", folder / "model.json", "--pods", wanted.pods, "--offered-load", wanted.load, "--seed", seed,
                  "--out", folder / "list")
        pods = inputs.read(folder / "list" / "pods.csv")
        gpus = sum(int(node["gpu"]) for node in inputs.read(folder / "list" / "nodes.csv"))
        for policy, discipline in missing:
            self.call("run", "--nodes", folder / "list" / "nodes.csv", "--pods", folder / "list" / "pods.csv", "--departures",
                      "--policy", policy, "--discipline", discipline, "--sample-interval-s", 3600, "--out", folder / "out")
            rows = inputs.read(folder / "out" / "pods.csv")
            values[f"{policy} {discipline}"] = measured(pods, rows, gpus, discipline, WARM_UP_S)
            path.write_text(json.dumps(values, indent=1) + "\n")
        shutil.rmtree(folder)

    def fill(self, name, seed):
        """All policies with one list of openb's: what is allocated in the end, in per cent."""
        path = self.results / f"filling-{name}-{seed}.json"
        values = loaded(path)
        if values.keys() >= FILLING.keys():
            return
        folder = self.results / f"scratch-{path.stem}"
        for policy, settings in FILLING.items():
            self.call("run", "--nodes", NODES, "--pods", pods_of(name), "--tune", TUNE, "--seed", seed, "--policy", policy.split(",")[0],
                      *settings, "--out", folder)
            values[policy] = 100 * json.loads((folder / "summary.json").read_text())["gpu"]["allocation_ratio"]
        path.write_text(json.dumps(values, indent=1) + "\n")
        shutil.rmtree(folder)

    def mig(self, name):
        if (self.results / name / "study.json").exists():
            return
        policies, seeds, settings = MIG[name]
        chosen = [argument for policy in policies for argument in ("--policy", policy)]
        self.call("study", ROOT / "scenarios" / f"{name}.json", *chosen, "--seeds", seeds, *settings, "--jobs", 1,
                  "--out", self.results / name)


# Tables.


def named(policy):
    name, _, prices = policy.partition(", ")
    name = f"`{name}`" + (f", `{prices}`" if prices else "")
    return f"**{name}**" if policy == OURS else name


def filling_table(results):
    values = {name: [loaded(results / f"filling-{name}-{seed}.json") for seed in FILLING_SEEDS] for name in LISTS}
    if not all(of_seed.keys() >= FILLING.keys() for of_list in values.values() for of_seed in of_list):
        return None
    rows = []
    for policy in FILLING:
        gains = [[of_seed[policy] - of_seed["compat:fgd"] for of_seed in values[name]] for name in LISTS]
        if policy == "compat:fgd":
            allocated = [statistics.fmean(of_seed[policy] for of_seed in values[name]) for name in LISTS]
            rows.append([named(policy), *(f"{of_list:.2f}" for of_list in allocated), "", ""])
            continue
        of_seeds = [statistics.fmean(of_seed) for of_seed in zip(*gains, strict=True)]
        mean, half = paired(of_seeds, [0.0] * len(of_seeds))
        rows.append([named(policy), *(f"{statistics.fmean(of_list):+.2f}" for of_list in gains), f"{mean:+.2f} ± {half:.2f}",
                     f"{min(min(of_list) for of_list in gains):+.2f}"])
    return table(["policy", *LISTS, "mean", "least run"], rows)


def regimes_table(results):
    rows = []
    for name, wanted in REGIMES.items():
        by_seed = [loaded(results / f"{name}-{seed}.json") for seed in wanted.seeds]
        if any(len(values) < len(POLICIES) * len(DISCIPLINES) for values in by_seed):
            return None
        of = {(policy, measure): [values[f"{policy} {discipline}"][measure] for values in by_seed]
              for policy in POLICIES for discipline, measures in (("try_once", ("accepted", "accepted_gpus")), ("fifo", ("wait_s",)))
              for measure in measures}
        for policy in POLICIES:
            eight = [values[f"{policy} try_once"]["accepted_gpus_by_size"]["8"] for values in by_seed]
            against = lambda measure, places, better: marked(*paired(of[OURS, measure], of[policy, measure]), places, better)
            rows.append([f"{name.replace('-', ', ')} ({len(by_seed)} seeds)" if policy == OURS else "", named(policy),
                         *(f"{statistics.fmean(of[policy, measure]):.2f}" for measure in ("accepted", "accepted_gpus")),
                         "" if policy == OURS else against("accepted_gpus", 2, 1), f"{statistics.fmean(eight):.0f}",
                         f"{statistics.fmean(of[policy, 'wait_s']):.0f}", "" if policy == OURS else against("wait_s", 0, -1)])
    return table(["model, load", "policy", "pods accepted, %", "GPUs accepted, %", "`bid_price` against it, points of GPUs",
                  "pods of 8 GPUs accepted, %", "mean wait, s", "`bid_price` against it, s"], rows)


def cells(results, name):
    """Of each model of a study, by policy and measure, the values by seed in per cent; none: it was not run."""
    path = results / name / "study.json"
    return [{(policy["policy"], measure): [100 * value for value in policy[measure]["by_seed"]]
             for policy in cell["policies"] for measure in ("accepted_ratio", "accepted_memory_ratio", "filled_memory_ratio")
             if measure in policy} for cell in json.loads(path.read_text())["cells"]] if path.exists() else []


def pods_and_memory(of, policy):
    return " / ".join(f"{statistics.fmean(of[policy, measure]):.2f}" for measure in ("accepted_ratio", "accepted_memory_ratio"))


def gained(of_mixes):
    """Of bid_price over ssp, pods and memory, of a mix or of the mean of several."""
    texts = []
    for measure in ("accepted_ratio", "accepted_memory_ratio"):
        mine, theirs = ([statistics.fmean(values) for values in zip(*(of[policy, measure] for of in of_mixes), strict=True)]
                        for policy in (OURS, "ssp"))
        texts.append(marked(*paired(mine, theirs), 2, 1))
    return " / ".join(texts)


def mean_of_mixes(of_mixes, policy):
    return pods_and_memory({(policy, measure): [statistics.fmean(of[policy, measure]) for of in of_mixes]
                            for measure in ("accepted_ratio", "accepted_memory_ratio")}, policy)


def mig_table(results):
    of_mixes, vendor = [of for mix in MIXES for of in cells(results, f"mig-{mix}")], cells(results, "mig-mixed-vendor")
    filled = cells(results, "mig-arrival-only")
    if not (len(of_mixes) == len(filled) == len(MIXES) and vendor):
        return None
    rows = []
    for policy in MIG["mig-arrival-only"][0]:
        full = f"{statistics.fmean(statistics.fmean(of[policy, 'filled_memory_ratio']) for of in filled):.2f}"
        accepted = [""] * (len(MIXES) + 2)
        if policy in IN_MIXES:
            accepted = [*(pods_and_memory(of, policy) for of in of_mixes), mean_of_mixes(of_mixes, policy),
                        pods_and_memory(vendor[0], policy)]
        rows.append([named(policy), *accepted, full])
    rows.append(["`bid_price` minus `ssp`", *(gained([of]) for of in of_mixes), gained(of_mixes), gained(vendor), ""])
    return table(["policy", *MIXES, "mean of these", "mixed-vendor", "filled"], rows)


def ten_gpus_table(results):
    of_mixes = cells(results, "mig-ten-gpus")
    if len(of_mixes) != len(MIXES):
        return None
    rows = [[named(policy), *(pods_and_memory(of, policy) for of in of_mixes), mean_of_mixes(of_mixes, policy)]
            for policy in MIG["mig-ten-gpus"][0]]
    return table(["policy", *MIXES, "mean"], [*rows, ["points more", *(gained([of]) for of in of_mixes), gained(of_mixes)]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vgpusim", default=str(ROOT / "build" / "release" / "bin" / "vgpusim"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "regimes")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", nargs="*", choices=["filling", "mig", *REGIMES], metavar="REGIME",
                        help="run these first; without any, all")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    chosen = parser.parse_args()
    results = chosen.results.resolve()
    if chosen.run is not None:
        results.mkdir(parents=True, exist_ok=True)
        running, names = study(str(pathlib.Path(chosen.vgpusim).resolve()), results), chosen.run or ["filling", "mig", *REGIMES]
        runs = [(running.run, name, seed) for name in names if name in REGIMES for seed in REGIMES[name].seeds]
        if "filling" in names:
            runs += [(running.fill, name, seed) for name in LISTS for seed in FILLING_SEEDS]
        if "mig" in names:
            runs += [(running.mig, name) for name in MIG]
        run_all(chosen.jobs, runs)
    tables = {"filling": filling_table(results), "regimes": regimes_table(results), "mig": mig_table(results),
              "ten-gpus": ten_gpus_table(results)}
    if not any(tables.values()):
        raise SystemExit(f"regimes: {results} has all results of no table; --run without REGIME makes them")
    page = chosen.page.read_text()
    for name, text in tables.items():
        if text:
            page = with_table(page, name, text)
    chosen.page.write_text(page)


if __name__ == "__main__":
    main()
