"""The package as a whole: names, examples of docstrings, plots, what notebooks show."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

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


@pytest.mark.parametrize("name", ["vgpualloc", *(f"vgpualloc.{module.name}" for module in pkgutil.iter_modules(vg.__path__)
                                                 if module.name != "_core")])
def test_examples_of_docstrings_hold(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_plots_return_axes(quickstart):
    pytest.importorskip("matplotlib")
    stays = vg.simulate(**quickstart)
    leaves = vg.simulate(**quickstart, departures=True, discipline="fifo")
    for result in (stays, leaves):
        for what in ("allocation", "fragmentation", "waits", "occupancy"):
            axes = result.plot(what)
            assert axes.get_xlabel() and axes.get_ylabel() and axes.has_data()
    with pytest.raises(vg.InputError, match="allocation, fragmentation, waits, occupancy"):
        stays.plot("shares")
    sweep = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(3)}, **quickstart)
    axes = sweep.plot("allocation")
    assert [line.get_label() for line in axes.get_lines()] == ["fgd", "best_fit"]
    assert axes.get_lines()[0].get_xdata()[-1] > 90


def test_names_are_escaped_where_a_notebook_shows_them():
    script = "<script>alert(1)</script>"
    shown = [vg.Table.of({script: [script]}),
             vg.Rejection(script, script, {script: 1}, script),
             vg.simulate({"sn": [script], "cpu_milli": [1000], "memory_mib": [1000], "gpu": [1], "model": ["T4"]},
                         {"name": [script], "cpu_milli": [1], "memory_mib": [1], "num_gpu": [1], "gpu_milli": [100]}),
             vg.Cluster.read(**vg.example("cluster")).whatif()]
    for value in shown:
        assert "<script>alert" not in value._repr_html_(), type(value)
