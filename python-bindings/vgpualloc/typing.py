"""Names for annotations only: what functions take, and what policies and disciplines are given.

Examples
--------
>>> import vgpualloc as vg
>>> from vgpualloc.typing import NodeState, Request
>>> class FewestIdle(vg.Policy):
...     def score(self, request: Request, before: NodeState, after: NodeState) -> object:
...         return -after.gpus_idle
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from vgpualloc._pods import Share
from vgpualloc._simulate import Html
from vgpualloc._trials import Trial

__all__ = ["Source", "Progress", "Share", "Trial", "Html", "Request", "NodeState", "DeviceState", "Queue", "Job"]


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


#: An input: a path, the content as bytes, or a table, which is a DataFrame, an Arrow table or columns by name.
Source = str | os.PathLike[str] | bytes | _ArrowStream | Mapping[str, Any]

#: Whether a bar shows how far a call is (None: where somebody looks), or what is called with ``(done, total)``.
Progress = bool | Callable[[int, int], object] | None


class Request(Protocol):
    """What a pod asks for. Whole numbers; equal requests have one ``id``.

    Attributes
    ----------
    id : int
    cpu_milli : int
        Thousandths of a processor.
    memory_mib : int
        Memory of the host, MiB.
    gpus : int
        Devices.
    gpu_milli : int
        Thousandths of a device, over all its devices.
    """

    @property
    def id(self) -> int: ...
    @property
    def cpu_milli(self) -> int: ...
    @property
    def memory_mib(self) -> int: ...
    @property
    def gpus(self) -> int: ...
    @property
    def gpu_milli(self) -> int: ...


class NodeState(Protocol):
    """Nodes as candidates: read-only int64 arrays of shape (n,) in form ``"arrays"``, else whole numbers of one node.

    Attributes
    ----------
    cpu_milli, cpu_free_milli : int64 (n,) or int
        Thousandths of a processor, all and free.
    gpus, gpus_idle : int64 (n,) or int
        Devices, all and unused.
    used_milli, free_milli : int64 (n,) or int
        Thousandths of a device, over all devices of the node.
    gpu_free_milli : int64 (n, g), or int64 (g,) or a tuple of int
        What is free by device, the largest first; -1 where there is no such device.
    """

    @property
    def cpu_milli(self) -> Any: ...
    @property
    def cpu_free_milli(self) -> Any: ...
    @property
    def gpus(self) -> Any: ...
    @property
    def gpus_idle(self) -> Any: ...
    @property
    def used_milli(self) -> Any: ...
    @property
    def free_milli(self) -> Any: ...
    @property
    def gpu_free_milli(self) -> Any: ...


class DeviceState(Protocol):
    """Devices of a node as candidates: read-only int64 arrays of shape (n,), or whole numbers of one device.

    Attributes
    ----------
    used_milli, free_milli : int64 (n,) or int
        Thousandths of the device.
    memory_mib, memory_free_mib : int64 (n,) or int
        Its memory, all and free, MiB.
    """

    @property
    def used_milli(self) -> Any: ...
    @property
    def free_milli(self) -> Any: ...
    @property
    def memory_mib(self) -> Any: ...
    @property
    def memory_free_mib(self) -> Any: ...


class Job(Protocol):
    """A job of a discipline's queue.

    Attributes
    ----------
    id : int
        By arrival.
    arrival_s, start_s : float
        Seconds from the beginning of the run; ``start_s`` of a job that runs.
    estimate_s : float
        How long it is expected to run, seconds; infinite where nobody knows.
    priority : int
    gpus : int
        Devices, over all its pods.
    pods : int
    queue : str
    """

    @property
    def id(self) -> int: ...
    @property
    def arrival_s(self) -> float: ...
    @property
    def start_s(self) -> float: ...
    @property
    def estimate_s(self) -> float: ...
    @property
    def priority(self) -> int: ...
    @property
    def gpus(self) -> int: ...
    @property
    def pods(self) -> int: ...
    @property
    def queue(self) -> str: ...


class Queue(Protocol):
    """What a discipline works on, for as long as ``schedule`` runs.

    Attributes
    ----------
    now : float
        Seconds from the beginning of the run.
    waiting, running : sequence of Job
        By arrival. Jobs that fit no empty cluster are not there.
    """

    @property
    def now(self) -> float: ...
    @property
    def waiting(self) -> Sequence[Job]: ...
    @property
    def running(self) -> Sequence[Job]: ...

    def start(self, job: Any, /) -> bool:
        """Starts a job that waits. False: it does not fit now, or its queue has no quota."""
        ...

    def give_up(self, job: Any, /) -> None:
        """Takes a job that waits out for good."""
        ...

    def preempt(self, job: Any, /) -> None:
        """Stops a job that runs. It waits again."""
        ...
