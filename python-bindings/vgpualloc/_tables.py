"""Tables of results: columns that NumPy views and DataFrames take without a copy per row."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vgpualloc import _core
from vgpualloc._errors import whole_number
from vgpualloc._html import table

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

_SHOWN_ROWS = 5


class Table:
    """Named columns of equal length that never change.

    ``table["node"]`` is a read-only array of shape (rows,): ``int64``, ``float64`` (NaN where nothing is known) or
    ``bool`` without a copy, or text as objects of ``str``. Names end in the unit: ``_milli`` thousandths, ``_s``
    seconds, ``_mib`` MiB, ``_ratio`` from 0 to 1. ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table`` take
    a Table as it is, by the Arrow PyCapsule protocol.

    Raises
    ------
    KeyError
        ``table[name]`` of a column that is not there; the columns are listed.
    TypeError
        A Table that is made by its class and not by ``Table.of()``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> table = vg.Table.of({"node": ["a", "b"], "gpus": [4, 8]})
    >>> table
    Table(2 rows × 2 columns: node, gpus)
    >>> int(table["gpus"].sum())
    12
    """

    __slots__ = ("_frame", "_names", "_texts")
    _frame: _core.Frame
    _names: dict[str, int]
    _texts: dict[str, npt.NDArray[Any]]

    def __init__(self) -> None:
        raise TypeError("a Table comes from a result, or from Table.of()")

    @classmethod
    def _over(cls, frame: _core.Frame) -> Table:
        table = object.__new__(cls)
        table._frame = frame
        table._names = {name: position for position, name in enumerate(frame.names())}
        table._texts = {}
        return table

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]]) -> Table:
        """A table of lists; the values of each are all bool, whole numbers, numbers or text, or None.

        Parameters
        ----------
        columns : mapping of str to iterable
            The values of each column.

        Raises
        ------
        ValueError
            The lists are not of equal length.
        TypeError
            Values of several kinds in one list, or of another kind.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> print(vg.Table.of({"node": ["a", "b"], "load_ratio": [0.5, None]}))
        node  load_ratio
        a     0.5
        b     nan
        """
        if not isinstance(columns, Mapping):
            raise TypeError(f"columns: expected lists by name, not {type(columns).__name__}")
        lists = [(str(name), list(values)) for name, values in columns.items()]
        if len({len(values) for _, values in lists}) > 1:
            raise ValueError("columns of different lengths: " +
                             ", ".join(f"{name} {len(values)}" for name, values in lists))
        return cls._over(_core.Frame.from_pairs(lists))

    @property
    def columns(self) -> list[str]:
        """The names, in order.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"node": ["a"], "gpus": [4]}).columns
        ['node', 'gpus']
        """
        return list(self._names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"node": ["a", "b"]}).shape
        (2, 1)
        """
        return len(self), len(self._names)

    def __len__(self) -> int:
        return self._frame.rows()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._names:
            raise KeyError(f"{name!r}; the columns are {', '.join(self._names)}")
        position = self._names[name]
        if self._frame.kind(position) != "text":
            return self._frame.array(position)
        if name not in self._texts:
            import numpy as np

            dictionary: npt.NDArray[Any] = np.empty(len(words := self._frame.dictionary(position)), dtype=np.object_)
            dictionary[:] = words
            texts = dictionary[self._frame.array(position)] if len(dictionary) else np.empty(0, dtype=np.object_)
            texts.flags.writeable = False
            self._texts[name] = texts.view()  # whose flag cannot be set again
        return self._texts[name]

    def head(self, n: int = 10) -> Table:
        """The first rows.

        Parameters
        ----------
        n : int
            How many, at most.

        Returns
        -------
        Table

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"gpus": [4, 8, 2]}).head(2)["gpus"].tolist()
        [4, 8]
        """
        return self._rows(range(min(whole_number("head()", "n", n), len(self))))

    def _rows(self, rows: range) -> Table:
        part = slice(rows.start, rows.stop)
        return Table.of({name: self[name][part].tolist() for name in self._names})

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows, each as a dictionary.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"node": ["a", "b"], "gpus": [4, 8]}).to_dict()
        [{'node': 'a', 'gpus': 4}, {'node': 'b', 'gpus': 8}]
        """
        lists = [self[name].tolist() for name in self._names]
        return [dict(zip(self._names, row)) for row in zip(*lists)]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.arrow_stream()

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table``; text is dictionaries.

        Raises
        ------
        ImportError
            There is no pyarrow: ``pip install vgpualloc[frames]``.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"gpus": [4, 8]}).to_arrow().num_rows
        2
        """
        return _needed("pyarrow", "to_arrow()", "frames").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``; text is categorical, but for names of pods, each of which is there once.

        Raises
        ------
        ImportError
            There is no pandas: ``pip install vgpualloc[frames]``.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"gpus": [4, 8]}).to_pandas().shape
        (2, 1)
        """
        pandas = _needed("pandas", "to_pandas()", "frames")
        return pandas.DataFrame({name: self._for_pandas(pandas, name) for name in self._names})

    def _for_pandas(self, pandas: Any, name: str) -> Any:
        position = self._names[name]
        if self._frame.kind(position) != "text":
            return self._frame.array(position)
        if (name, self._frame.names()[0]) == ("name", "order"):  # a table of pods: pandas would make sure of it for long
            return self[name]
        return pandas.Categorical.from_codes(self._frame.array(position), categories=self._frame.dictionary(position))

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``; text is categorical.

        Raises
        ------
        ImportError
            There is no polars.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Table.of({"gpus": [4, 8]}).to_polars().height
        2
        """
        frame: polars.DataFrame = _needed("polars", "to_polars()", "frames").DataFrame(self)
        return frame

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file, by pyarrow.

        Parameters
        ----------
        path : path

        Raises
        ------
        ImportError
            There is no pyarrow: ``pip install vgpualloc[frames]``.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> import vgpualloc as vg, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "pods.parquet"
        ...     vg.Table.of({"gpus": [4, 8]}).to_parquet(path)
        ...     path.stat().st_size > 0
        True
        """
        _needed("pyarrow.parquet", "to_parquet()", "frames").write_table(self.to_arrow(), path)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows × {len(self._names)} columns: {', '.join(self._names)})"

    def __str__(self) -> str:
        rows = [self.columns, *self._shown_rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._names))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def _shown_rows(self) -> list[list[str]]:
        count = len(self)
        if count <= 2 * _SHOWN_ROWS:
            return self._texts_of(slice(None))
        return [*self._texts_of(slice(0, _SHOWN_ROWS)), ["…"] * len(self._names),
                *self._texts_of(slice(count - _SHOWN_ROWS, count))]

    def _texts_of(self, part: slice) -> list[list[str]]:
        columns = [[str(value) for value in self[name][part].tolist()] for name in self._names]
        return [list(row) for row in zip(*columns)]

    def _repr_html_(self) -> str:
        return table(self.columns, self._shown_rows(), [self._frame.kind(i) for i in range(len(self._names))])

    def __reduce__(self) -> tuple[Any, ...]:
        return _table_of, ([(name, self._frame.kind(i), self[name].tolist()) for name, i in self._names.items()],)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and all(_same(self[name], other[name]) for name in self._names)

    __hash__ = None  # type: ignore[assignment]


def table_of_columns(columns: Mapping[str, list[Any]]) -> Table:
    """A table of lists, where values of several kinds in one, and numbers beyond 64 bits, become text."""
    return Table.of({name: _column(values) for name, values in columns.items()})


def table_of_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    """A table of tuples."""
    return table_of_columns({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _column(cells: list[Any]) -> list[Any]:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int} and any(cell is not None and not -(1 << 63) <= cell < 1 << 63 for cell in cells):
        return [None if cell is None else str(cell) for cell in cells]  # as large as a seed may be
    if len(kinds) <= 1 or kinds <= {int, float}:
        return cells
    return [None if cell is None else cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]


def _same(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> bool:
    import numpy as np

    return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=left.dtype == np.float64)


def _table_of(columns: list[tuple[str, str, list[Any]]]) -> Table:
    return Table._over(_core.Frame.from_pairs([(name, values) for name, _, values in columns]))


def _needed(module: str, what: str, extra: str) -> Any:
    """Imports a package of an extra, or says which."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as absent:
        raise ImportError(f"{what} needs {module.split('.')[0]}: pip install vgpualloc[{extra}]") from absent
