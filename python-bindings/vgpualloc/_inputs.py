"""What a caller gives as an input: a path, a content or a table."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from vgpualloc import _core
from vgpualloc._errors import InputError, bad_value

Named = tuple[str, bytes | _core.InputColumns]
Manifest = str | os.PathLike[str] | bytes | Mapping[str, Any]
Manifests = Manifest | Sequence[Manifest]


def named_input(key: str, value: Any) -> tuple[str, list[Named]]:
    """The name of an input, and what it names where it is no file.

    ``str`` and path objects are paths, ``bytes`` are the content, all else is a table.
    """
    if isinstance(value, (str, os.PathLike)):
        return checked_path(key, value), []
    name = f"<{key}>"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return name, [(name, bytes(value))]
    return name, [(name, columns_of(name, value))]


def checked_path(key: str, value: Any) -> str:
    """A path as text. ValueError for a NUL, as Python's own calls have it."""
    path = os.fsdecode(value)
    if "\0" in path:
        raise bad_value("malformed", key, ascii(path)[1:-1], "a path without NUL")
    return path


def named_objects(key: str, value: Any) -> tuple[list[str], list[Named]]:
    """Names of inputs with Kubernetes objects: files or contents, or objects as mappings, one or several."""
    if isinstance(value, (str, os.PathLike, bytes, bytearray)):
        name, named = named_input(key, value)
        return [name], named
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence):
        raise TypeError(f"{key}: expected a path, bytes, an object or a list of them, not {type(value).__name__}")
    names: list[str] = []
    inputs: list[Named] = []
    for number, part in enumerate(value):
        label = key if len(value) == 1 else f"{key} {number}"
        if isinstance(part, Mapping):
            part = manifest_bytes(part)
        name, named = named_input(label, part)
        names.append(name)
        inputs += named
    return names, inputs


#: Fields of Kubernetes objects whose keys are their owners' own.
_MAPS = {"labels", "annotations", "limits", "requests", "node_selector", "match_labels", "allocatable", "capacity", "data"}


def manifest_bytes(document: Mapping[str, Any]) -> bytes:
    """An object as a mapping, as JSON. As the Kubernetes client's to_dict() gives it too: with None, times and api_version."""
    return json.dumps(_as_manifest(document, "api_version" in document), default=_time_of).encode()


def _as_manifest(value: Any, is_snake_case: bool) -> Any:
    if isinstance(value, Mapping):
        return {_camel_case(str(key)) if is_snake_case else key: _as_manifest(part, is_snake_case and key not in _MAPS)
                for key, part in value.items() if part is not None}
    if isinstance(value, (list, tuple)):
        return [_as_manifest(part, is_snake_case) for part in value]
    return value


def _camel_case(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(part.capitalize() for part in others)


def _time_of(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"an object of Kubernetes has no {type(value).__name__}")


def columns_of(name: str, table: Any) -> _core.InputColumns:
    """The columns of a table: whatever exports an Arrow stream, or columns by name."""
    is_frame = hasattr(table, "to_dict") and hasattr(table, "columns") and not isinstance(table, Mapping)
    if is_frame:
        twice = [str(column) for column in table.columns if list(table.columns).count(column) > 1]
        if twice:
            raise bad_value("duplicate", twice[0], "", "column names that occur once", name)
    if hasattr(table, "__arrow_c_stream__"):
        try:
            return _core.InputColumns.from_arrow(name, table)
        except InputError:
            raise
        except Exception:
            if not is_frame:  # pandas exports through pyarrow, which is not there or does not take some column
                raise
    if is_frame:
        table = {str(column): table[column] for column in table.columns}
    if not isinstance(table, Mapping):
        raise TypeError(f"{name}: expected a path, bytes, a DataFrame or columns by name, not {type(table).__name__}")
    length = max((len(cells) for cells in table.values() if not isinstance(cells, str) and hasattr(cells, "__len__")),
                 default=0)
    pairs = [(str(column), _cells(name, str(column), cells, length)) for column, cells in table.items()]
    return _core.InputColumns.from_pairs(name, pairs)


def _cells(name: str, column: str, cells: Any, length: int) -> Any:
    """One column as the core takes it: an array of int64, float64 or bool, or a list of str and None."""
    import numpy as np

    if isinstance(cells, (str, bool, int, float)):  # the same in every row
        cells = [cells] * length
    array = np.asarray(cells)
    if array.ndim != 1:
        raise bad_value("malformed", column, f"{array.ndim} dimensions", "one value for each row", name)
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and len(array) and array.max() > np.iinfo(np.int64).max:
        raise bad_value("out_of_range", column, array.max(), "a whole number below 2^63", name)
    if array.dtype.kind in "iu":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind == "M":  # as lists write times
        times = np.datetime_as_string(array, unit="us", casting="unsafe").tolist()
        return _texts(name, column, [None if time == "NaT" else time.replace("T", " ") for time in times])
    if array.dtype.kind in "OTU":  # of a list NumPy makes text of NaN beside text
        return _texts(name, column, array.tolist() if isinstance(cells, np.ndarray) or array.dtype.kind != "U" else list(cells))
    raise bad_value("unsupported", column, str(array.dtype), "whole numbers, real numbers, bool, text or times", name)


def _texts(name: str, column: str, cells: list[Any]) -> list[str | None]:
    """Cells as text, None and NaN as None. No function of Python is called for a cell: there may be millions."""
    import numpy as np

    kinds = set(map(type, cells))
    empty = {kind for kind in kinds if kind is type(None) or kind.__name__ == "NAType"}  # None and pandas.NA
    if kinds <= {str, type(None)}:
        return cells
    wrong = {kind for kind in kinds - empty if not issubclass(kind, (str, int, float, np.number, np.bool_)) or issubclass(kind, complex)}
    if wrong:
        row, cell = next((row, cell) for row, cell in enumerate(cells) if type(cell) in wrong)
        raise InputError(f"{name} row {row}: {column}: got a {type(cell).__name__}, expected text or a number",
                         code="unsupported", where=f"{name} row {row}", field=column, value=repr(cell),
                         expected="text or a number")
    return [cell if type(cell) is str else None if type(cell) in empty or cell != cell else
            ("false", "true")[bool(cell)] if isinstance(cell, (bool, np.bool_)) else
            str(cell).removesuffix(".0") if isinstance(cell, float) else str(cell) for cell in cells]


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
