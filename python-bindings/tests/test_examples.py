"""The examples run and print what they promise, but for the one on Ray, which is only checked by mypy."""

import runpy
import shutil
from pathlib import Path

import pytest
import vgpualloc as vg

EXAMPLES = Path(__file__).parent / "examples"
PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,20,1,20.0,vc2
2017-10-09 07:00:05,30.5,2,61.0,vc1
"""


@pytest.mark.parametrize("name, needed, printed", [
    ("compare", None, "seeds_matter"),
    ("frames", "polars", "int64 (1000,)"),
    ("snapshot", "pandas", "0/6 nodes are available"),
    ("modes", "pandas", "fragmentation_milli"),
    ("policy", "numba", "py:balanced"),
    ("discipline", None, "'p99'"),
    ("agent", "gymnasium", "py:agent"),
    ("notebook", "tqdm", ""),
    ("plots", "matplotlib", "")])
def test_an_example_runs(name, needed, printed, tmp_path, monkeypatch, capsys):
    if needed:
        pytest.importorskip(needed)
    files = vg.example("cluster")
    (tmp_path / "cluster.json").write_bytes(vg.Cluster.read(**files).snapshot())
    shutil.copy(files["config"], tmp_path / "device-config.yaml")
    shutil.copy(vg.example("quickstart")["nodes"], tmp_path / "nodes.csv")
    (tmp_path / "philly.csv").write_text(PHILLY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert printed in capsys.readouterr().out
