#!/usr/bin/env python3
"""python-bindings/vgpualloc/_calls.pyi: what type checkers see of simulate() and sweep(), with the keys and defaults of the
option table. Usage: python_stub.py, which writes it, under a Python that imports vgpualloc."""
import json
from pathlib import Path

import vgpualloc as vg

STUB = Path(__file__).resolve().parents[1] / "python-bindings" / "vgpualloc" / "_calls.pyi"
TYPES = {"true or false": bool, "whole number": int, "real number": float}
OBJECTS = {"policy": "str | Policy", "device_policy": "str | Policy", "discipline": "str | Discipline"}
HEAD = '''# Written by scripts/python_stub.py from known("options").
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from vgpualloc._policies import Discipline, Policy
from vgpualloc._simulate import Result
from vgpualloc._sweep_results import Sweep
from vgpualloc.typing import Progress, Source

'''


def of_option(option):
    """A parameter, with its type and its default."""
    name, kind = option["name"], option["type"]
    if kind == "input":
        return f"{name}: Source | None = None"
    if kind not in TYPES:
        return f"{name}: {OBJECTS.get(name, 'str')} = {json.dumps(option['default'])}"
    default = option["default"] == "true" if kind == "true or false" else TYPES[kind](option["default"])
    return f"{name}: {TYPES[kind].__name__} = {default!r}"


def function(name, parameters, result):
    """A function, with a line for each parameter."""
    return "\n".join([f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {result}: ..."])


def stub():
    """The whole file."""
    options = [of_option(option) for option in vg.known("options").to_dict()]
    lists, others = [[text for text in options if (text.split(":")[0] in ("nodes", "pods")) == is_list] for is_list in (True, False)]
    more = ["scenario: Source | None = None", "baseline: Mapping[str, Any] | None = None", "bound: bool = False"]
    progress = "progress: Progress = None"
    own = ["grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]] | str | os.PathLike[str] | bytes", "*",
           'executor: Literal["local", "ray", "dask"] | Any = "local"', "workers: int | None = None",
           "cache: str | os.PathLike[str] | None = None", 'keep: Literal["figures", "curves", "all"] = "curves"',
           'on_error: Literal["keep", "raise"] = "keep"', progress]
    return (HEAD + function("simulate", [*lists, "*", *others, *more, progress], "Result") + "\n\n" +
            function("sweep", [*own, *lists, *others, *more], "Sweep") + "\n")


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
