"""What type checkers are told of the package, against the package."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import vgpualloc as vg
from conftest import ROOT

SOURCES = ROOT / "python-bindings"
# The examples of the page, in one module. They leave out annotations, for who reads.
PRELUDE = """# mypy: allow-untyped-defs, allow-untyped-calls, allow-redefinition
import numpy as np
import polars as pl
path = table = "a path"
"""
# Only for stubtest: what is below is not its matter, and is most of what there is to read.
ELSEWHERE = """[mypy]
[mypy-numpy.*,matplotlib.*,gymnasium.*,polars.*,pandas.*,pyarrow.*,numba.*,distributed.*,ray.*,tqdm.*]
follow_imports = skip
ignore_missing_imports = true
"""
# Functions and classes of nanobind, and what is derived of these, have types of their own;
# test_the_stub_of_the_compiled_module compares these by name. Names that are imported for annotations only are variables where what
# is imported is skipped. A policy's score is shown as a variable.
ALLOWED = r"""vgpualloc\._core\..*
vgpualloc\._pods\.Placement
vgpualloc\._tables\.(pandas|polars|pyarrow)
vgpualloc\._policies\.Policy\.score
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs mypy on files; what it has read once it keeps for the next run."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*files):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "vgpualloc", *files], cwd=SOURCES,
                              capture_output=True, text=True, check=False).stdout

    return run


def test_the_stub_of_the_calls_is_that_of_the_option_table():
    spec = importlib.util.spec_from_file_location("python_stub", ROOT / "scripts" / "python_stub.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = script.STUB.read_text(encoding="utf-8")
    assert text == script.stub(), "run scripts/python_stub.py"
    for function in [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]:
        named = dict(zip([a.arg for a in function.args.kwonlyargs], function.args.kw_defaults))
        for option in vg.known("options").to_dict():
            if option["type"] != "input":
                assert str(ast.literal_eval(named[option["name"]])).lower() in (option["default"], option["default"] + ".0")


def test_mypy_is_content_with_the_package_and_the_examples(mypy, tmp_path):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = tmp_path / "blocks_of_the_page.py"
    blocks.write_text(PRELUDE + "".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)), encoding="utf-8")
    examples = sorted((SOURCES / "tests" / "examples").glob("*.py"))
    assert len(examples) == 10
    found = mypy(*examples, blocks)
    assert "no issues" in found, found


def test_a_wrong_keyword_and_a_wrong_type_are_found(mypy, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import vgpualloc as vg\n"
                     "vg.simulate(polcy='fgd')\n"
                     "vg.sweep({}, seed='77')\n"
                     "if not (placed := vg.Cluster.read('c').place(vg.Pod(gpus=1))):\n"
                     "    placed.node\n", encoding="utf-8")
    found = mypy(wrong)
    assert [line.split(":")[1] for line in found.splitlines() if ": error:" in line] == ["2", "3", "5"], found


def test_stubs_and_the_package_do_not_differ(tmp_path):
    pytest.importorskip("mypy")
    config, allowed = tmp_path / "mypy.ini", tmp_path / "allowed"
    config.write_text(ELSEWHERE)
    allowed.write_text(ALLOWED)
    run = subprocess.run([sys.executable, "-m", "mypy.stubtest", "vgpualloc", "--mypy-config-file", config, "--allowlist", allowed,
                          "--concise"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def parameters_of(text):
    """By the name of every function and property, the names of its parameters."""
    names = {}
    for node in ast.parse(text).body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef):
                names[getattr(node, "name", ""), function.name] = [
                    argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return names


def test_the_stub_of_the_compiled_module_names_what_is_there():
    stubgen = pytest.importorskip("nanobind.stubgen").StubGen(vg._core)
    stubgen.put(vg._core)
    generated = parameters_of(stubgen.get())
    assert len(generated) > 80
    assert parameters_of((Path(vg.__file__).parent / "_core.pyi").read_text(encoding="utf-8")) == generated
