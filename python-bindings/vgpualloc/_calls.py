"""The two calls whose keywords are the keys of the option table. Type checkers read _calls.pyi, where these are spelled out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from vgpualloc._known import options as option_table
from vgpualloc._simulate import Result, run
from vgpualloc._sweep import run_sweep
from vgpualloc._sweep_results import Sweep


def simulate(nodes: Any = None, pods: Any = None, *, scenario: Any = None, baseline: Mapping[str, Any] | None = None,
             bound: bool = False, progress: Any = None, **options: Any) -> Result:
    """Replays pods on nodes under a policy.

    Parameters
    ----------
    nodes, pods : path, bytes or table
        The lists: a path (``str`` or a path object), the content (``bytes``), or columns (a DataFrame of pandas or
        polars, an Arrow table, a dictionary of arrays).
    scenario : path or bytes, optional
        A scenario file. Keywords win over it.
    baseline : mapping, optional
        Keys in which a second run differs that the first one is compared with.
    bound : bool
        Also say how much any policy could have served, at most.
    progress : bool or callable, optional
        A callable gets ``(done, total)`` now and then, in pods. True: a bar of tqdm; None: the same where somebody looks.
    **options
        The keys of ``vgpualloc.known("options")``, with their units in their names. Those that name inputs take what
        ``nodes`` takes; ``policy``, ``device_policy`` and ``discipline`` also take objects.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        A keyword that is not known, with the nearest one.
    InputError
        A value, a list or a combination that is refused; the sentence is that of ``vgpusim run``.
    StateError
        A policy or discipline that is in another run.
    OSError
        A file that cannot be read.
    ImportError
        A bound or prices of ``dual_price`` without HiGHS: ``pip install vgpualloc[solver]``.
    KeyboardInterrupt
        Ctrl-C, within 100 ms; a bound of a large cluster may take seconds.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> r = vg.simulate(**vg.example("quickstart"), policy="best_fit", tune=1.3, seed=77)
    >>> r.summary["config"]["policy"], len(r.pods) > 0
    ('best_fit', True)
    """
    return run({"nodes": nodes, "pods": pods, **options}, scenario=scenario, baseline=baseline, bound=bound,
               progress=progress)


def sweep(grid: Any, *, executor: Any = "local", workers: int | None = None, cache: Any = None, keep: str = "curves",
          on_error: str = "keep", progress: Any = None, **fixed: Any) -> Sweep:
    """Runs ``simulate()`` for every cell of a grid.

    Parameters
    ----------
    grid : mapping, sequence of mappings, or path or bytes
        Keys of ``simulate()`` with the values that each takes: every combination is a cell, the last key fastest. Or
        the cells themselves. Or a study's scenario file. ``nodes`` and ``pods`` in it are labels with their inputs,
        ``{label: input}``.
    executor : {"local", "ray", "dask"} or distributed.Client
        Where cells run: threads of this process, or workers of a cluster.
    workers : int, optional
        How many at once; by default as many as there are processors.
    cache : path, optional
        A folder of finished cells. A cell that is in it is not run again, whoever ran it.
    keep : {"figures", "curves", "all"}
        What is kept of a run: figures; also curves; also a ``Result`` each.
    on_error : {"keep", "raise"}
        What becomes of a cell that fails: a row with its error, or an exception that ends the sweep.
    progress : bool or callable, optional
        As in ``simulate()``, in cells.
    **fixed
        Keys of ``simulate()`` that all cells have.

    Returns
    -------
    Sweep

    Raises
    ------
    TypeError
        A grid that is none, a key that is both in the grid and a keyword.
    InputError
        A word that is not known, a grid without cells, values that occur twice; with ``on_error="raise"`` also what
        a cell fails with.
    ImportError
        An executor whose package is not there.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **vg.example("quickstart"))
    >>> len(s.table), sorted(set(s.table["policy"]))
    (6, ['best_fit', 'fgd'])
    """
    return run_sweep(grid, fixed, executor=executor, workers=workers, cache=cache, keep=keep, on_error=on_error,
                     progress=progress)


def _signature(function: Callable[..., Any], first: tuple[str, ...], last: tuple[str, ...]) -> inspect.Signature:
    """A function's parameters, with those of the option table between, nodes and pods before the others."""
    own = inspect.signature(function)
    by_name = {key: inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=_default_of(option))
               for key, option in option_table().items()}
    between = [key for key in sorted(by_name, key=lambda key: key not in ("nodes", "pods")) if key not in first]
    by_name |= {"scenario": inspect.Parameter("scenario", inspect.Parameter.KEYWORD_ONLY, default=None),
                "baseline": inspect.Parameter("baseline", inspect.Parameter.KEYWORD_ONLY, default=None),
                "bound": inspect.Parameter("bound", inspect.Parameter.KEYWORD_ONLY, default=False)}
    by_name |= own.parameters
    return own.replace(parameters=[by_name[key] for key in (*first, *between, *last)])


def _default_of(option: Mapping[str, str]) -> Any:
    text, kind = option["default"], option["type"]
    if kind == "true or false":
        return text == "true"
    if kind == "whole number":
        return int(text)
    if kind == "real number":
        return float(text)
    return None if kind == "input" else text


_APART = ("scenario", "baseline", "bound")
setattr(simulate, "__signature__", _signature(simulate, ("nodes", "pods"), (*_APART, "progress")))
setattr(sweep, "__signature__", _signature(
    sweep, ("grid", "executor", "workers", "cache", "keep", "on_error", "progress"), _APART))
