"""Exceptions, with the fields of the library's own errors."""

from __future__ import annotations

import os

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
    """

    def __init__(self, message: str = "", *, code: str = "malformed", where: str = "", field: str = "", value: str = "",
                 expected: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.where = where
        self.field = field
        self.value = value
        self.expected = expected

    def __reduce__(self):  # fields are keyword-only
        return _rebuilt, (type(self), str(self), {name: getattr(self, name) for name in _FIELDS})


_FIELDS = ("code", "where", "field", "value", "expected")


def _rebuilt(kind: type[Error], message: str, fields: dict[str, str]) -> Error:
    return kind(message, **fields)


class InputError(Error, ValueError):
    """Wrong input: a list, an object, an option, a name that is not there."""


class StateError(Error, RuntimeError):
    """A call that does not go with what the object is now."""


def bad_value(code: str, field: str, value: object, expected: str, where: str = "") -> InputError:
    """An InputError with the library's sentence: "<where>: <field>: got '<value>', expected <expected>"."""
    place = "".join(part + ": " for part in (where, field) if part)
    shown = f"got '{value}', expected {expected}" if value != "" else f"expected {expected}"
    return InputError(place + shown, code=code, where=where, field=field, value=str(value), expected=expected)


def whole_number(where: str, field: str, value: object, least: int = 0, most: int = 2**53) -> int:
    """A whole number within a range; TypeError for a bool, a fraction and all else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: {field}: expected a whole number, not {value!r}")
    number = value.__index__()
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
    return InputError(message, code=code, where=where, field=field, value=value, expected=expected)
