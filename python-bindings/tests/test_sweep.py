"""Sweeps against single runs, and their cache."""

import json
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import vgpualloc as vg
from own_policies import Packed

GRID = {"policy": ["fgd", "best_fit"], "seed": range(42, 46)}


def without_times(table):
    return [{key: repr(value) for key, value in row.items() if key != "seconds"} for row in table.to_dict()]


def test_a_cell_is_a_run(quickstart):
    sweep = vg.sweep(GRID, **quickstart)
    assert len(sweep.table) == 8 and len(sweep.errors) == 0
    for row in sweep.table.to_dict():
        summary = vg.simulate(**quickstart, policy=row["policy"], seed=row["seed"]).summary
        assert row["placed"] == summary["pods"]["placed"]
        assert row["allocation_ratio"] == summary["gpu"]["allocation_ratio"]


def test_the_number_of_workers_changes_nothing(quickstart):
    one = vg.sweep(GRID, **quickstart, workers=1)
    four = vg.sweep(GRID, **quickstart, workers=4)
    assert without_times(one.table) == without_times(four.table)
    assert one.curves == four.curves


@pytest.mark.parametrize("options", [{}, {"departures": True, "baseline": {"policy": "spread"}}])
def test_results_of_cells_with_a_common_input_are_those_of_single_runs(quickstart, tmp_path, options):
    sweep = vg.sweep({"policy": ["fgd", "best_fit"], "seed": [1, 2]}, **quickstart, **options, keep="all", workers=2)
    for row in sweep.table.to_dict():
        files = []
        alone = vg.simulate(**quickstart, **options, policy=row["policy"], seed=row["seed"])
        for result in (sweep.results[row["cell"]], alone):
            result.write(tmp_path, trace=True)
            files.append({path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*") if path.name in (
                "pods.csv", "timeseries.csv", "trace.json")})
            assert result.summary["gpu"] == alone.summary["gpu"] and str(result).split("decisions")[0] == str(alone).split("decisions")[0]
        assert files[0] == files[1] and len(files[0]) == (6 if options else 3)


def test_a_cell_that_fails_loses_no_other(quickstart):
    sweep = vg.sweep({"policy": ["fgd", "nonesuch"], "seed": [1, 2]}, **quickstart)
    assert len(sweep.errors) == 2 and "nonesuch" in sweep.errors["error"][0]
    assert (sweep.table["placed"][:2] > 0).all()
    with pytest.raises(vg.InputError) as refused:
        vg.sweep({"policy": ["fgd", "nonesuch"]}, **quickstart, on_error="raise")
    assert any("nonesuch" in note for note in refused.value.__notes__)


def test_a_folder_keeps_cells(quickstart, tmp_path):
    first = vg.sweep(GRID, **quickstart, cache=tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 8
    stamps = [path.stat().st_mtime_ns for path in files]
    again = vg.sweep(GRID, **quickstart, cache=tmp_path)
    assert again.table == first.table and again.curves == first.curves
    assert [path.stat().st_mtime_ns for path in files] == stamps
    content = {name: path.read_bytes() for name, path in quickstart.items()}
    vg.sweep(GRID, **content, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 8  # the address is of what inputs say, not of where they are
    vg.sweep(GRID, **quickstart, tune=0.5, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 16


def test_a_sweep_of_1000_cells_that_is_killed_runs_every_cell_once(quickstart, tmp_path):
    pods = tmp_path / "pods.csv"
    pods.write_text("".join(quickstart["pods"].read_text().splitlines(keepends=True)[:200]))
    cells = tmp_path / "cells"
    program = textwrap.dedent(f"""
        import vgpualloc as vg
        vg.sweep({{"policy": ["fgd", "best_fit"], "seed": range(500)}}, nodes={str(quickstart["nodes"])!r}, pods={str(pods)!r},
                 cache={str(cells)!r}, workers=2)
    """)
    running = subprocess.Popen([sys.executable, "-c", program])
    while len(list(cells.glob("*.json"))) < 300:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    stamps = {path: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert 300 <= len(stamps) < 1000
    steps = []
    sweep = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(500)}, nodes=quickstart["nodes"], pods=pods, cache=cells,
                     progress=lambda done, total: steps.append((done, total)))
    assert steps == [(done, 1000) for done in range(len(stamps) + 1, 1001)]  # one step for each cell that is run now
    assert len(sweep.table) == 1000 and len(sweep.errors) == 0
    assert len(set(cells.glob("*.json"))) == 1000 and all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    once = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(500)}, nodes=quickstart["nodes"], pods=pods)
    assert without_times(sweep.table) == without_times(once.table) and sweep.curves == once.curves


