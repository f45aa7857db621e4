"""Whose turn it is on a cluster: one call at a time, and the calls of one thread while a trial is open."""

from __future__ import annotations

import threading
import types
from typing import Any, TypeVar

from vgpualloc._errors import StateError
from vgpualloc._trials import undo_abandoned

T = TypeVar("T")
_SHOWN = ("__repr__", "_repr_html_")


def in_turn(kind: type[T]) -> type[T]:
    """Makes the public methods and properties of a class wait for each other.

    Objects of it have ``_lock``, ``_is_deciding`` and ``_trials``.
    """
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in _SHOWN or getattr(member, "takes_turns", False):
            continue
        if isinstance(member, property):
            setattr(kind, name, property(_waiting(member.fget), doc=member.__doc__))
        elif isinstance(member, types.FunctionType):
            setattr(kind, name, _waiting(member))
    return kind


def by_itself(method: T) -> T:
    """Marks a method that waits and checks by itself, as in_turn() would have it."""
    setattr(method, "takes_turns", True)
    return method


def _waiting(function: Any) -> Any:
    check = check_turn

    def call(self: Any, *positional: Any, **named: Any) -> Any:
        with self._lock:
            if self._is_deciding or self._trials:
                check(self)
            return function(self, *positional, **named)

    # With the globals of the method: doctest looks there for the module that an example belongs to.
    wrapped = types.FunctionType(call.__code__, function.__globals__, function.__name__, None, call.__closure__)
    for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
        setattr(wrapped, name, getattr(function, name))
    setattr(wrapped, "__wrapped__", function)
    return wrapped


def check_turn(cluster: Any) -> None:
    """Raises StateError where a call cannot be: inside its policy, or while another thread tries something out."""
    if cluster._is_deciding:
        raise StateError("a policy cannot call the cluster that it decides for", code="state")
    undo_abandoned(cluster)
    if cluster._trials and cluster._trials[-1].thread != threading.get_ident():
        raise StateError("a trial of another thread is open", code="state")
