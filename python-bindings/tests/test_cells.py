"""Which cells of a folder are taken."""

import json

import pytest
import vgpualloc as vg
from own_policies import Packed


class Keyed(Packed):
    key = "keyed-1"


def cells_in(folder):
    return {path.name for path in folder.glob("*.json")}


def test_cells_of_another_version_are_not_taken(quickstart, tmp_path, monkeypatch):
    grid = {"policy": ["fgd", "best_fit"], "seed": [1, 2]}
    first = vg.sweep(grid, **quickstart, cache=tmp_path)
    ours = cells_in(tmp_path)
    monkeypatch.setattr(vg._core, "version", "0.0.0")
    vg.sweep(grid, **quickstart, cache=tmp_path)
    theirs = cells_in(tmp_path) - ours
    assert len(ours) == len(theirs) == 4
    monkeypatch.undo()
    for path in tmp_path.glob("*.json"):
        if path.name in theirs:
            path.write_text("{}")  # would be found
    again = vg.sweep(grid, **quickstart, cache=tmp_path)
    assert again.table == first.table and len(cells_in(tmp_path)) == 8


def test_a_cell_that_is_not_whole_is_run_again(quickstart, tmp_path):
    grid = {"seed": [1, 2]}
    first = vg.sweep(grid, **quickstart, cache=tmp_path)
    path = sorted(tmp_path.glob("*.json"))[0]
    text = path.read_text()
    for broken in ("", text[: len(text) // 2], "[]", "{}"):
        path.write_text(broken)
        again = vg.sweep(grid, **quickstart, cache=tmp_path)
        assert len(again.errors) == 0 and again.table["placed"].tolist() == first.table["placed"].tolist()
        assert json.loads(path.read_text()).keys() == json.loads(text).keys()


def test_every_key_is_part_of_the_address(quickstart, tmp_path):
    pytest.importorskip("highsbox")
    options = [{}, {"policy": "best_fit"}, {"tune": 1.1}, {"mode": "exclusive"}, {"departures": True}, {"offered_load": 1.0, "departures": True},
               {"policy": Keyed()}, {"policy": vg.weighted((0.5, Keyed()), (0.5, "fgd"))}, {"policy": "fgd", "device_policy": Keyed()},
               {"pods": quickstart["pods"].read_bytes() + b"one-more,1000,1000,0,0,,LS,Running,0,1,0\n"}, {"bound": True},
               {"baseline": {"policy": "best_fit"}}, {"sample_interval_s": 60}]
    for number, option in enumerate(options):
        vg.sweep({"seed": [7]}, **{**quickstart, **option}, cache=tmp_path)
        assert len(cells_in(tmp_path)) == number + 1, option
