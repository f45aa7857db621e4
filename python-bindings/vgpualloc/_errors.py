"""Exceptions, with the fields of the library's own errors."""

from __future__ import annotations

import operator
import os
from typing import Any

__all__ = ["Error", "InputError", "StateError"]


class Error(Exception):
    """What the library refuses.

    Attributes
    ----------
    code : str
        ``malformed``, ``out_of_range``, ``missing``, ``duplicate``, ``unknown_name``, ``unsupported``, ``mismatch`` or
        ``state``.
    where : str
        File and line, row of a table, path in a document, or option; may be empty.
    field : str
        Column, key or argument; may be empty.
    value : str
        The offending value; may be empty.
    expected : str
        What would have been accepted; may be empty.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> try:
    ...     vg.example("slowstart")
    ... except vg.Error as failure:
    ...     failure.code, failure.field, failure.value
    ('unknown_name', 'name', 'slowstart')
    """

    def __init__(self, message: str = "", *, code: str = "malformed", where: str = "", field: str = "", value: str = "",
                 expected: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.where = where
        self.field = field
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[Any, ...]:  # fields are keyword-only
        return _rebuilt, (type(self), str(self), {name: getattr(self, name) for name in _FIELDS})


_FIELDS = ("code", "where", "field", "value", "expected")


def _rebuilt(kind: type[Error], message: str, fields: dict[str, str]) -> Error:
    return kind(message, **fields)


class InputError(Error, ValueError):
    """Wrong input: a list, an object, an option, a name that is not there. Also a ``ValueError``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> try:
    ...     vg.Pod(gpus=-1)
    ... except vg.InputError as failure:
    ...     print(failure)
    Pod: gpus: got '-1', expected a whole number from 0 to 9007199254740992
    """


class StateError(Error, RuntimeError):
    """A call that does not go with what the object is now. Also a ``RuntimeError``.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> with cluster.trial() as trial:
    ...     pass
    >>> try:
    ...     trial.keep()
    ... except vg.StateError as failure:
    ...     failure.code
    'state'
    """


def bad_value(code: str, field: str, value: object, expected: str, where: str = "") -> InputError:
    """An InputError with the library's sentence: "<where>: <field>: got '<value>', expected <expected>"."""
    place = "".join(part + ": " for part in (where, field) if part)
    shown = f"got '{value}', expected {expected}" if value != "" else f"expected {expected}"
    return InputError(place + shown, code=code, where=where, field=field, value=str(value), expected=expected)


def whole_number(where: str, field: str, value: object, least: int = 0, most: int = 2**53) -> int:
    """A whole number within a range; TypeError for a bool, a fraction and all else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: {field}: expected a whole number, not {value!r}")
    number = operator.index(value)
    if not least <= number <= most:
        raise bad_value("out_of_range", field, number, f"a whole number from {least} to {most}", where)
    return number


def error_of(code: str, where: str, field: str, value: str, expected: str, message: str, reason: str,
             number: int) -> BaseException:
    """The exception for an error of the library."""
    if code == "stopped":
        return KeyboardInterrupt()
    if code == "io":
        if number:
            failure = OSError(number, os.strerror(number), where or None)
            failure.add_note(message)
            return failure
        return OSError(message)
    if field == "highsbox":
        return ImportError(reason, name=field)
    return InputError(message, code=code, where=where, field=field, value=value, expected=expected)
