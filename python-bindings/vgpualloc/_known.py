"""What there is to choose from."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from vgpualloc import _core
from vgpualloc._errors import bad_value
from vgpualloc._tables import Table

_EXAMPLES = {
    "quickstart": {"nodes": "nodes.csv", "pods": "pods.csv"},
    "cluster": {"objects": "cluster.yaml", "config": "device-config.yaml"},
}


@functools.cache
def options() -> dict[str, dict[str, str]]:
    """The keys of a simulation: type, values, default, help and flag of each. Where files go write() says."""
    _, table = _core.ask("options", [], [])
    return {entry["name"]: entry for entry in json.loads(table) if entry["name"] not in ("out", "trace")}


def known(what: str) -> Table:
    """What a name may be.

    Parameters
    ----------
    what : str
        ``"policies"``, ``"modes"``, ``"dialects"``, ``"disciplines"`` or ``"reasons"``: name and summary of each.
        ``"options"``: the keys of :func:`simulate`, with type, values, default and help.

    Returns
    -------
    Table
        A row for each.

    Raises
    ------
    InputError
        ``unknown_name``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> "policy" in vg.known("options")["name"]
    True
    """
    if what == "options":
        entries = list(options().values())
        return Table.of({column: [entry[column] for entry in entries] for column in entries[0]})
    rows = _core.listing(what)
    return Table.of({"name": [name for name, _ in rows], "summary": [summary for _, summary in rows]})


def example(name: str = "quickstart") -> dict[str, Path]:
    """Paths of inputs that come with the package, by the names of the parameters that take them.

    Parameters
    ----------
    name : str
        ``"quickstart"``: nodes and pods; ``"cluster"``: objects and config.

    Raises
    ------
    InputError
        ``unknown_name``.
    """
    if name not in _EXAMPLES:
        raise bad_value("unknown_name", "name", name, " or ".join(_EXAMPLES))
    folder = Path(__file__).parent / "examples" / name
    return {parameter: folder / file for parameter, file in _EXAMPLES[name].items()}
