"""Simulations."""

from __future__ import annotations

import difflib
import html
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgpualloc import _core, _html
from vgpualloc._errors import StateError
from vgpualloc._inputs import Named, checked_path, named_input
from vgpualloc._known import options as option_table
from vgpualloc._policies import checked_discipline, checked_policy, in_run
from vgpualloc._tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def run(options: dict[str, Any], *, scenario: Any = None, baseline: Mapping[str, Any] | None = None, bound: bool = False,
        progress: Any = None, stop: Any = None, common: _core.CommonInput | None = None, keeps_all: bool = True) -> Result:
    """simulate() with a flag that ends it from another thread, and an input that other runs have too.

    Without ``keeps_all`` the result has figures, curve and time series alone.
    """
    for name, value, kind in (("bound", bound, bool), ("baseline", baseline, Mapping | None)):
        if not isinstance(value, kind):
            raise TypeError(f"{name}: expected {'true or false' if kind is bool else 'a mapping'}, not {type(value).__name__}")
    options = dict(options)
    objects = _objects_of(options)
    keys, inputs = named_options(options, "simulate")
    if scenario is not None:
        name, named = named_input("scenario", scenario)
        keys.insert(0, ("scenario", name))
        inputs += named
    if bound:
        keys.append(("bound", "true"))
    compared = None
    if baseline is not None:
        compared, more = named_options(baseline, "baseline")
        inputs += more
    with _teller(progress, runs=1 if baseline is None else 2) as tell, in_run(*objects):
        return Result(_core.simulate(keys, compared, inputs, tell, *objects, stop, common, keeps_all))


