"""Curves of runs and sweeps, by Matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vgpualloc._errors import bad_value
from vgpualloc._tables import _needed

_WHATS = ("allocation", "fragmentation", "waits", "occupancy")


def _axes(ax: Any) -> Any:
    pyplot = _needed("matplotlib.pyplot", "plot()", "plot")
    return pyplot.subplots()[1] if ax is None else ax


def _check(what: str, known: tuple[str, ...]) -> None:
    if what not in known:
        raise bad_value("unknown_name", "what", what, f"one of {', '.join(known)}")


def plot_result(result: Any, what: str, ax: Any, line: dict[str, Any]) -> Any:
    """Draws one run on axes and returns them."""
    _check(what, _WHATS)
    ax = _axes(ax)
    if what == "waits":
        return _waits(result, ax, line)
    if what == "occupancy":
        return _occupancy(result, ax, line)
    series = result.timeseries
    total = result.summary["gpu"]["total_milli"] or 1
    if result._outcome.pods_leave():
        x = series["time"] / 3600.0
        ax.set_xlabel("time, h")
    else:
        x = series["arrived_milli"] / total * 100.0
        ax.set_xlabel("arrived load, % of all GPUs")
    columns = {"allocation": (("allocated_milli", "allocated"), ("served_milli", "served")),
               "fragmentation": (("fragmentation_milli", "idle but of no use"),)}[what]
    label = line.pop("label", None)
    for column, words in columns:
        ax.plot(x, series[column] / total * 100.0, label=words if label is None else f"{label}, {words}", **line)
    ax.set_ylabel("% of all GPUs")
    ax.legend()
    return ax


def _waits(result: Any, ax: Any, line: dict[str, Any]) -> Any:
    pods = result.pods
    started = pods["placed"]
    waited = np.sort((pods["start_s"] - pods["arrival_s"])[started])
    ax.step(waited, np.arange(1, len(waited) + 1) / max(len(pods), 1) * 100.0, where="post", **line)
    ax.set_xlabel("waited at most, s")
    ax.set_ylabel("% of all jobs")
    ax.set_ylim(0.0, 100.0)
    return ax


def _occupancy(result: Any, ax: Any, line: dict[str, Any]) -> Any:
    """How many pods are on each GPU when most is allocated: a column for each node that has any, the fullest first."""
    pods = result.pods
    there = pods["placed"]
    if result._outcome.pods_leave():
        series = result.timeseries
        moment = series["time"][np.argmax(series["allocated_milli"])]
        there = there & (pods["start_s"] <= moment) & ~(pods["end_s"] <= moment)
    on_gpu: dict[str, dict[int, int]] = {}
    for node, gpus in zip(pods["node"][there].tolist(), pods["gpus"][there].tolist()):
        for gpu in filter(None, gpus.split("|")):
            counts = on_gpu.setdefault(node, {})
            counts[int(gpu)] = counts.get(int(gpu), 0) + 1
    columns = sorted(on_gpu.values(), key=lambda counts: -sum(counts.values()))
    picture: npt.NDArray[np.int64] = np.zeros((1 + max((max(counts) for counts in columns), default=0), max(len(columns), 1)), dtype=np.int64)
    for column, counts in enumerate(columns):
        picture[list(counts), column] = list(counts.values())
    image = ax.imshow(picture, **{"aspect": "auto", "origin": "lower", "interpolation": "nearest", **line})
    ax.figure.colorbar(image, ax=ax, label="pods")
    ax.set_xlabel("nodes, by pods")
    ax.set_ylabel("GPU of the node")
    return ax


def plot_sweep(sweep: Any, what: str, by: str, ax: Any) -> Any:
    """Draws a curve with a band for each value of a key."""
    _check(what, ("allocation", "fragmentation", "waits"))
    ax = _axes(ax)
    if by not in sweep._keys:
        raise bad_value("unknown_name", "by", by, f"one of the grid's keys {', '.join(sweep._keys)}")
    if what == "waits":
        return _bars(sweep, by, ax)
    curves = sweep.curves
    if "load_pct" in curves.columns:
        x, words = "load_pct", "arrived load, % of all GPUs"
    else:
        x, words = "time_s", "time, s"
    y = {"allocation": "allocation_ratio", "fragmentation": "fragmentation_of_all_ratio"}[what]
    if y not in curves.columns:
        raise bad_value("missing", "what", what, "a sweep whose pods stay")
    labels = curves[by]
    for value in dict.fromkeys(labels.tolist()):
        rows = labels == value
        points, position = np.unique(curves[x][rows], return_inverse=True)
        values = curves[y][rows] * 100.0
        count = np.bincount(position)
        mean = np.bincount(position, values) / count
        spread = np.sqrt(np.maximum(np.bincount(position, values * values) / count - mean * mean, 0.0))
        curve, = ax.plot(points, mean, label=str(value))
        ax.fill_between(points, mean - spread, mean + spread, alpha=0.2, color=curve.get_color())
    ax.set_xlabel(words)
    ax.set_ylabel("% of all GPUs")
    ax.legend(title=by)
    return ax


def _bars(sweep: Any, by: str, ax: Any) -> Any:
    means = [row for row in sweep.mean(by).to_dict() if row["measure"] == "wait_mean_s"]
    ax.bar([str(row[by]) for row in means], [row["mean"] for row in means], yerr=[row["sd"] for row in means])
    ax.set_ylabel("mean wait, s")
    return ax
