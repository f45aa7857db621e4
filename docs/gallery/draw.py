#!/usr/bin/env python3
"""Draws the pictures of docs/python.md, into the folder of this file: draw.py"""

from pathlib import Path

import matplotlib
import vgpualloc as vg

matplotlib.use("agg")
matplotlib.rcParams.update({"figure.figsize": (5.0, 3.2), "figure.constrained_layout.use": True, "font.size": 9})


def save(axes, name, title):
    axes.set_title(title)
    axes.figure.savefig(Path(__file__).with_name(f"{name}.png"), dpi=100, metadata={"Software": None})


def main():
    lists = vg.example("quickstart")
    sweep = vg.sweep({"policy": ["fgd", "best_fit", "compat:random"], "seed": range(42, 52)}, **lists, tune=1.3)
    save(sweep.plot("allocation"), "allocation", "sweep.plot(\"allocation\"), ten seeds")
    save(sweep.plot("fragmentation"), "fragmentation", "sweep.plot(\"fragmentation\"), ten seeds")
    few_nodes = b"".join(lists["nodes"].read_bytes().splitlines(keepends=True)[:13])
    fifo, gang = (vg.simulate(few_nodes, lists["pods"], departures=True, discipline=name) for name in ("fifo", "gang"))
    save(fifo.plot("allocation"), "departures", "result.plot(\"allocation\") where pods leave")
    axes = gang.plot("waits", ax=fifo.plot("waits", label="fifo"), label="gang")
    axes.legend()
    axes.set_xscale("symlog")
    save(axes, "waits", "result.plot(\"waits\", ax=axes), twice")


if __name__ == "__main__":
    main()
