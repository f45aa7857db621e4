"""The package as a whole: names, examples of docstrings, plots."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter

import pytest
import vgpualloc as vg


def test_the_names_are_twenty_and_no_more():
    assert len(vg.__all__) == 20
    assert {name for name in dir(vg) if not name.startswith("_")} == set(vg.__all__) - {"__version__"}
    importlib.import_module("vgpualloc.gym")
    assert {name for name in dir(vg) if not name.startswith("_")} == set(vg.__all__) - {"__version__"}


def test_an_import_brings_nothing_that_is_large():
    large = {"numpy", "pandas", "matplotlib", "gymnasium", "numba", "distributed", "ray"}
    program = f"import sys, vgpualloc; print(sorted({large!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_import_takes_a_seventh_of_a_second(tmp_path):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    program = "import time; begin = time.process_time(); import vgpualloc; print(time.process_time() - begin)"
    seconds = [float(subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout)
               for _ in range(6)]
    assert min(seconds[1:]) < 0.15, seconds


@pytest.mark.parametrize("name", ["vgpualloc", *(f"vgpualloc.{module.name}" for module in pkgutil.iter_modules(vg.__path__)
                                                 if module.name != "_core")])
def test_examples_of_docstrings_hold(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def public_members(kind):
    """Methods and properties of a class and of the bases in Python that are ours, with their names."""
    for base in kind.__mro__:
        if base.__module__.startswith("vgpualloc") and base.__module__ != "vgpualloc._core":
            for name, member in vars(base).items():
                if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                    yield f"{kind.__name__}.{name}", getattr(member, "__func__", member)


def test_every_docstring_has_parameters_and_an_example():
    gym = pytest.importorskip("vgpualloc.gym")
    types = importlib.import_module("vgpualloc.typing")
    named = {name: getattr(vg, name) for name in vg.__all__ if name != "__version__"}
    named |= {"PlaceEnv": gym.PlaceEnv, "Trial": types.Trial, "Share": types.Share, "Html": types.Html}
    for kind in [value for value in named.values() if inspect.isclass(value)]:
        named |= dict(public_members(kind))
    assert len(named) > 60
    for name, value in named.items():
        text = inspect.getdoc(value) or ""
        assert ">>> " in text, name
        parameters = inspect.signature(value).parameters if inspect.isfunction(value) else {}
        section = text.partition("Parameters\n---")[2].partition("\n\n")[0]
        for parameter in set(parameters) - {"self", "cls", "scenario", "baseline", "bound", *vg.known("options")["name"]}:
            assert re.search(rf"\b{parameter}\b", section), f"{name}: {parameter}"


def test_plots_return_axes(quickstart):
    pytest.importorskip("matplotlib")
    stays = vg.simulate(**quickstart)
    leaves = vg.simulate(**quickstart, departures=True, discipline="fifo")
    for result in (stays, leaves):
        for what in ("allocation", "fragmentation", "waits", "occupancy"):
            axes = result.plot(what)
            assert axes.get_xlabel() and axes.get_ylabel() and axes.has_data()
    crowded = vg.simulate(**quickstart, departures=True, offered_load=40.0)
    for result, moment in ((stays, None), (crowded, "at the peak")):
        picture = result.plot("occupancy").get_images()[0].get_array()
        table = result.pods.to_dict()
        if moment:
            series = result.timeseries
            moment = series["time"][series["allocated_milli"].argmax()]
            table = [row for row in table if row["start_s"] <= moment < row["end_s"]]
        counts = Counter((row["node"], gpu) for row in table for gpu in row["gpus"].split("|") if gpu)
        assert sorted(picture[picture > 0]) == sorted(counts.values()) and len(counts) > 100
        assert picture.shape[1] == len({node for node, _ in counts}) and all(a >= b for a, b in zip(*[iter(picture.sum(0))] * 2))
    with pytest.raises(vg.InputError, match="allocation, fragmentation, waits, occupancy"):
        stays.plot("shares")
    sweep = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **quickstart)
    axes = sweep.plot("allocation")
    assert [line.get_label() for line in axes.get_lines()] == ["fgd", "best_fit"]
    assert axes.get_lines()[0].get_xdata()[-1] > 90
