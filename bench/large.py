#!/usr/bin/env python3
"""Generates a large cluster and replays it; prints wall time, CPU time and peak memory of every process.

The node kinds and request classes are those of traces/models/openb-like.json; every node kind gets 8 GPUs."""
import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GPUS_PER_NODE = 8


def large_model():
    with open(ROOT / "traces/models/openb-like.json", encoding="utf-8") as file:
        model = json.load(file)
    model["description"] = "openb's node kinds with 8 GPUs each, openb's request classes, one arrival a second"
    for kind in model["nodes"]["kinds"]:
        kind["gpu"] = GPUS_PER_NODE
    model["pods"] = {"classes": model["pods"]["classes"], "count": 1}
    model["arrivals"] = {"process": "fixed", "interval_s": 1}
    model.pop("duration_quantiles_s", None)
    return model


def measured(label, command):
    """Runs a command to its end; stops the script when it fails."""
    begin = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ,
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, use = os.wait4(child, 0)
    wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"large.py: failed: {' '.join(command)}")
    print(f"{label:<34} {wall:>8.2f} {use.ru_utime + use.ru_stime:>8.2f} {use.ru_maxrss / 1024:>9.0f}", flush=True)


def summary_line(path):
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    pods, gpu = summary["pods"], summary["gpu"]
    load = gpu["arrived_milli"] / gpu["total_milli"]
    return (f"  {pods['arrived']} arrivals, load {load:.2f}, {pods['placed']} placed, allocation "
            f"{100 * gpu['allocation_ratio']:.2f} %, {summary['timing']['decisions_per_s']:.0f} decisions/s in the loop")


def study(label, size, options, folder):
    trace, out = folder / "trace", folder / "out"
    measured(f"generate {label}", [options.vgpusim, "generate", str(folder / "model.json"), "--out", str(trace),
                                   "--nodes", str(options.nodes), "--seed", "1", *size])
    measured(f"run {options.policy} {label}",
             [options.vgpusim, "run", "--format", "openb", "--nodes", str(trace / "nodes.csv"), "--pods",
              str(trace / "pods.csv"), "--policy", options.policy, "--out", str(out), *options.run_options])
    print(summary_line(out / "summary.json"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vgpusim", default=str(ROOT / "build/release/bin/vgpusim"))
    parser.add_argument("--policy", default="fgd")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--pods", type=int, default=1_000_000, help="arrivals of the first study")
    parser.add_argument("--load", type=float, default=1.3, help="requested / all GPUs of the second study")
    parser.add_argument("run_options", nargs="*", metavar="OPTION", help="after --: passed on to vgpusim run")
    options = parser.parse_args()
    if not os.access(options.vgpusim, os.X_OK):
        parser.error(f"no program {options.vgpusim}: build it, or name it with --vgpusim")
    print(f"{'process':<34} {'wall s':>8} {'CPU s':>8} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory(prefix="vgpualloc-large-") as name:
        folder = Path(name)
        (folder / "model.json").write_text(json.dumps(large_model()), encoding="utf-8")
        study(f"{options.pods} pods", ["--pods", str(options.pods)], options, folder)
        study(f"load {options.load}", ["--load", str(options.load)], options, folder)


if __name__ == "__main__":
    main()
