"""Many simulations that are compared."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import queue
import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from vgpualloc import _core
from vgpualloc._errors import Error, bad_value, whole_number
from vgpualloc._inputs import columns_of, named_input
from vgpualloc._known import options as option_table
from vgpualloc._policies import Discipline, Policy
from vgpualloc._simulate import Result, _teller, check_keys, named_options, run
from vgpualloc._study import part_of_cell, settings_of
from vgpualloc._sweep_results import Sweep
from vgpualloc._tables import Table, table_of_columns

_OBJECTS = ("policy", "device_policy", "discipline")
_KEEPS = ("figures", "curves", "all")
_APART = ("scenario", "baseline", "bound")
_TIMES = 200


def run_sweep(grid: Any, fixed: dict[str, Any], *, executor: Any, workers: int | None, cache: Any, keep: str, on_error: str,
              progress: Any) -> Sweep:
    """sweep(), with what all cells have as a dictionary."""
    for name, value, words in (("keep", keep, _KEEPS), ("on_error", on_error, ("keep", "raise"))):
        if value not in words:
            raise bad_value("unknown_name", name, value, f"one of {', '.join(words)}")
    if workers is not None:
        workers = whole_number("sweep()", "workers", workers, 1)
    keys, cells = _cells_of(grid, fixed)
    begin = time.perf_counter()
    checksums = _Inputs()
    jobs = [_Job(number, labels, options, checksums, keep) for number, (labels, options) in enumerate(cells)]
    store = _Store(cache, jobs) if cache is not None else None
    finished: dict[int, dict[str, Any]] = {}
    waiting: list[_Job] = []
    for job in jobs:
        known = store.lookup(job) if store else None
        if known is None:
            waiting.append(job)
        else:
            finished[job.number] = known

    with _teller(progress, "cells") as tell:
        def take(job: _Job, outcome: dict[str, Any]) -> None:
            if outcome["error"] is not None and on_error == "raise":
                failure = outcome["error"]
                failure.add_note(f"cell {job.name}")
                raise failure
            if store and outcome["error"] is None:
                store.store(job, outcome)
            finished[job.number] = outcome
            if tell is not None:
                tell("cells", len(finished), len(jobs))

        _executor_of(executor)(waiting, workers, take, executor)
    cpu_s = sum(finished[job.number]["cpu_s"] for job in waiting)
    timing = (time.perf_counter() - begin, cpu_s, _worker_count(workers, len(waiting)))
    return _sweep_of(keys, jobs, finished, keep, timing)


# ---- cells


def _cells_of(grid: Any, fixed: dict[str, Any]) -> tuple[list[str], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """The grid's keys, and of each cell its labels and its options."""
    if isinstance(grid, (str, os.PathLike, bytes)):
        grid, more = _study(grid)
        fixed = {**more, **fixed}
    if isinstance(grid, Mapping):
        values = {key: _values_of(key, value) for key, value in grid.items()}
        rows = [dict(zip(values, combination)) for combination in itertools.product(*values.values())]
    elif isinstance(grid, Sequence):
        rows = [{key: (_label_of(value), value) for key, value in row.items()} for row in grid]
    else:
        raise TypeError(f"grid: expected a mapping, a list of mappings or a study's file, not {type(grid).__name__}")
    if not rows:
        raise bad_value("missing", "grid", "", "at least one cell")
    keys = list(dict.fromkeys(key for row in rows for key in row))
    for key in keys:
        if key in fixed:
            raise TypeError(f"sweep() got {key!r} both in the grid and as a keyword")
    check_keys([key for key in (*keys, *fixed) if key not in _APART], "sweep")
    cells = [({key: label for key, (label, _) in row.items()}, {**fixed, **{key: value for key, (_, value) in row.items()}})
             for row in rows]
    return keys, cells


def _values_of(key: str, values: Any) -> list[tuple[Any, Any]]:
    """Values of a key with their labels."""
    if isinstance(values, Mapping):
        return list(values.items())
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"grid: {key}: expected a list of values, not {values!r}")
    listed = [(_label_of(value), value) for value in values]
    if not listed:
        raise bad_value("missing", key, "", "at least one value", "grid")
    if len({label for label, _ in listed}) < len(listed):
        raise bad_value("duplicate", key, "", "values that occur once; tables take labels: {label: table}", "grid")
    return listed


