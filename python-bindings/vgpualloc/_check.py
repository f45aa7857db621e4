"""Whether a policy keeps to the rules that the core relies on."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from vgpualloc._calls import simulate
from vgpualloc._errors import bad_value
from vgpualloc._known import example
from vgpualloc._policies import Policy, checked_policy

if TYPE_CHECKING:
    from vgpualloc.typing import Source

_NODE_FIELDS = ("cpu_milli", "cpu_free_milli", "gpus", "gpus_idle", "used_milli", "free_milli", "gpu_free_milli")
_DEVICE_FIELDS = ("used_milli", "free_milli", "memory_mib", "memory_free_mib")
_ROWS_ALONE = 4


def check_policy(policy: Policy, *, nodes: Source | None = None, pods: Source | None = None) -> None:
    """Runs a policy and looks for what would make its decisions wrong.

    A score that other candidates change, one that is drawn, one that is no finite number, a wrong number of scores, and
    a state of the policy's own that changes scores without a new ``epoch``.

    Parameters
    ----------
    policy : Policy
    nodes, pods : path, bytes or table, optional
        What it is run on; by default the example ``quickstart``.

    Raises
    ------
    InputError
        The first of these that was found.
    TypeError
        ``policy`` is no object of a class derived from Policy.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> class Fullest(vg.Policy):
    ...     def score(self, request, before, after):
    ...         return after.used_milli / (after.used_milli + after.free_milli + 1)
    >>> vg.check_policy(Fullest())
    """
    checked_policy("policy", policy)
    lists: dict[str, Any] = {**example("quickstart"), **{key: value for key, value in (("nodes", nodes), ("pods", pods)) if value is not None}}
    watched = simulate(**lists, policy=_Watched(policy), progress=False)
    if policy.form == "numba":
        compiled = simulate(**lists, policy=policy, progress=False)
        if compiled.pods != watched.pods:
            raise bad_value("mismatch", f"{type(policy).__name__}.score", "other decisions", "the same compiled and not")


class _Watched(Policy):
    """Another policy, whose every answer is looked at."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._seen: dict[Any, float] = {}
        self._seen_in = policy.epoch
        self.form = "arrays" if policy.form == "arrays" else "rows"
        for name in ("device_score", "begin", "arrived"):
            if hasattr(policy, name):
                setattr(self, name, self._wrapped(name))

    @property
    def _label(self) -> str:
        return self._policy._label

    @property
    def epoch(self) -> int:  # type: ignore[override]
        return self._policy.epoch

    def _wrapped(self, name: str) -> Any:
        if name == "device_score":
            return lambda request, before, after: self._watch(name, _DEVICE_FIELDS, request, before, after)
        return getattr(self._policy, name)

    def score(self, request: Any, before: Any, after: Any) -> Any:
        fields: tuple[str, ...] = _DEVICE_FIELDS if hasattr(before, "memory_mib") else _NODE_FIELDS
        if hasattr(self, "device_score"):
            fields = _NODE_FIELDS[:-1]
        return self._watch("score", fields, request, before, after)

    def _watch(self, name: str, fields: tuple[str, ...], request: Any, before: Any, after: Any) -> Any:
        import numpy as np

        ask = getattr(self._policy, name)
        answer = ask(request, before, after)
        again = ask(request, before, after)
        called = f"{type(self._policy).__name__}.{name}"
        if self.form == "rows":
            self._same(called, answer, again, "row 0")
            self._remember(called, name, fields, request, before, after, 0, answer)
            return answer
        scores = np.asarray(answer, dtype=np.float64)
        if scores.shape != (len(before),):
            raise bad_value("mismatch", called, f"an array of shape {scores.shape}", f"one of shape ({len(before)},)")
        for row, (first, second) in enumerate(zip(scores, np.asarray(again, dtype=np.float64))):
            self._same(called, first, second, f"row {row}")
        for row in range(0, len(scores), max(1, len(scores) // _ROWS_ALONE)):
            alone = np.asarray(ask(request, _part(before, fields, row), _part(after, fields, row)), dtype=np.float64)
            if alone.shape != (1,):
                raise bad_value("mismatch", called, f"an array of shape {alone.shape}", "one of shape (1,) for one row")
            if alone[0] != scores[row]:
                raise bad_value("mismatch", called, f"row {row} scores {alone[0]} alone and {scores[row]} with others",
                                "a score that depends on its row alone")
            self._remember(called, name, fields, request, before, after, row, scores[row])
        return answer

    @staticmethod
    def _same(called: str, first: float, second: float, where: str) -> None:
        if first != second and not (first != first and second != second):
            raise bad_value("mismatch", called, f"{where} scores {first} and then {second}", "the same both times")

    def _remember(self, called: str, name: str, fields: tuple[str, ...], request: Any, before: Any, after: Any, row: int,
                  score: float) -> None:
        if self._policy.epoch != self._seen_in:
            self._seen.clear()
            self._seen_in = self._policy.epoch
        key = (name, request.id, _row(before, fields, row), _row(after, fields, row))
        earlier = self._seen.setdefault(key, float(score))
        if earlier != score and not (earlier != earlier and score != score):
            raise bad_value("mismatch", called, f"row {row} scores {score}, and scored {earlier} before",
                            "the same for the same row until epoch rises")


class _Part(types.SimpleNamespace):
    """States of one candidate."""

    def __len__(self) -> int:
        return 1


def _part(states: Any, fields: tuple[str, ...], row: int) -> Any:
    """One row of arrays, as arrays of length 1."""
    return _Part(**{field: getattr(states, field)[row:row + 1] for field in fields})


def _row(states: Any, fields: tuple[str, ...], row: int) -> tuple[Any, ...]:
    values = []
    for field in fields:
        value = getattr(states, field)
        if hasattr(value, "shape"):
            value = value[row]
            value = tuple(value.tolist()) if getattr(value, "shape", ()) else int(value)
        values.append(value)
    return tuple(values)