def test_cells_of_another_version_are_not_taken(quickstart, tmp_path, monkeypatch):
    vg.sweep(GRID, **quickstart, cache=tmp_path)
    ours = {path: path.read_bytes() for path in tmp_path.iterdir()}
    steps = []
    monkeypatch.setattr(vg._core, "version", vg.__version__ + ".1")
    vg.sweep(GRID, **quickstart, cache=tmp_path, progress=lambda done, total: steps.append(done))
    assert steps == list(range(1, 9)) and len(list(tmp_path.iterdir())) == 16
    assert {path: path.read_bytes() for path in ours} == ours


def test_one_bar_counts_all_cells(quickstart, capsys):
    pytest.importorskip("tqdm")
    vg.sweep(GRID, **quickstart, progress=True)
    shown = capsys.readouterr().err
    assert shown.count(" 0/8 ") == 1 and shown.count(" 8/8 ") >= 1, shown


def test_policies_in_python_take_part(quickstart, tmp_path):
    class Keyed(Packed):
        key = "keyed-1"

    with pytest.warns(UserWarning, match="key"):
        sweep = vg.sweep({"policy": [Packed(), Keyed(), "fgd"], "seed": [1, 2]}, **quickstart, cache=tmp_path)
    assert len(sweep.errors) == 0 and len(list(tmp_path.iterdir())) == 4
    assert set(sweep.table["policy"]) == {"py:packed", "py:keyed", "fgd"}


def test_means_and_grids(quickstart):
    sweep = vg.sweep([{"policy": "fgd", "seed": 1}, {"policy": "fgd", "seed": 2}, {"policy": "best_fit", "seed": 1}],
                     **quickstart, keep="figures")
    means = {(row["policy"], row["measure"]): row for row in sweep.mean().to_dict()}
    placed = sweep.table["placed"][:2]
    assert means["fgd", "placed"]["mean"] == placed.mean() and means["fgd", "placed"]["n"] == 2
    assert np.isnan(means["best_fit", "placed"]["sd"])
    with pytest.raises(vg.InputError):
        sweep.mean("mode")
    with pytest.raises(vg.InputError):
        vg.sweep({"seed": []}, **quickstart)
    with pytest.raises(TypeError):
        vg.sweep({"seed": [1]}, seed=2, **quickstart)


def test_what_a_scenario_names_is_a_part_of_the_address(quickstart, tmp_path):
    for name, path in quickstart.items():
        (tmp_path / f"{name}.csv").write_bytes(path.read_bytes())
    scenario = tmp_path / "run.json"
    scenario.write_text(json.dumps({"nodes": "nodes.csv", "pods": "pods.csv", "policy": "best_fit"}))
    cache = tmp_path / "cells"
    first = vg.sweep({"seed": [1]}, scenario=scenario, cache=cache)
    assert vg.sweep({"seed": [1]}, scenario=scenario, cache=cache).table == first.table
    assert len(list(cache.iterdir())) == 1
    lines = (tmp_path / "pods.csv").read_text().splitlines(keepends=True)
    (tmp_path / "pods.csv").write_text("".join(lines[:100]))
    fewer = vg.sweep({"seed": [1]}, scenario=scenario, cache=cache)
    assert len(list(cache.iterdir())) == 2 and fewer.table["arrived"][0] < first.table["arrived"][0]
    vg.sweep({"seed": [1]}, scenario=scenario, baseline={"mode": "exclusive"}, cache=cache)
    assert len(list(cache.iterdir())) == 3


def test_columns_of_unequal_lengths_fail_their_cell(quickstart, tmp_path):
    pods = {"name": ["a", "b", "c"], "cpu_milli": np.arange(2), "memory_mib": np.arange(3), "num_gpu": np.ones(3),
            "gpu_milli": np.full(3, 500)}
    sweep = vg.sweep({"seed": [1]}, nodes=quickstart["nodes"], pods=pods, cache=tmp_path / "cells")
    assert "cpu_milli" in sweep.errors["error"][0]