def _label_of(value: Any) -> Any:
    if isinstance(value, (Policy, Discipline)):
        return value._label
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return int(value)
    if isinstance(value, (str, int, float, bool)):
        return value
    return f"{type(value).__name__}"


def _study(source: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A study's scenario file as a grid and what all cells have, with the names that ``vgpusim study`` calls lists by."""
    path = "<grid>" if isinstance(source, bytes) else os.fspath(source)
    try:
        content = json.loads(source if isinstance(source, bytes) else Path(source).read_bytes())
        study = content["study"]
        pods, policies, seeds = study["pods"], study["policies"], study["seeds"]
        first, last = (int(part) for part in str(seeds).split(".."))
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as failure:
        raise bad_value("malformed", "study", "", "a scenario with the key study: policies, pods and seeds", path) from failure
    for key in study:
        if key not in ("policies", "pods", "seeds", "loads"):
            raise bad_value("unsupported", f"study.{key}", study[key], "policies, pods, seeds and loads in a sweep", path)
    for policy in policies:
        if not isinstance(policy, str):
            raise bad_value("unsupported", "study.policies", policy, "names of policies in a sweep", path)
    table = option_table()
    grid: dict[str, Any] = {"pods": [_core.resolve_from(path, name) for name in pods]}
    if "loads" in study:
        grid["offered_load"] = study["loads"]
    grid["policy"] = policies
    grid["seed"] = range(first, last + 1)
    fixed = {}
    for key, value in content.items():
        if key in table:
            fixed[key] = _core.resolve_from(path, value) if table[key]["type"] == "input" else value
    return grid, fixed


class _Inputs:
    """Checksums of inputs, each worked out once."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Any, str]] = {}

    def checksum(self, value: Any) -> str:
        known = self._of.get(id(value))
        if known is None:
            known = (value, self._compute(value))
            self._of[id(value)] = known
        return known[1]

    @staticmethod
    def _compute(value: Any) -> str:
        if isinstance(value, (str, os.PathLike)):
            return _core.checksum_of_file(os.fspath(value))
        if isinstance(value, (bytes, bytearray, memoryview)):
            return hashlib.sha256(value).hexdigest()
        return columns_of("<table>", value).sha256()


class _Job:
    """One cell: what it is called, and what it runs."""

    def __init__(self, number: int, labels: dict[str, Any], options: dict[str, Any], inputs: _Inputs, keep: str) -> None:
        self.number = number
        self.labels = labels
        self.options = options
        self.keep = keep
        self._inputs = inputs

    @property
    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.labels.items())

    def address(self) -> str:
        """A SHA-256 over the version, the inputs and the options; empty where a policy has no key."""
        table = option_table()
        texts = [f"vgpualloc {_core.version}", f"keep {self.keep}"]
        inputs: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        for key, value in self.options.items():
            if isinstance(value, (Policy, Discipline)):
                own = getattr(value, "key", "")
                if not own:
                    return ""
                texts.append(f"{key} object {own}")
            elif value is not None:
                of = inputs if key == "scenario" or (key in table and table[key]["type"] == "input") else plain
                of[key] = value
        try:
            names, named = named_options({key: value for key, value in plain.items() if key in table}, "sweep")
            if "scenario" in inputs:
                name, more = named_input("scenario", inputs["scenario"])
                names.insert(0, ("scenario", name))
                named += more
            for key, value in _core.settings(names, named):
                if table[key]["type"] != "input":
                    texts.append(f"{key} {value}")
                elif value:  # of the scenario
                    inputs.setdefault(key, value)
            texts += [f"{key} {json.dumps(value, default=str)}" for key, value in sorted(plain.items()) if key not in table]
            texts += [f"{key} sha256 {self._inputs.checksum(value)}" for key, value in sorted(inputs.items())]
        except (Error, OSError, TypeError):
            return ""  # it fails when it is run
        return hashlib.sha256("".join(f"{len(text)}:{text}" for text in texts).encode()).hexdigest()


def run_cell(options: Mapping[str, Any], keep: str, stop: Any = None,
             common: _core.CommonInput | None = None) -> dict[str, Any]:
    """Runs a cell. An error is kept, with None for all else."""
    begin, cpu_begin = time.perf_counter(), time.thread_time()
    try:
        settings = dict(options)
        apart = {key: settings.pop(key) for key in _APART if key in settings}
        result = run(settings, **apart, progress=False, stop=stop, common=common, keeps_all=keep == "all")
        outcome: dict[str, Any] = {"figures": _figures(result), "curve": _curve(result) if keep != "figures" else None,
                                   "part": part_of_cell(result._outcome), "result": result if keep == "all" else None,
                                   "error": None}
    except (Error, OSError, TypeError) as failure:
        outcome = {"figures": None, "curve": None, "part": None, "result": None, "error": failure}
    outcome["seconds"] = time.perf_counter() - begin
    outcome["cpu_s"] = time.thread_time() - cpu_begin
    return outcome


def _figures(result: Result) -> dict[str, float]:
    measures = dict(result._outcome.measures())
    arrived, placed, failed, allocation_ratio, _ = result._outcome.counts()
    figures = {"arrived": arrived, "placed": placed, "failed": failed,
               "served_ratio": measures["served_ratio"], "allocation_ratio": allocation_ratio,
               "allocation_mean_ratio": measures["allocation_mean_ratio"]}
    return {**figures, **measures}


def _curve(result: Result) -> dict[str, list[float]]:
    """Values at whole percents of load, or at 200 equal times where pods leave."""
    if not result._outcome.pods_leave():
        frame = Table._over(result._outcome.curve())
        return {name: frame[name].tolist() for name in frame.columns}
    import numpy as np

    series = result.timeseries
    end = float(series["time"][-1]) if len(series) else 0.0
    times = np.linspace(0.0, end, _TIMES)
    rows = np.maximum(np.searchsorted(series["time"], times, side="right") - 1, 0)
    total = result._outcome.counts()[-1] or 1
    columns = {"time_s": times, "allocation_ratio": series["allocated_milli"][rows] / total,
               "served_ratio": series["served_milli"][rows] / total,
               "fragmentation_milli": series["fragmentation_milli"][rows].astype(float)}
    return {name: values.tolist() for name, values in columns.items()}


# ---- executors


def _executor_of(executor: Any) -> Any:
    if executor == "local":
        return _run_here
    if executor == "ray":
        from vgpualloc._cluster_executors import run_on_ray

        return run_on_ray
    if executor == "dask" or type(executor).__module__.split(".")[0] == "distributed":
        from vgpualloc._cluster_executors import run_on_dask

        return run_on_dask
    raise bad_value("unknown_name", "executor", executor, '"local", "ray", "dask" or a distributed.Client')


def _run_here(jobs: list[_Job], workers: int | None, take: Any, _executor: Any) -> None:
    """Threads of this process. Policies and disciplines in Python are copied for each cell."""
    if not jobs:
        return
    stop = _core.StopFlag()
    inputs = _CommonInputs(jobs)
    outcomes: queue.SimpleQueue[tuple[_Job, Any]] = queue.SimpleQueue()

    def work(job: _Job) -> None:
        try:
            outcomes.put((job, run_cell(own_objects(job.options), job.keep, stop, inputs.of(job))))
        except BaseException as failure:
            outcomes.put((job, failure))
        inputs.done(job)

    count = _worker_count(workers, len(jobs))
    # Not concurrent.futures.wait(): a signal that arrives while it takes the locks of all cells leaves some taken.
    with ThreadPoolExecutor(count) as pool:
        try:
            for job in inputs.side_by_side():
                pool.submit(work, job)
            for _ in jobs:
                job, outcome = outcomes.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                take(job, outcome)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _worker_count(workers: int | None, cells: int) -> int:
    return max(1, min(workers or len(os.sched_getaffinity(0)), cells))


class _CommonInputs:
    """Inputs of cells that differ in decisions alone: read once, and given back when the last of these cells is done."""

    def __init__(self, jobs: list[_Job]) -> None:
        decisions = frozenset((*_core.decision_keys(), "baseline", "bound"))
        self._jobs: dict[Any, list[_Job]] = {}
        self._key_of: dict[int, Any] = {}
        for job in jobs:
            key = tuple((name, os.fspath(value) if isinstance(value, os.PathLike) else
                         repr(value) if isinstance(value, (str, int, float)) else id(value))
                        for name, value in job.options.items() if name not in decisions and value is not None)
            self._key_of[job.number] = key
            self._jobs.setdefault(key, []).append(job)
        self._left = {key: len(group) for key, group in self._jobs.items()}
        self._inputs: dict[Any, _core.CommonInput] = {}
        self._lock = threading.Lock()

    def side_by_side(self) -> list[_Job]:
        """The cells, those of an input one after the other."""
        return [job for group in self._jobs.values() for job in group]

    def of(self, job: _Job) -> _core.CommonInput | None:
        key = self._key_of[job.number]
        if len(self._jobs[key]) == 1:
            return None
        with self._lock:
            if key not in self._inputs:
                self._inputs[key] = _core.CommonInput()
            return self._inputs[key]

    def done(self, job: _Job) -> None:
        key = self._key_of[job.number]
        with self._lock:
            self._left[key] -= 1
            if self._left[key] == 0:
                self._inputs.pop(key, None)


def own_objects(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with copies of the policies and disciplines in them, which serve one run at a time."""
    import copy

    return {key: copy.deepcopy(value) if isinstance(value, (Policy, Discipline)) else value
            for key, value in options.items()}


# ---- finished cells


class _Store:
    """A folder with a file for each finished cell, named by its address."""

    def __init__(self, folder: Any, jobs: list[_Job]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._addresses = {job.number: job.address() for job in jobs}
        if not all(self._addresses.values()):
            warnings.warn("cells of policies without a key are run and not kept in the folder", stacklevel=4)

    def _path(self, job: _Job) -> Path | None:
        address = self._addresses[job.number]
        return self._folder / f"{address}.json" if address else None

    def lookup(self, job: _Job) -> dict[str, Any] | None:
        path = self._path(job)
        if path is None or job.keep == "all":
            return None
        try:
            content = json.loads(path.read_bytes())
            return {"figures": {name: math.nan if value is None else value for name, value in content["figures"].items()},
                    "curve": content["curve"], "part": content["part"], "result": None, "error": None,
                    "seconds": content["seconds"]}
        except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
            return None

    def store(self, job: _Job, outcome: dict[str, Any]) -> None:
        path = self._path(job)
        if path is None:
            return
        content = {"cell": job.labels, "seconds": outcome["seconds"], "curve": outcome["curve"], "part": outcome["part"],
                   "figures": {name: None if math.isnan(value) else value for name, value in outcome["figures"].items()}}
        part = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.part")
        with open(part, "w", encoding="utf-8") as file:
            json.dump(content, file, default=str)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)


# ---- results


def _sweep_of(keys: list[str], jobs: list[_Job], finished: dict[int, dict[str, Any]], keep: str,
              timing: tuple[float, float, int]) -> Sweep:
    outcomes = [finished[job.number] for job in jobs]
    figures = next((list(outcome["figures"]) for outcome in outcomes if outcome["figures"]), [])
    columns: dict[str, list[Any]] = {"cell": [job.name for job in jobs]}
    for key in keys:
        columns[key] = [job.labels.get(key) for job in jobs]
    for name in figures:
        columns[name] = [outcome["figures"][name] if outcome["figures"] else None for outcome in outcomes]
    columns["seconds"] = [outcome["seconds"] for outcome in outcomes]
    columns["error"] = ["" if outcome["error"] is None else str(outcome["error"]) for outcome in outcomes]
    results = {job.name: outcome["result"] for job, outcome in zip(jobs, outcomes) if outcome["result"] is not None}
    curves: dict[str, list[Any]] = {}
    if keep != "figures":
        curves = _joined_curves(keys, jobs, outcomes)
    record = {"settings": settings_of(jobs[0].options), "keep": keep, "timing": timing,
              "cells": [outcome["part"] for outcome in outcomes], "rows": [_rows_of(outcome) for outcome in outcomes]}
    return Sweep(keys, table_of_columns(columns), table_of_columns(curves), results, record)


def _rows_of(outcome: dict[str, Any]) -> int:
    return len(next(iter((outcome["curve"] or {}).values()), ()))


def _joined_curves(keys: list[str], jobs: list[_Job], outcomes: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome["curve"] or ()))
    curves: dict[str, list[Any]] = {name: [] for name in ("cell", *keys, *names)}
    for job, outcome in zip(jobs, outcomes):
        curve = outcome["curve"] or {}
        rows = _rows_of(outcome)
        curves["cell"] += [job.name] * rows
        for key in keys:
            curves[key] += [job.labels.get(key)] * rows
        for name in names:
            curves[name] += curve.get(name, [None] * rows)
    return curves
