"""Answers of a cluster: what the command line says, as values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vgpualloc import _html
from vgpualloc._tables import Table, table_of_columns


class Answer(Mapping[str, Any]):
    """What a command answers: ``str()`` is its text, the keys are those of its ``--json``.

    Lists of objects are Tables, with dots between the names of nested keys. Units are in the names of keys: ``_milli``,
    ``_mib``, ``_s``, ``_ratio``.

    Attributes
    ----------
    ok : bool
        A node takes the pod, all pods run, or the plan was found.

    Raises
    ------
    KeyError
        ``answer[key]`` of a key that is not there.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> why = vg.Cluster.read(**vg.example("cluster")).explain("team/waits")
    >>> why.ok, type(why["nodes"]).__name__
    (False, 'Table')
    """

    def __init__(self, text: str, content: Any, ok: bool) -> None:
        self._text = text
        self._content = content
        self.ok = ok
        self._tables: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        value = self._content[key]
        if not _is_list_of_objects(value):
            return value
        if key not in self._tables:
            self._tables[key] = table_of(value)
        return self._tables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def to_dict(self) -> dict[str, Any]:
        """The content of ``--json``, as a copy.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> why = vg.Cluster.read(**vg.example("cluster")).explain("team/waits")
        >>> why.to_dict()["choice"] == why["choice"]
        True
        """
        content: dict[str, Any] = json.loads(json.dumps(self._content))
        return content

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"Answer(ok={self.ok}: {', '.join(self._content)})"

    def _repr_html_(self) -> str:
        content = self._content if isinstance(self._content, dict) else {}
        return _html.of_answer(
            str(self), {key: value for key, value in content.items() if not isinstance(value, (dict, list))},
            {key: dict(_leaves(value, with_lists=False)) for key, value in content.items() if isinstance(value, dict)},
            {key: table_of(value, with_lists=False) for key, value in content.items() if _is_list_of_objects(value)})

    def __reduce__(self) -> tuple[Any, ...]:
        return Answer, (self._text, self._content, self.ok)


def node_answer(pod: str, node: str, fits: bool, score: float, code: str, wanted: int, available: int, unit: str) -> Answer:
    """What one node says to a pod."""
    content = {"pod": pod, "node": node, "fits": fits, "score": score if fits else None,
               "reason": None if fits else {"code": code, "wanted": wanted, "available": available, "unit": unit}}
    amounts = f": wanted {wanted} {unit}, available {available} {unit}" if unit else ""
    return Answer(f"{node}: fits, score {score:g}" if fits else f"{node}: {code}{amounts}", content, fits)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def table_of(rows: list[dict[str, Any]], *, with_lists: bool = True) -> Table:
    """Objects as rows; what a row lacks is None, and lists in a cell stay JSON."""
    flat = [dict(_leaves(row, with_lists=with_lists)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return table_of_columns({name: [row.get(name) for row in flat] for name in names})


def _leaves(value: Mapping[str, Any], prefix: str = "", *, with_lists: bool) -> Iterator[tuple[str, Any]]:
    for key, part in value.items():
        if isinstance(part, dict):
            yield from _leaves(part, f"{prefix}{key}.", with_lists=with_lists)
        elif not isinstance(part, list):
            yield prefix + key, part
        elif with_lists:
            yield prefix + key, json.dumps(part, ensure_ascii=False)