def _objects_of(options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Takes policies and a discipline that are objects out of the options. None: what the options say."""
    policy, device_policy, discipline = (options.get(key) for key in ("policy", "device_policy", "discipline"))
    named = [value is None or isinstance(value, str) for value in (policy, device_policy, discipline)]
    if not named[2]:
        discipline = checked_discipline(options.pop("discipline"))
    if named[0] and named[1]:
        return None, None, None if named[2] else discipline
    for key, is_name in (("policy", named[0]), ("device_policy", named[1])):
        if not is_name:
            checked_policy(key, options.pop(key))
    if policy is None:
        policy = option_table()["policy"]["default"]
    return policy, device_policy or None, None if named[2] else discipline


def check_keys(keys: Iterable[str], what: str) -> None:
    """TypeError for a key that is none, with the nearest one."""
    table = option_table()
    for key in keys:
        if key not in table:
            near = difflib.get_close_matches(str(key), table, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{what}() got an unexpected keyword argument {key!r}{hint}")


def named_options(options: Mapping[str, Any], what: str) -> tuple[list[tuple[str, str]], list[Named]]:
    """Options as the core takes them, and what they name that is no file."""
    table = option_table()
    check_keys(options, what)
    keys: list[tuple[str, str]] = []
    inputs: list[Named] = []
    for key, value in options.items():
        if value is None:
            continue
        if table[key]["type"] == "input":
            name, named = named_input(key, value)
            keys.append((key, name))
            inputs += named
        else:
            keys.append((key, _text_of(key, value)))
    return keys, inputs


def _text_of(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{key}: expected a text, a number or a bool, not {type(value).__name__}")


class _teller:
    """What the core tells how far it is: a caller's function or a bar."""

    def __init__(self, progress: Any, unit: str = "pods", runs: int = 1) -> None:
        self._progress = progress
        self._unit = unit
        self._runs = runs  # that are not over
        self._what = ""
        self._before = 0  # in the run that is over
        self._total = 0
        self._bar: Any = None

    def __enter__(self) -> Any:
        if not (self._progress is None or isinstance(self._progress, bool) or callable(self._progress)):
            raise TypeError(f"progress: expected a function, True or False, not {type(self._progress).__name__}")
        if callable(self._progress):
            return self._call
        if self._progress is False or (self._progress is None and not _is_watched()):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a notebook without ipywidgets gets a bar of characters
                from tqdm.auto import tqdm
        except ImportError:
            if self._progress:
                raise ImportError("progress=True needs tqdm: pip install vgpualloc[notebook]") from None
            return None

        def show(what: str, done: int, total: int) -> None:
            if self._bar is None or self._bar.desc.removesuffix(": ") != what:  # some kinds of bars add a colon
                self._close()
                self._bar = tqdm(total=total, desc=what, unit=self._unit)
            self._bar.update(done - self._bar.n)

        return show

    def _call(self, what: str, done: int, total: int) -> None:
        """Tells a caller's function of all runs as one: what is done never falls."""
        if what == "baseline" != self._what:  # the last run
            self._before, self._runs = self._total, 1
        self._what, self._total = what, total
        self._progress(self._before + done, self._before + total * self._runs)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __exit__(self, *raised: object) -> None:
        self._close()


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class Html(str):
    """A page that a notebook shows in a frame of its own. It is a ``str``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> page = vg.simulate(**vg.example("quickstart")).report()
    >>> "<html" in page, page._repr_html_().startswith("<iframe sandbox=")
    (True, True)
    """

    def _repr_html_(self) -> str:
        return (f'<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" '
                f'srcdoc="{html.escape(self, quote=True)}"></iframe>')


class _Unpickled:
    """What a pickled result keeps of its outcome: summary and tables, not what write() and report() need."""

    def __init__(self, answers: dict[str, Any], tables: dict[str, Table], baseline: Result | None) -> None:
        self._answers = answers
        self._tables = tables
        self.baseline = baseline

    def __getattr__(self, name: str) -> Any:
        if name in ("write", "files"):
            raise StateError("the result was unpickled: write() and report() are for the process that ran it", code="state")
        if name in _ANSWERS:
            return lambda: self._answers[name]
        if name in _TABLES:
            return lambda: self._tables[name]._frame
        raise AttributeError(name)


_ANSWERS = ("summary_json", "text", "warnings", "pods_leave", "measures")
_TABLES = ("pods", "timeseries", "curve")


def _result_of(answers: dict[str, Any], tables: dict[str, Table], baseline: Result | None) -> Result:
    return Result(_Unpickled(answers, tables, baseline))


class Result:
    """A finished simulation. ``str()`` is what ``vgpusim run`` prints, but for paths.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> r = vg.simulate(**vg.example("quickstart"), policy="fgd", seed=77)
    >>> print(str(r).splitlines()[0])
    policy         fgd
    """

    __slots__ = ("_outcome", "__dict__", "__weakref__")  # one that no other class has: __class__ cannot be set

    def __init__(self, outcome: _core.Outcome | _Unpickled) -> None:
        self._outcome: Any = outcome
        self._pods: Table | None = None
        self._timeseries: Table | None = None
        self._summary: bytes | None = None  # read once, as its timing is that of the process

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``, as a copy. Units are in the names of keys.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> r = vg.simulate(**vg.example("quickstart"))
        >>> r.summary["pods"]["placed"] == int(r.pods["placed"].sum())
        True
        """
        content: dict[str, Any] = json.loads(self._summary_json())
        return content

    def _summary_json(self) -> bytes:
        if self._summary is None:
            self._summary = self._outcome.summary_json()
        return self._summary

    @property
    def pods(self) -> Table:
        """A row per arrival: the columns of ``pods.csv``.

        Numbers are views without a copy; times are in seconds, NaN where nothing happened; ``reason`` is ``""`` where
        the pod was placed.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.simulate(**vg.example("quickstart")).pods.columns[:5]
        ['order', 'name', 'node', 'gpus', 'placed']
        """
        if self._pods is None:
            self._pods = Table._over(self._outcome.pods())
        return self._pods

    @property
    def timeseries(self) -> Table:
        """A row per sample: the columns of ``timeseries.csv``.

        ``_milli`` are thousandths of a GPU, ``time`` is in seconds.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> allocated = vg.simulate(**vg.example("quickstart")).timeseries["allocated_milli"]
        >>> allocated.dtype.name, allocated.flags.writeable, allocated.flags.owndata
        ('int64', False, False)
        """
        if self._timeseries is None:
            self._timeseries = Table._over(self._outcome.timeseries())
        return self._timeseries

    @property
    def baseline(self) -> Result | None:
        """The run that ``baseline`` asked for; ``None`` without one.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> r = vg.simulate(**vg.example("quickstart"), policy="fgd", baseline={"policy": "random"})
        >>> r.baseline.summary["policy"]
        'random'
        """
        if isinstance(self._outcome, _Unpickled):
            return self._outcome.baseline
        outcome = self._outcome.baseline()
        return None if outcome is None else Result(outcome)

    @property
    def warnings(self) -> list[str]:
        """What the inputs have that is odd, in sentences.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.simulate(**vg.example("quickstart")).warnings
        []
        """
        sentences: list[str] = self._outcome.warnings()
        return sentences

    def write(self, folder: str | os.PathLike[str], *, trace: bool = False) -> list[Path]:
        """Writes what ``vgpusim run --out`` writes, byte for byte: all files or none.

        Files that an earlier run has left in the folder are replaced or removed; files of others stay.

        Parameters
        ----------
        folder : path
            It is made where it is not there.
        trace : bool
            Also write ``trace.json``, which Perfetto opens, as ``--trace`` does. Every run can be written with it,
            whatever its policy; a ``scenario`` with ``trace`` writes it in any case.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        OSError
            A file cannot be written.
        InputError
            An input lies where a file would be written.
        StateError
            The result was unpickled.

        Examples
        --------
        >>> import vgpualloc as vg, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in vg.simulate(**vg.example("quickstart")).write(folder, trace=True))
        ['pods.csv', 'prices.json', 'report.html', 'summary.json', 'timeseries.csv', 'trace.json']
        """
        if not isinstance(trace, bool):
            raise TypeError(f"trace: expected true or false, not {type(trace).__name__}")
        folder = Path(checked_path("folder", folder))
        return [folder / name for name in self._outcome.write(os.fspath(folder), trace)]

    def report(self) -> Html:
        """The page ``report.html``; a notebook shows it.

        Returns
        -------
        Html

        Examples
        --------
        >>> import vgpualloc as vg
        >>> "</html>" in vg.simulate(**vg.example("quickstart")).report()
        True
        """
        return Html(dict(self._outcome.files())["report.html"].decode())

    def plot(self, what: str = "allocation", *, ax: Axes | None = None, **line: Any) -> Axes:
        """Draws what the run was.

        Parameters
        ----------
        what : {"allocation", "fragmentation", "waits", "occupancy"}
            In percent of all GPUs over arrived load, or over time where pods leave; the share of jobs that waited at
            most so long; how many pods each GPU has when most is allocated.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        **line
            What ``Axes.plot`` takes, or ``Axes.imshow`` for occupancy.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            ``what`` is not known.
        ImportError
            There is no matplotlib: ``pip install vgpualloc[plot]``.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> ax = vg.simulate(**vg.example("quickstart")).plot("allocation")
        >>> ax.get_ylabel()
        '% of all GPUs'
        """
        from vgpualloc._plots import plot_result

        axes: Axes = plot_result(self, what, ax, line)
        return axes

    def __reduce__(self) -> Any:
        of = self._outcome
        tables = {name: Table._over(getattr(of, name)()) for name in _TABLES if name != "curve" or not of.pods_leave()}
        answers = {name: getattr(of, name)() for name in _ANSWERS} | {"summary_json": self._summary_json()}
        return _result_of, (answers, tables, self.baseline)

    def __str__(self) -> str:
        return str(self._outcome.text(), errors="replace").rstrip("\n")

    def __repr__(self) -> str:
        summary = self.summary
        config = summary.get("config", {})
        placed, served = int(self.pods["placed"].sum()), 100 * summary["gpu"]["served_ratio"]
        return (f"Result(policy={config.get('policy')!r}, seed={config.get('seed')}, pods={len(self.pods)}, "
                f"placed={placed}, served={served:.2f} %)")

    def _repr_html_(self) -> str:
        return _html.of_result(self)
