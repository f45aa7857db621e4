"""Where the command line and the lists of the checkout are."""

import os
import subprocess
from pathlib import Path

import pytest
import vgpualloc as vg

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def quickstart():
    folder = ROOT / "traces" / "quickstart"
    return {"nodes": folder / "nodes.csv", "pods": folder / "pods.csv"}


@pytest.fixture(scope="session")
def vgpusim():
    """Runs the command line of this checkout: VGPUSIM, or that of the release build."""
    program = os.environ.get("VGPUSIM", str(ROOT / "build" / "ci-release" / "bin" / "vgpusim"))

    def run(*arguments, check=True):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=check)

    return run


@pytest.fixture
def files():
    """The objects of the example cluster, as ``Cluster.read`` takes them."""
    return vg.example("cluster")
