"""Scopes in which a cluster is tried out, and what objects of it are made of others."""

from __future__ import annotations

import copy
import json
import threading
import weakref
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vgpualloc._errors import StateError, bad_value
from vgpualloc._pods import key_of

if TYPE_CHECKING:
    from vgpualloc._cluster import Cluster
    from vgpualloc._core import Learning


class Scope(NamedTuple):
    """An open trial, as its cluster knows it. The trial is held weakly: one that nobody has any more is undone."""

    trial: weakref.ref[Trial]
    thread: int
    first: int
    was_as_read: bool
    learning: Learning | None


class Trial:
    """What is done while it is open is undone at its end, unless ``keep()`` is called.

    Raises
    ------
    StateError
        It is entered twice, or trials end in another order than the reverse of their beginnings.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> with cluster.trial():
    ...     cluster.remove_node("core-0")
    >>> "core-0" in cluster.nodes["node"]
    True
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._state = "new"
        self._is_kept = False

    def __enter__(self) -> Trial:
        if self._state != "new":
            raise StateError("a trial is entered once", code="state")
        cluster = self._cluster
        with cluster._lock:
            cluster.trial()  # raises where another thread's trial is open
            cluster._trials.append(Scope(weakref.ref(self), threading.get_ident(), len(cluster._undo), cluster._live.is_as_read,
                                         cluster._live.copy_learning()))
            self._state = "open"
        return self

    def keep(self) -> None:
        """What was done stays, as far as outer trials keep it.

        Raises
        ------
        StateError
            The trial is not open.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> with cluster.trial() as trial:
        ...     cluster.remove_node("core-0")
        ...     trial.keep()
        >>> "core-0" in cluster.nodes["node"]
        False
        """
        if self._state != "open":
            raise StateError("the trial is not open", code="state")
        self._is_kept = True

    def __exit__(self, *raised: object) -> None:
        cluster = self._cluster
        with cluster._lock:
            cluster.trial()
            if self._state != "open" or cluster._trials[-1].trial() is not self:
                raise StateError("trials end in the reverse order of their beginnings", code="state")
            self._state = "over"
            scope = cluster._trials.pop()
            if not self._is_kept:
                _undo(cluster, scope)
            elif not cluster._trials:
                cluster._undo.clear()


def undo_abandoned(cluster: Cluster) -> None:
    """Undoes the innermost trials that were left open and that nobody has any more."""
    while cluster._trials and cluster._trials[-1].trial() is None:
        _undo(cluster, cluster._trials.pop())


def _undo(cluster: Cluster, scope: Scope) -> None:
    inverses = cluster._undo[scope.first:]
    del cluster._undo[scope.first:]
    outer = cluster._trials[:]
    cluster._trials.clear()  # undoing is not noted
    try:
        for inverse in reversed(inverses):
            inverse()
        due = [entry for entry in cluster._due if not cluster._live.give_again(*entry)]
        cluster._due = due if outer else []
    finally:
        cluster._trials.extend(outer)
        if scope.learning is not None:
            cluster._live.restore_learning(scope.learning)
    cluster._live.is_as_read = scope.was_as_read


def with_service(document: dict[str, Any], service: str) -> dict[str, Any]:
    """A node's object as it is in a state of service: in_service, draining or failed."""
    document = copy.deepcopy(document)
    spec = document.setdefault("spec", {})
    conditions = document.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [condition for condition in conditions if condition.get("type") != "Ready"]
    spec.pop("unschedulable", None)
    if service == "draining":
        spec["unschedulable"] = True
    conditions.append({"type": "Ready", "status": "False" if service == "failed" else "True"})
    return document


def set_services(live: Any, node: str, services: dict[str, str]) -> None:
    """Says again which devices of a node are out of service: its object, which has just been read, does not say it."""
    there = {row[2]: row[6] for row in live.device_rows() if row[0] == node} if services else {}
    for uuid, service in services.items():
        if there.get(uuid, service) != service:
            live.set_service(node, uuid, service)


def with_health(document: dict[str, Any], services: Mapping[str, str]) -> dict[str, Any]:
    """A node's object as its device plugin would write it: devices that are out of service are not healthy."""
    document = copy.deepcopy(document)
    annotations = document["metadata"].get("annotations") or {}
    for key, value in annotations.items():
        if "register" in key:
            annotations[key] = _with_health(value, services)
    return document


def _with_health(value: str, services: Mapping[str, str]) -> str:
    try:
        entries = json.loads(value)
    except json.JSONDecodeError:
        return ":".join(_entry_with_health(entry, services) for entry in value.split(":"))
    for entry in entries:
        if isinstance(entry, dict) and entry.get("id") in services:
            entry["health"] = services[entry["id"]] == "in_service"
    return json.dumps(entries)


def _entry_with_health(entry: str, services: Mapping[str, str]) -> str:
    """Of a list of devices as texts: uuid, slots, memory, type, health, …"""
    fields = entry.split(",")
    if len(fields) > 4 and fields[0] in services:
        fields[4] = "true" if services[fields[0]] == "in_service" else "false"
    return ",".join(fields)


def copies_of(like: dict[str, Any], count: int, taken: Container[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Nodes as one is, under names that no node has."""
    kind, _, first = key_of(like)
    if kind not in ("", "Node") or not first:
        raise bad_value("unsupported", "kind", f"{kind} {first}".strip(), "a Node object with a name", "add_nodes()")
    documents = []
    for number in range(count):
        name = f"{first}-added-{number + 1}"
        while ("Node", "", name) in taken:
            name += "x"
        document = copy.deepcopy(like)
        document["metadata"]["name"] = name
        _rename_devices(document, name)
        documents.append(document)
    return documents


def _rename_devices(document: dict[str, Any], name: str) -> None:
    """Uuids in a node's annotations get the node's name in front: each device is there once."""
    annotations = document["metadata"].get("annotations") or {}
    for key, value in annotations.items():
        if key.endswith("register"):
            annotations[key] = _with_prefix(value, f"{name}-")


def _with_prefix(value: str, prefix: str) -> str:
    try:
        entries = json.loads(value)
    except json.JSONDecodeError:
        return ":".join(prefix + entry if entry.strip() else entry for entry in value.split(":"))
    for entry in entries:
        if isinstance(entry, dict) and "id" in entry:
            entry["id"] = prefix + entry["id"]
    return json.dumps(entries)
