#!/usr/bin/env python3
"""Draws the pictures of docs/python.md, into the folder of this file: draw.py

forecast.png is of the Philly trace where $VGPUALLOC_TRACES has it, else of invented jobs."""

import json
from pathlib import Path

import matplotlib
import vgpualloc as vg

matplotlib.use("agg")
matplotlib.rcParams.update({"figure.figsize": (5.0, 3.2), "figure.constrained_layout.use": True, "font.size": 9})


def save(axes, name, title):
    axes.set_title(title)
    axes.figure.savefig(Path(__file__).with_name(f"{name}.png"), dpi=100, metadata={"Software": None})


def axes_of_notebook(name):
    """What a notebook has as axes at its end."""
    content = json.loads((Path(__file__).parents[1] / "notebooks" / f"{name}.ipynb").read_text())
    scope = {}
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), scope)
    return scope["axes"]


def main():
    lists = vg.example("quickstart")
    sweep = vg.sweep({"policy": ["bid_price", "fgd", "best_fit", "compat:random"], "seed": range(42, 52)}, **lists, tune=1.3)
    save(sweep.plot("allocation"), "allocation", "sweep.plot(\"allocation\"), ten seeds")
    save(sweep.plot("fragmentation"), "fragmentation", "sweep.plot(\"fragmentation\"), ten seeds")
    few_nodes = b"".join(lists["nodes"].read_bytes().splitlines(keepends=True)[:13])
    fifo, gang = (vg.simulate(few_nodes, lists["pods"], departures=True, discipline=name) for name in ("fifo", "gang"))
    save(fifo.plot("allocation"), "departures", "result.plot(\"allocation\") where pods leave")
    axes = gang.plot("waits", ax=fifo.plot("waits", label="fifo"), label="gang")
    axes.legend()
    axes.set_xscale("symlog")
    save(axes, "waits", "result.plot(\"waits\", ax=axes), twice")
    axes = axes_of_notebook("fit-and-forecast")
    save(axes, "forecast", axes.get_title())


if __name__ == "__main__":
    main()
