#!/usr/bin/env python3
"""Runs twenty random workloads whose pods ask for memory and compute apart and writes the table of docs/served.md.

    python3 studies/served_table.py [--vgpusim PROGRAM] [--before PROGRAM] [--results FOLDER]

--before is a vgpusim in which what is served still depended on where pods run (0.1.0 at ca88674). With it the table gets
its figures and says which winners changed; without it the page keeps those that it has and only today's are printed.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess

from page_tables import table, with_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "served.md"
POLICIES = ["best_fit", "fgd", "binpack", "spread", "first_fit"]
WORKLOADS = range(1, 21)
GPUS_PER_NODE, MEMORY_MIB = 8, 81920


def node(name):
    register = "".join(f"GPU-{name}-{i},10,{MEMORY_MIB},NVIDIA A100-SXM4-80GB,true,hami-core:" for i in range(GPUS_PER_NODE))
    amounts = {"cpu": "512", "memory": "2Ti", "pods": "110", "volcano.sh/vgpu-number": str(10 * GPUS_PER_NODE),
               "volcano.sh/vgpu-memory": str(MEMORY_MIB * GPUS_PER_NODE), "volcano.sh/vgpu-cores": str(100 * GPUS_PER_NODE)}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"volcano.sh/node-vgpu-register": register}},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def write_workload(folder, number):
    """Four nodes of eight GPUs, and 400 pods of twelve classes; whether a class wants much memory says nothing of its compute."""
    draw = random.Random(number)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.json").write_text(json.dumps({"kind": "List", "items": [node(f"n{i}") for i in range(4)]}))
    classes = []
    for i in range(12):
        limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(1024 * draw.randint(2, 72)),
                  "volcano.sh/vgpu-cores": str(5 * draw.randint(1, 18)), "cpu": "1"}
        classes.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"c{i}"},
                        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}})
    (folder / "classes.json").write_text(json.dumps({"kind": "List", "items": classes}))
    rows = [f"p{i},c{draw.randrange(12)},{i}" for i in range(400)]
    (folder / "pods.csv").write_text("name,class,arrival\n" + "\n".join(rows) + "\n")


def served(program, folder):
    """By policy: what the run says is served, in per cent, and which pods it placed."""
    figures = {}
    for policy in POLICIES:
        out = folder / "out"
        subprocess.run([program, "run", "--format", "kubernetes", "--nodes", folder / "nodes.json", "--classes",
                        folder / "classes.json", "--pods", folder / "pods.csv", "--policy", policy, "--out", out],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        summary = json.loads((out / "summary.json").read_text())
        with open(out / "pods.csv", newline="", encoding="utf-8") as file:
            placed = [row["placed"] for row in csv.DictReader(file)]
        figures[policy] = 100 * summary["gpu"]["served_ratio"], placed
    return figures


def winners(figures):
    best = max(value for value, _ in figures.values())
    return [policy for policy, (value, _) in figures.items() if value > best - 0.005]


def rows_of(results, program, before):
    rows, changed = [], 0
    for number in WORKLOADS:
        folder = results / str(number)
        write_workload(folder, number)
        new, old = served(program, folder), served(before, folder)
        for policy in POLICIES:
            assert new[policy][1] == old[policy][1], "placements are what they were"
        cells = [f"{old[policy][0]:.2f} → {new[policy][0]:.2f}" for policy in POLICIES]
        other = winners(old) != winners(new)
        changed += other
        rows.append([str(number), *cells, ", ".join(winners(old)), f"**{', '.join(winners(new))}**" if other else "the same"])
    return rows, changed


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--vgpusim", default=str(ROOT / "build/release/bin/vgpusim"))
    arguments.add_argument("--before")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "served")
    chosen = arguments.parse_args()
    if chosen.before is None:
        for number in WORKLOADS:
            write_workload(chosen.results / str(number), number)
            figures = served(chosen.vgpusim, chosen.results / str(number))
            print(number, *(f"{policy} {value:.2f}" for policy, (value, _) in figures.items()))
        return
    rows, changed = rows_of(chosen.results, chosen.vgpusim, chosen.before)
    page = with_table(PAGE.read_text(), "served", table(["workload", *(f"`{p}`" for p in POLICIES), "first before", "first now"], rows))
    page = with_table(page, "winners", f"The policy that is ranked first changed in {changed} of {len(rows)} workloads.")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
