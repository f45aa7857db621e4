"""What a sweep has found."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgpualloc import _core, _html
from vgpualloc._errors import bad_value
from vgpualloc._tables import Table, table_of_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vgpualloc._simulate import Result

#: Of compared measures: whether more is better. The figures of a cell that differences() tells of.
_MEASURES = {"served_ratio": True, "allocation_mean_ratio": True, "fragmentation_mean_milli": False, "pods_placed": True,
             "wait_mean_s": False, "bounded_slowdown_mean": False, "served_memory_ratio": True,
             "served_compute_ratio": True, "accepted_gpu_ratio": True}
#: More of these is not better: who turns large pods away places more of them.
_NOT_JUDGED = ("pods_placed",)
_OF_QUEUES = ("wait_mean_s", "bounded_slowdown_mean")


class _Compared(dict[str, Any]):
    """A row of the table, with what else is known of the cell."""

    def __init__(self, row: dict[str, Any], part: dict[str, Any]) -> None:
        super().__init__(row)
        self.means = part["means"]
        self.jobs = dict(zip(_OF_QUEUES, part["jobs_of_waits"])) if part["jobs_of_waits"] else None


def _share_span(rows: list[_Compared]) -> None:
    """Takes means over time until the last of these runs has ended, as vgpusim compare does."""
    ends = [row.means[0] for row in rows if row.means]
    for row in rows:
        if not row.means:
            continue
        end, span, of_measures = row.means
        span_more = max(ends) - end
        if span + span_more == 0:
            continue
        for measure, (total, at_end, whole) in of_measures.items():
            mean = float(total + at_end * span_more) / float(span + span_more)
            row[measure] = mean / whole if whole > 0 else 0.0


def _difference(measure: str, first: list[_Compared], second: list[_Compared]) -> dict[str, Any] | None:
    """Columns of a measure over the same seeds; None: one of the runs does not have it."""
    values = [[float(row[measure]) for row in rows] for rows in (first, second)]
    comparable = True
    if measure in _OF_QUEUES:
        jobs = [[row.jobs[measure] if row.jobs else None for row in rows] for rows in (first, second)]
        if None in jobs[0] or None in jobs[1]:
            return None
        comparable = 0 not in jobs[0] and jobs[0] == jobs[1]  # who starts only what need not wait has the shortest waits
        values = [[0.0 if value != value else value for value in of] for of in values]
    elif any(value != value for of in values for value in of):
        return None
    mean, low, high, seeds_matter, is_shown = _core.paired_difference(*values)
    word = "no difference" if not is_shown else "better" if (mean > 0) == _MEASURES[measure] else "worse"
    if not comparable:
        mean, low, high, word = math.nan, math.nan, math.nan, "not comparable"
    return {"mean": mean, "low_95": low, "high_95": high, "seeds_matter": seeds_matter, "judged": measure not in _NOT_JUDGED,
            "shown": word}


class Sweep:
    """Finished cells.

    Attributes
    ----------
    table : Table
        A row for each cell: ``cell``, the grid's keys, figures, ``seconds``, ``error``.
    curves : Table
        Values at whole percents of load (``load_pct``), or at 200 equal times (``time_s``) where pods leave.
    errors : Table
        The rows of cells that failed.
    results : dict of str to Result
        By cell, of a sweep with ``keep="all"``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **vg.example("quickstart"))
    Sweep(6 cells: 2 policy × 3 seed; 0 failed)
    """

    def __init__(self, keys: list[str], table: Table, curves: Table, results: dict[str, Result],
                 record: dict[str, Any]) -> None:
        self._keys = keys
        self.table = table
        self.curves = curves
        self.results = results
        self._record = record  # what write() and differences() need beside the tables

    @property
    def errors(self) -> Table:
        """A row for each cell that failed: cell, the grid's keys, error.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.sweep({"policy": ["fgd", "worst"]}, **vg.example("quickstart")).errors["cell"].tolist()
        ['policy=worst']
        """
        rows = [row for row in self.table.to_dict() if row["error"]]
        return table_of_columns({name: [row[name] for row in rows] for name in ("cell", *self._keys, "error")})

    def _figures(self) -> list[str]:
        return [name for name in self.table.columns if name not in ("cell", "seconds", "error", *self._keys)]

    def mean(self, by: str | Sequence[str] = "policy") -> Table:
        """Mean and standard deviation of every figure over the cells that are alike in these keys.

        Parameters
        ----------
        by : str or sequence of str
            Keys of the grid.

        Returns
        -------
        Table
            The keys, measure, mean, sd (of a sample; NaN of one cell), n. In the unit that the measure's name ends in.

        Raises
        ------
        InputError
            A key that is not the grid's.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> s = vg.sweep({"policy": ["fgd"], "seed": range(3)}, **vg.example("quickstart"))
        >>> s.mean().to_dict()[0]["measure"], s.mean().columns
        ('arrived', ['policy', 'measure', 'mean', 'sd', 'n'])
        """
        by = [by] if isinstance(by, str) else list(by)
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self._rows(by):
            groups.setdefault(tuple(row[key] for key in by), []).append(row)
        columns: dict[str, list[Any]] = {name: [] for name in (*by, "measure", "mean", "sd", "n")}
        for labels, rows in groups.items():
            for figure in self._figures():
                values = [row[figure] for row in rows if row[figure] == row[figure]]
                if not values:
                    continue
                mean, deviation = _core.mean_and_deviation(values)
                for key, label in zip(by, labels):
                    columns[key].append(label)
                for name, value in (("measure", figure), ("mean", mean), ("sd", deviation if len(values) > 1 else math.nan),
                                    ("n", len(values))):
                    columns[name].append(value)
        return table_of_columns(columns)

    def _check_keys(self, keys: Sequence[str]) -> None:
        for key in keys:
            if key not in self._keys:
                raise bad_value("unknown_name", "by", key, f"one of the grid's keys {', '.join(self._keys)}")

    def _rows(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        self._check_keys(keys)
        return [row for row in self.table.to_dict() if not row["error"]]

    def differences(self, of: str = "policy", *, against: Any) -> Table:
        """How values of a key differ from one of them, seed by seed, with 95 % confidence intervals (Student's t).

        Parameters
        ----------
        of : str
            A key of the grid.
        against : object
            The value of it that the others are compared with.

        Returns
        -------
        Table
            measure, the other keys but the seed, of, against, mean, low_95, high_95, seeds_matter, judged (whether more
            or less of it is better at all: not of ``pods_placed``), shown (``better``,
            ``worse``, ``no difference``, or ``not comparable`` with NaN where waits are of fewer jobs in one run than in
            the other). Differences are in the unit that the measure's name ends in. Means over time are until the last
            of the compared runs of a seed has ended. The numbers are those of ``vgpusim compare --seeds``.

        Raises
        ------
        InputError
            A key that is not the grid's, or a value that is not its.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **vg.example("quickstart"))
        >>> s.differences(against="fgd").columns
        ['measure', 'policy', 'against', 'mean', 'low_95', 'high_95', 'seeds_matter', 'judged', 'shown']
        """
        rows = [_Compared(row, part) for row, part in zip(self.table.to_dict(), self._record["cells"]) if not row["error"]]
        self._check_keys([of])
        if against not in {row[of] for row in rows}:
            raise bad_value("unknown_name", "against", against, f"a value of {of} in the grid")
        others = [key for key in self._keys if key not in (of, "seed")]
        at: dict[tuple[Any, ...], dict[Any, _Compared]] = {}
        alike: dict[tuple[Any, ...], list[_Compared]] = {}
        for row in rows:
            labels = [row[key] for key in others]
            at.setdefault((row[of], *labels), {})[row.get("seed")] = row
            alike.setdefault((row.get("seed"), *labels), []).append(row)
        for group in alike.values():
            _share_span(group)
        columns: dict[str, list[Any]] = {
            name: [] for name in ("measure", *others, of, "against", "mean", "low_95", "high_95", "seeds_matter", "judged",
                           "shown")}
        for measure in _MEASURES:
            for (value, *labels), seeds in at.items():
                base = at.get((against, *labels), {})
                common = [seed for seed in base if seed in seeds]
                if value == against or len(common) < 2 or measure not in self.table.columns:
                    continue
                compared = _difference(measure, [base[seed] for seed in common], [seeds[seed] for seed in common])
                if compared is None:
                    continue
                for key, label in zip(others, labels):
                    columns[key].append(label)
                for name, cell in ((("measure", measure), (of, value), ("against", against), *compared.items())):
                    columns[name].append(cell)
        return table_of_columns(columns)

    def plot(self, what: str = "allocation", *, by: str = "policy", ax: Axes | None = None) -> Axes:
        """A curve for each value of a key, the mean over all else, with a band of one standard deviation.

        Parameters
        ----------
        what : {"allocation", "fragmentation", "waits"}
        by : str
            A key of the grid.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            A word or a key that is not known, or a measure that the sweep does not have.
        ImportError
            There is no matplotlib: ``pip install vgpualloc[plot]``.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(2)}, **vg.example("quickstart"))
        >>> [line.get_label() for line in s.plot("allocation").get_lines()]
        ['fgd', 'best_fit']
        """
        from vgpualloc._plots import plot_sweep

        axes: Axes = plot_sweep(self, what, by, ax)
        return axes

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the ``study.csv`` and ``study.json`` of ``vgpusim study``: both or neither.

        The bytes are those of the command, but for ``timing``, where it takes the same policies, lists, seeds and, of
        workload models, loads. Lists have the labels of the grid: paths, or what a mapping calls them. Policies in Python
        have their labels too. Files that an earlier run has left in the folder are removed; files of others stay.

        Parameters
        ----------
        folder : path
            It is made where it is not there.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        OSError
            A file cannot be written.
        InputError
            The sweep is no study: another key than ``policy``, ``pods``, ``seed`` and, of models, ``offered_load`` has
            several values; a combination of them is missing; seeds have gaps; a key of a run that a study does not have;
            a cell failed; it has no curves (``keep="figures"``). Or an input lies where a file would be written.

        Examples
        --------
        >>> import vgpualloc as vg, tempfile
        >>> s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **vg.example("quickstart"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in s.write(folder)]
        ['study.csv', 'study.json']
        """
        from vgpualloc._study import write_study

        return write_study(self, folder)

    def __repr__(self) -> str:
        sizes = [f"{len(set(self.table[key].tolist()))} {key}" for key in self._keys]
        return f"Sweep({len(self.table)} cells: {' × '.join(sizes)}; {len(self.errors)} failed)"

    def __str__(self) -> str:
        return str(self.mean(self._keys[:1])) if self._keys else repr(self)

    def _repr_html_(self) -> str:
        return _html.of_sweep(self)
