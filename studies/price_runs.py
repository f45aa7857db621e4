"""What price_tables.py runs for docs/price-policy.md: lists, policies, seeds, and the calls of vgpusim."""

import csv
import json
import math
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "traces" / "models" / "openb-like.json"

NODES = "openb_node_list_gpu_node.csv"
LISTS = ["default", "gpushare40", "multigpu20", "gpuspec10", "cpu050", "cpu100"]
BASELINE, OURS, DEFAULT = "compat:fgd", "dual_price", "bid_price"
LEARNED = "dual_price, learned"
FILLING = ["compat:fgd", "fgd", "best_fit", OURS, DEFAULT]
TUNING, FRESH = "42..46", "47..51"  # seeds that parameters were chosen by, and others
KNOWN_FEEDS, LEARNED_FEEDS = "feeds", "feeds-learned"

# Variants of the default list that want more CPU: the CPU of pods with GPUs times the first number, pods without GPUs times the second.
SCARCE = {"gpu-pods-x1.2": (1.2, 1), "gpu-pods-x1.5": (1.5, 1), "gpu-pods-x2": (2, 1), "gpu-pods-x3": (3, 1), "cpu-pods-x2": (1, 2),
          "cpu-pods-x3": (1, 3)}

TUNES = ["1.5", "2"]
STEADY = [DEFAULT, OURS, "weighted:dual_price=0.5,fgd=0.5", BASELINE, "fgd", "best_fit"]
LOADS = ["0.9", "1.0", "1.1"]
STEADY_SEEDS = range(1, 6)
STEADY_PODS = 60_000
MEAN_DURATION_S = 3600

MIXES = ["mig-uniform", "mig-small", "mig-big", "mig-bimodal", "mig-mid", "mig-mixed-vendor"]
IN_MIXES = ["best_fit", "fgd", OURS, "ssp", DEFAULT]
MIX_SEEDS, MIX_ARRIVALS = "21..30", 30_000

TIMED = {"fgd": ["--policy", "fgd"], BASELINE: ["--policy", BASELINE], DEFAULT: ["--policy", DEFAULT], OURS: ["--policy", OURS],
         LEARNED: ["--policy", OURS, "--set", "price_demand=learned"]}
GIVEN = "dual_price, --prices"
PARTS = ["filling", "scarce", "bounds", "departures", "steady", "modes", "time"]
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


class runner:
    """Its methods are the parts; each leaves its results in the folder."""

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
            for folder, demand, policies in ((KNOWN_FEEDS, "known", (OURS, DEFAULT)), (LEARNED_FEEDS, "learned", (OURS,))):
                flags = [argument for policy in (BASELINE, *policies) for argument in ("--policy", policy)]
                self.call("compare", "--nodes", NODES, "--pods", pods_of(name), "--tune", 1.3, "--seeds", seeds, *flags,
                          "--set", f"price_demand={demand}", "--jobs", self.jobs, "--out", f"{folder}/{name}")

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
