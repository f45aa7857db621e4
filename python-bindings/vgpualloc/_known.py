"""What there is to choose from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, TypedDict, overload

from vgpualloc import _core
from vgpualloc._errors import bad_value
from vgpualloc._tables import Table

_EXAMPLES = {
    "quickstart": {"nodes": "nodes.csv", "pods": "pods.csv"},
    "cluster": {"objects": "cluster.yaml", "config": "device-config.yaml"},
}


class Lists(TypedDict):
    """What ``simulate(**example("quickstart"))`` takes."""

    nodes: Path
    pods: Path


class Objects(TypedDict):
    """What ``Cluster.read(**example("cluster"))`` takes."""

    objects: Path
    config: Path


_options: dict[str, dict[str, str]] = {}


def options() -> dict[str, dict[str, str]]:
    """The keys of a simulation: type, values, default, help and flag of each. Where files go write() says."""
    if not _options:
        entries: list[dict[str, str]] = json.loads(_core.ask("options", [], [], None, None)[1])
        _options.update({entry["name"]: entry for entry in entries if entry["name"] not in ("out", "trace")})
    return _options


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


@overload
def example(name: Literal["quickstart"] = "quickstart") -> Lists: ...  # type: ignore[overload-overlap]
@overload
def example(name: Literal["cluster"]) -> Objects: ...  # type: ignore[overload-overlap]
@overload
def example(name: str) -> dict[str, Path]: ...
def example(name: str = "quickstart") -> Lists | Objects | dict[str, Path]:
    """Paths of inputs that come with the package, by the names of the parameters that take them.

    Parameters
    ----------
    name : str
        ``"quickstart"``: nodes and pods; ``"cluster"``: objects and config.

    Returns
    -------
    dict of str to Path

    Raises
    ------
    InputError
        ``unknown_name``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> sorted(vg.example("cluster"))
    ['config', 'objects']
    """
    if name not in _EXAMPLES:
        raise bad_value("unknown_name", "name", name, " or ".join(_EXAMPLES))
    folder = Path(__file__).parent / "examples" / name
    return {parameter: folder / file for parameter, file in _EXAMPLES[name].items()}
