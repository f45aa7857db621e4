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


def test_differences_are_those_of_compare(quickstart, vgpusim, tmp_path):
    vgpusim("compare", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], "--policy", "fgd", "--policy",
            "best_fit", "--seeds", "42..45", "--out", tmp_path / "out")
    told = json.loads((tmp_path / "out" / "compare.json").read_text())["differences"]
    ours = {row["measure"]: row for row in vg.sweep(GRID, **quickstart).differences(against="fgd").to_dict()}
    assert told
    for row in told:
        if row["mean"] is None:
            continue
        mine = ours[row["measure"]]
        assert (mine["mean"], mine["low_95"], mine["high_95"], mine["shown"]) == (
            row["mean"], row["low_95"], row["high_95"], row["shown"]), row["measure"]


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


def test_a_sweep_that_is_killed_resumes(quickstart, tmp_path):
    program = textwrap.dedent(f"""
        import vgpualloc as vg
        vg.sweep({{"policy": ["fgd", "best_fit"], "seed": range(100)}}, **vg.example("quickstart"),
                 cache={str(tmp_path)!r}, workers=2)
    """)
    running = subprocess.Popen([sys.executable, "-c", program])
    while len(list(tmp_path.glob("*.json"))) < 20:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert 20 <= len(kept) < 200
    sweep = vg.sweep({"policy": ["fgd", "best_fit"], "seed": range(100)}, **quickstart, cache=tmp_path)
    assert len(sweep.errors) == 0 and len(list(tmp_path.glob("*.json"))) == 200
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())


def test_an_interrupt_ends_a_sweep(quickstart):
    program = textwrap.dedent("""
        import sys, vgpualloc as vg
        try:
            vg.sweep({"policy": ["fgd"], "seed": range(5000)}, **vg.example("quickstart"), workers=2,
                     progress=lambda done, total: print(done, flush=True))
        except KeyboardInterrupt:
            sys.exit(7)
    """)
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "1\n"
    begin = time.perf_counter()
    running.send_signal(signal.SIGINT)
    running.stdout.read()  # a full pipe would hold it up
    assert running.wait(timeout=10) == 7
    assert time.perf_counter() - begin < 5.0


def test_one_bar_counts_all_cells(quickstart, capsys):
    pytest.importorskip("tqdm")
    vg.sweep(GRID, **quickstart, progress=True)
    shown = capsys.readouterr().err
    assert shown.count(" 0/8 ") == 1 and shown.count(" 8/8 ") >= 1, shown


def test_policies_in_python_take_part(quickstart, tmp_path):
    class Packed(vg.Policy):
        def score(self, request, before, after):
            return after.used_milli * 1.0

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
