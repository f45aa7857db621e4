"""Where the command line and the lists of the checkout are."""

import os
import subprocess
from pathlib import Path

import pytest
import vgpualloc as vg

ROOT = Path(__file__).resolve().parents[2]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With CI=true a list or module that is not there is a failure."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped with CI=true: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def quickstart():
    folder = ROOT / "traces" / "quickstart"
    return {"nodes": folder / "nodes.csv", "pods": folder / "pods.csv"}


@pytest.fixture(scope="session")
def traces():
    """Gives the path of a public list; a test that needs one which is not there is skipped."""
    folder = Path(os.environ.get("VGPUALLOC_TRACES", Path.home() / ".cache" / "vgpualloc" / "traces"))

    def find(name):
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in $VGPUALLOC_TRACES")
        return folder / name

    return find


@pytest.fixture(scope="session")
def openb(traces):
    return {"nodes": traces("openb_node_list_gpu_node.csv"), "pods": traces("openb_pod_list_default.csv")}


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
