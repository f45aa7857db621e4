"""Scopes in which a cluster is tried out, and what objects of it are made of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vgpualloc._errors import StateError

if TYPE_CHECKING:
    from vgpualloc._cluster import Cluster


class Trial:
    """What is done while it is open is undone at its end, unless ``keep()`` is called."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._is_open = False
        self._is_kept = False

    def __enter__(self) -> Trial:
        if self._is_open:
            raise StateError("a trial is entered once", code="state")
        self._is_open = True
        self._was_as_read = self._cluster._is_as_read
        self._first = len(self._cluster._undo)
        self._cluster._trials.append(self)
        return self

    def keep(self) -> None:
        """What was done stays, as far as outer trials keep it."""
        if not self._is_open:
            raise StateError("the trial has ended", code="state")
        self._is_kept = True

    def __exit__(self, *raised: object) -> None:
        cluster = self._cluster
        if not self._is_open or cluster._trials[-1] is not self:
            raise StateError("trials end in the reverse order of their beginnings", code="state")
        cluster._trials.pop()
        self._is_open = False
        if not self._is_kept:
            inverses = cluster._undo[self._first:]
            del cluster._undo[self._first:]
            trials, cluster._trials = cluster._trials, []  # undoing is not noted
            try:
                for inverse in reversed(inverses):
                    inverse()
            finally:
                cluster._trials = trials
            cluster._is_as_read = self._was_as_read
        elif not cluster._trials:
            cluster._undo.clear()


def rename_devices(document: dict[str, Any], name: str) -> None:
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
