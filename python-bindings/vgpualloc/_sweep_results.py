"""What a sweep has found."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
             "served_compute_ratio": True}


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

    def __init__(self, keys: list[str], table: Table, curves: Table, results: dict[str, Result]) -> None:
        self._keys = keys
        self.table = table
        self.curves = curves
        self.results = results

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

    def _rows(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        for key in keys:
            if key not in self._keys:
                raise bad_value("unknown_name", "by", key, f"one of the grid's keys {', '.join(self._keys)}")
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
            measure, the other keys but the seed, of, against, mean, low_95, high_95, seeds_matter, shown (``better``,
            ``worse``, ``no difference``). Differences are in the unit that the measure's name ends in.

        Raises
        ------
        InputError
            A key that is not the grid's, or a value that is not its.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> s = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **vg.example("quickstart"))
        >>> s.differences(against="fgd").columns
        ['measure', 'policy', 'against', 'mean', 'low_95', 'high_95', 'seeds_matter', 'shown']
        """
        rows = self._rows([of])
        if against not in {row[of] for row in rows}:
            raise bad_value("unknown_name", "against", against, f"a value of {of} in the grid")
        others = [key for key in self._keys if key not in (of, "seed")]
        at: dict[tuple[Any, ...], dict[Any, dict[str, Any]]] = {}
        for row in rows:
            at.setdefault((row[of], *(row[key] for key in others)), {})[row.get("seed")] = row
        columns: dict[str, list[Any]] = {
            name: [] for name in ("measure", *others, of, "against", "mean", "low_95", "high_95", "seeds_matter", "shown")}
        for measure, more_is_better in _MEASURES.items():
            if measure not in self.table.columns:
                continue
            for (value, *labels), seeds in at.items():
                base = at.get((against, *labels), {})
                common = [seed for seed in base if seed in seeds]
                if value == against or len(common) < 2:
                    continue
                first = [float(base[seed][measure]) for seed in common]
                second = [float(seeds[seed][measure]) for seed in common]
                if any(number != number for number in first + second):
                    continue
                mean, low, high, seeds_matter, is_shown = _core.paired_difference(first, second)
                word = "no difference" if not is_shown else "better" if (mean > 0) == more_is_better else "worse"
                for key, label in zip(others, labels):
                    columns[key].append(label)
                for name, cell in (("measure", measure), (of, value), ("against", against), ("mean", mean),
                                   ("low_95", low), ("high_95", high), ("seeds_matter", seeds_matter), ("shown", word)):
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

    def __repr__(self) -> str:
        sizes = [f"{len(set(self.table[key].tolist()))} {key}" for key in self._keys]
        return f"Sweep({len(self.table)} cells: {' × '.join(sizes)}; {len(self.errors)} failed)"

    def __str__(self) -> str:
        return str(self.mean(self._keys[:1])) if self._keys else repr(self)

    def _repr_html_(self) -> str:
        return _html.of_sweep(self)
