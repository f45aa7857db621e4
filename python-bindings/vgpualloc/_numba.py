"""Policies compiled by numba: a loop over candidates that the core calls without Python."""

from __future__ import annotations

import types
import weakref
from typing import Any, NamedTuple

from vgpualloc._errors import bad_value
from vgpualloc._tables import _needed


class _Request(NamedTuple):
    id: int
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int


class _NodeState(NamedTuple):
    cpu_milli: int
    cpu_free_milli: int
    gpus: int
    gpus_idle: int
    used_milli: int
    free_milli: int
    gpu_free_milli: Any


class _DeviceState(NamedTuple):
    used_milli: int
    free_milli: int
    memory_mib: int
    memory_free_mib: int


_kept: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()


def compiled(policy: type) -> Any:
    """Addresses of the compiled functions of a class, compiled once: ``score``, ``device_score`` and ``wants_gpus``."""
    if policy not in _kept:
        _kept[policy] = _compile(policy)
    return _kept[policy]


def _static(policy: type, name: str) -> Any:
    for base in policy.__mro__:
        if name in vars(base):
            function = vars(base)[name]
            if not isinstance(function, staticmethod):
                raise bad_value("unsupported", f"{policy.__name__}.{name}", "a method",
                                'a staticmethod without self, in form "numba"')
            return function.__func__
    return None


def _compile(policy: type) -> Any:
    numba = _needed("numba", 'form "numba"', "numba")
    score = _static(policy, "score")
    device_score = _static(policy, "device_score") if hasattr(policy, "device_score") else None
    node_loop = _node_loop(numba, _jitted(numba, score))
    device_loop = _device_loop(numba, _jitted(numba, device_score)) if device_score else None
    return types.SimpleNamespace(
        score=node_loop.address, device_score=device_loop.address if device_loop else 0,
        wants_gpus="gpu_free_milli" in getattr(score, "py_func", score).__code__.co_names, loops=(node_loop, device_loop))


def _jitted(numba: Any, function: Any) -> Any:
    # By zero is divided as NumPy does it: what is raised in a loop that the core calls can only be printed.
    return function if hasattr(function, "py_func") else numba.njit(function, error_model="numpy")


def _signature(numba: Any) -> Any:
    whole = numba.types.int64
    numbers = numba.types.CPointer(whole)
    return numba.types.void(whole, numbers, numbers, numbers, whole, numbers, numbers,
                            numba.types.CPointer(numba.types.float64))


def _node_loop(numba: Any, score: Any) -> Any:
    carray = numba.carray

    def loop(rows: Any, request: Any, before: Any, after: Any, width: Any, gpus_before: Any, gpus_after: Any,
             scores: Any) -> None:
        r = carray(request, 5)
        b = carray(before, (6, rows))
        a = carray(after, (6, rows))
        free_before = carray(gpus_before, (rows, width))
        free_after = carray(gpus_after, (rows, width))
        result = carray(scores, rows)
        wanted = _Request(r[0], r[1], r[2], r[3], r[4])
        for i in range(rows):
            result[i] = score(wanted, _NodeState(b[0, i], b[1, i], b[2, i], b[3, i], b[4, i], b[5, i], free_before[i]),
                              _NodeState(a[0, i], a[1, i], a[2, i], a[3, i], a[4, i], a[5, i], free_after[i]))

    return numba.cfunc(_signature(numba))(loop)


def _device_loop(numba: Any, score: Any) -> Any:
    carray = numba.carray

    def loop(rows: Any, request: Any, before: Any, after: Any, width: Any, gpus_before: Any, gpus_after: Any,
             scores: Any) -> None:
        r = carray(request, 5)
        b = carray(before, (4, rows))
        a = carray(after, (4, rows))
        result = carray(scores, rows)
        wanted = _Request(r[0], r[1], r[2], r[3], r[4])
        for i in range(rows):
            result[i] = score(wanted, _DeviceState(b[0, i], b[1, i], b[2, i], b[3, i]),
                              _DeviceState(a[0, i], a[1, i], a[2, i], a[3, i]))

    return numba.cfunc(_signature(numba))(loop)
