"""Policies and disciplines of the caller's own."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Union

from vgpualloc._errors import StateError, bad_value, whole_number
from vgpualloc._tables import Table

if TYPE_CHECKING:
    from vgpualloc.typing import NodeState, Queue, Request

_FORMS = ("arrays", "rows", "numba")


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class _Named:
    """What outputs call by a name of its own."""

    name: str = ""

    @property
    def _label(self) -> str:
        return "py:" + (self.name or _snake_case(type(self).__name__))


class Policy(_Named):
    """A policy in Python: subclass it and write ``score``. It works wherever the name of a built-in one does.

    Whatever ``score`` raises ends the run and comes out unchanged.

    Attributes
    ----------
    name : str
        What outputs show, as ``py:NAME``; empty: the class's name in snake_case.
    form : str
        ``"arrays"``: ``score`` gets all candidates that are not scored yet, as arrays. ``"rows"``: one at a time, as
        numbers. ``"numba"``: the same, compiled; ``score`` is a ``staticmethod``.
    epoch : int
        Raise it when nodes in the same state would score otherwise: every kept score is void then. Rarely.
    key : str
        Says what this policy is, for the cells that a sweep keeps in a folder; empty: they are not kept.

    Raises
    ------
    InputError
        From the run: a ``form`` that is not known, or a score that is no finite number, or not one for each candidate.
    StateError
        From the run: the object is in another run, or ``epoch`` has fallen.

    Notes
    -----
    A score depends on its row alone: other candidates must not change it. Three more methods may be written.
    ``device_score(request, before, after)`` says which device of a node, with ``before`` and ``after`` of
    ``vgpualloc.typing.DeviceState``; without it ``score`` decides that too. ``begin(typical)`` gets the typical requests
    as a Table: cpu_milli, gpus, gpu_milli, frequency. ``arrived(request)`` gets every pod before it is decided.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> class Fullest(vg.Policy):
    ...     def score(self, request, before, after):
    ...         return after.used_milli / (after.used_milli + after.free_milli + 1)
    >>> vg.simulate(**vg.example("quickstart"), policy=Fullest()).summary["config"]["policy"]
    'py:fullest'
    """

    form: str = "arrays"
    epoch: int = 0
    key: str = ""

    if TYPE_CHECKING:  # so that a staticmethod, as form "numba" has it, overrides it too
        score: Callable[[Request, NodeState, NodeState], Any]
    else:

        def score(self, request: Request, before: NodeState, after: NodeState) -> Any:
            """How good each candidate is. The highest wins, then the node of the lowest rank, then the lowest device.

            Parameters
            ----------
            request : Request
                ``id cpu_milli memory_mib gpus gpu_milli``; ``gpu_milli`` is over all its devices.
            before, after : NodeState
                The nodes without and with the pod: ``cpu_milli cpu_free_milli gpus gpus_idle used_milli free_milli``, int64
                of shape (n,), and ``gpu_free_milli``, (n, g), by device, the largest first, -1 where there is none. Whole
                numbers of one node in the forms ``"rows"`` and ``"numba"``.

            Returns
            -------
            float64 (n,) or float
                A score for each candidate; one number in the forms ``"rows"`` and ``"numba"``.

            Raises
            ------
            NotImplementedError
                The class has no ``score``.

            Examples
            --------
            >>> import vgpualloc as vg
            >>> class FewestIdle(vg.Policy):
            ...     form = "rows"
            ...     def score(self, request, before, after):
            ...         return -after.gpus_idle
            >>> vg.simulate(**vg.example("quickstart"), policy=FewestIdle()).summary["config"]["policy"]
            'py:fewest_idle'
            """
            raise NotImplementedError(f"{type(self).__name__} has no method score(request, before, after)")

    @property
    def _device_score(self) -> Any:
        return getattr(self, "device_score", None)

    @property
    def _arrived(self) -> Any:
        return getattr(self, "arrived", None)

    @property
    def _begin(self) -> Any:
        begin = getattr(self, "begin", None)
        if begin is None:
            return None
        names = ("cpu_milli", "gpus", "gpu_milli", "frequency")
        return lambda rows: begin(Table.of({name: [row[i] for row in rows] for i, name in enumerate(names)}))

    _parts: tuple[tuple[float, str | Policy], ...] | None = None

    def _compiled(self) -> Any:
        from vgpualloc._numba import compiled

        return compiled(type(self))


class _Weighted(Policy):
    """A sum of policies, each times a weight."""

    def __init__(self, parts: tuple[tuple[float, str | Policy], ...]) -> None:
        self._parts = parts
        self.key = "+".join(f"{weight!r}*{_key_of(part)}" for weight, part in parts) if all(
            _key_of(part) for _, part in parts) else ""

    @property
    def _label(self) -> str:
        return "weighted:" + ",".join(f"{label_of(part)}={weight:g}" for weight, part in self._parts or ())


def _key_of(part: str | Policy) -> str:
    return part if isinstance(part, str) else part.key


def label_of(policy: str | Policy) -> str:
    """What outputs call it."""
    return policy if isinstance(policy, str) else policy._label


def weighted(*parts: tuple[float, str | Policy]) -> Policy:
    """A sum of policies, built in or not, each times a weight.

    Parameters
    ----------
    parts : pairs of a weight and a policy
        Finite weights, not all 0. Policies that draw or look at positions have no place in a sum.

    Returns
    -------
    Policy

    Raises
    ------
    TypeError
        A part that is no pair of a number and a policy.
    InputError
        A weight that is not finite, or weights that are all 0. Names that are not known: from the run.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> vg.simulate(**vg.example("quickstart"), policy=vg.weighted((0.7, "fgd"), (0.3, "best_fit"))).summary["config"]["policy"]
    'weighted:fgd=0.7,best_fit=0.3'
    """
    checked = []
    for part in parts:
        try:
            weight, policy = part
            weight = float(weight)
        except (TypeError, ValueError):
            raise TypeError(f"weighted() takes pairs of a weight and a policy, not {part!r}") from None
        if not (isinstance(policy, str) or is_policy(policy)):
            raise TypeError(f"weighted(): expected a name or a Policy, not {policy!r}")
        if not abs(weight) < float("inf"):
            raise bad_value("out_of_range", "weight", weight, "a finite number", "weighted()")
        checked.append((weight, policy))
    if not any(weight for weight, _ in checked):
        raise bad_value("out_of_range", "weight", "", "one that is not 0", "weighted()")
    return _Weighted(tuple(checked))


class Discipline(_Named):
    """A queue discipline in Python: subclass it and write ``schedule``.

    Attributes
    ----------
    name : str
        What outputs show, as ``py:NAME``; empty: the class's name in snake_case.
    keeps_waiting : bool
        False: a job that ``schedule`` does not start in the instant of its arrival is given up.

    Raises
    ------
    InputError
        From the run: a policy that it does not go with, as ``"compat:volcano"``, which has a queue of its own.
    StateError
        From the run: the object is in another run.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> class ShortestFirst(vg.Discipline):
    ...     def schedule(self, queue):
    ...         for job in sorted(queue.waiting, key=lambda job: (job.estimate_s, job.id)):
    ...             queue.start(job)
    >>> vg.simulate(**vg.example("quickstart"), departures=True, discipline=ShortestFirst()).summary["config"]["discipline"]
    'py:shortest_first'
    """

    keeps_waiting: bool = True

    def schedule(self, queue: Queue) -> None:
        """Starts what is to start now. Called at the end of every instant in which something happened and a job waits.

        Parameters
        ----------
        queue : Queue
            ``now`` in seconds; ``waiting`` and ``running``, lists of jobs by arrival; ``start(job)`` is False where it
            does not fit, or its queue has no quota; ``give_up(job)``; ``preempt(job)`` stops one that runs. A job has
            ``id arrival_s start_s estimate_s priority gpus pods queue``. Jobs that fit no empty cluster are not there.

        Raises
        ------
        NotImplementedError
            The class has no ``schedule``.
        StateError
            From a queue that is used after ``schedule`` has returned, or a job that does not wait, or does not run.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> class Patient(vg.Discipline):
        ...     def schedule(self, queue):
        ...         if not queue.start(queue.waiting[0]) and queue.now - queue.waiting[0].arrival_s > 3600:
        ...             queue.give_up(queue.waiting[0])
        >>> r = vg.simulate(**vg.example("quickstart"), departures=True, discipline=Patient())
        >>> r.summary["config"]["discipline"]
        'py:patient'
        """
        raise NotImplementedError(f"{type(self).__name__} has no method schedule(queue)")


Policies = tuple[Union[str, Policy, None], Union[str, Policy, None]]  # of nodes, and of a node's devices


def is_policy(value: Any) -> bool:
    return isinstance(value, Policy)


def _checked(key: str, value: Any, kind: type[_Named]) -> None:
    if isinstance(value, type) and issubclass(value, _Named):
        raise TypeError(f"{key}: expected an object, {value.__name__}(), not its class")
    if not isinstance(value, kind):
        raise TypeError(f"{key}: expected a name or a {kind.__name__}, not {type(value).__name__}")
    if not isinstance(value.name, str) or not value.name.isprintable():
        raise bad_value("malformed", f"{type(value).__name__}.name", ascii(value.name), "a text without control characters")


def checked_policy(key: str, value: Any) -> Any:
    """A policy as an object, or TypeError."""
    _checked(key, value, Policy)
    for _, part in value._parts or ():
        if is_policy(part):
            checked_policy(key, part)
    if value.form not in _FORMS:
        raise bad_value("unknown_name", f"{type(value).__name__}.form", value.form, f"one of {', '.join(_FORMS)}")
    whole_number(type(value).__name__, "epoch", value.epoch, most=2**63 - 1)
    return value


def checked_pair(policy: str | Policy | None, device_policy: str | Policy | None) -> Policies:
    """A policy and one for the devices of a node, of which each may be a name, an object or None."""
    for key, value in (("policy", policy), ("device_policy", device_policy)):
        if not (value is None or isinstance(value, str)):
            checked_policy(key, value)
    if policy is None and is_policy(device_policy):
        raise bad_value("missing", "policy", "", "a policy beside a device_policy that is an object")
    return policy or None, device_policy or None


def checked_discipline(value: Any) -> Any:
    """A discipline as an object, or TypeError."""
    _checked("discipline", value, Discipline)
    if not isinstance(value.keeps_waiting, bool):
        raise TypeError(f"{type(value).__name__}.keeps_waiting: expected true or false, not {value.keeps_waiting!r}")
    return value


_lock = threading.Lock()
_in_runs: dict[int, object] = {}


@contextmanager
def in_run(*objects: Any) -> Iterator[None]:
    """While it is open no other run may use these policies and disciplines. Raises StateError for one that is used."""
    used = [part for value in objects if value is not None and not isinstance(value, str) for part in _with_parts(value)]
    with _lock:
        for value in used:
            if id(value) in _in_runs:
                raise StateError(f"{type(value).__name__}: one object serves one run at a time", code="state")
        for value in used:
            _in_runs[id(value)] = value
    try:
        yield
    finally:
        with _lock:
            for value in used:
                _in_runs.pop(id(value), None)


def _with_parts(value: Any) -> list[Any]:
    parts = getattr(value, "_parts", None) or ()
    return [value, *(inner for _, part in parts if not isinstance(part, str) for inner in _with_parts(part))]
