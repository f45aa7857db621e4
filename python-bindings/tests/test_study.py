"""The files and comparisons of sweeps against vgpusim study and compare."""

import json
import os
import pickle

import pytest
import vgpualloc as vg
from own_policies import Packed
from conftest import ROOT

POLICIES = ["fgd", "compat:bestfit"]


@pytest.fixture
def lists(quickstart, tmp_path):
    """Two lists of pods, of which the second is shorter."""
    fewer = tmp_path / "fewer, and others.csv"
    fewer.write_text("".join(quickstart["pods"].read_text().splitlines(keepends=True)[:300]))
    return [str(quickstart["pods"]), str(fewer)]


@pytest.fixture
def models(tmp_path):
    """A workload model whose pods leave, and one whose pods stay."""
    paths = []
    for name, pods in (("a100-small", 600), ("a100-small-fill", None)):
        model = json.loads((ROOT / "scenarios" / "mig-models" / f"{name}.json").read_text())
        model["nodes"]["kinds"][0]["count"] = 10
        if pods:
            model["pods"] |= {"count": pods, "warm_up_lifetimes": 1}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(model))
    return paths


def assert_equal_files(ours, theirs):
    assert (ours / "study.csv").read_bytes() == (theirs / "study.csv").read_bytes()
    texts = [(folder / "study.json").read_text().split('  "timing": ') for folder in (ours, theirs)]
    assert texts[0][0] == texts[1][0] and '"inputs"' in texts[0][0]
    assert all(json.loads(text[1][:text[1].rindex("}")])["wall_s"] > 0 for text in texts)


def study_of_lists(vgpusim, quickstart, lists, folder, *more):
    flags = [flag for name in lists for flag in ("--pods", name)] + [flag for name in POLICIES for flag in ("--policy", name)]
    vgpusim("study", "--nodes", quickstart["nodes"], *flags, "--seeds", "-1..2", "--tune", "1.3", *more, "--out", folder)


@pytest.mark.parametrize("order", [("pods", "policy", "seed"), ("seed", "policy", "pods")])
def test_a_study_of_lists_is_that_of_the_command(quickstart, lists, vgpusim, tmp_path, order):
    values = {"pods": lists, "policy": POLICIES, "seed": [1, 0, 2, -1]}
    sweep = vg.sweep({key: values[key] for key in order}, nodes=str(quickstart["nodes"]), tune=1.3)
    assert sweep.write(tmp_path / "ours") == [tmp_path / "ours" / name for name in ("study.csv", "study.json")]
    study_of_lists(vgpusim, quickstart, lists, tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")


def test_keys_of_a_study_and_single_values_are_those_of_the_command(quickstart, lists, vgpusim, tmp_path):
    sweep = vg.sweep({"seed": [3], "mode": ["exclusive"]}, nodes=str(quickstart["nodes"]), pods=lists[1], device_policy="binpack",
                     policy="best_fit", keep="all", bound=False)
    sweep.write(tmp_path / "ours")
    vgpusim("study", "--nodes", quickstart["nodes"], "--pods", lists[1], "--policy", "best_fit", "--seeds", "3..3", "--mode",
            "exclusive", "--device-policy", "binpack", "--out", tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")


def test_a_study_of_a_scenario_is_that_of_the_command(quickstart, lists, vgpusim, tmp_path):
    scenario = tmp_path / "study.json"
    study = {"policies": POLICIES, "pods": [os.path.basename(lists[1]), lists[0]], "seeds": "5..6"}
    scenario.write_text(json.dumps({"nodes": str(quickstart["nodes"]), "tune": 0.5, "study": study}))
    vg.sweep(scenario).write(tmp_path / "ours")
    vgpusim("study", scenario, "--out", tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")
    for key, value in (("arrivals", 10), ("against", "fgd"), ("policies", [{"name": "a", "policy": "fgd"}])):
        scenario.write_text(json.dumps({"nodes": str(quickstart["nodes"]), "study": {**study, key: value}}))
        with pytest.raises(vg.InputError, match=f"study.{key}"):
            vg.sweep(scenario)


def test_prices_are_among_the_inputs(quickstart, lists, vgpusim, tmp_path):
    pytest.importorskip("highsbox")
    vg.simulate(**quickstart, policy="dual_price").write(tmp_path / "priced")
    prices = str(tmp_path / "priced" / "prices.json")
    vg.sweep({"policy": ["dual_price"], "seed": range(2)}, nodes=str(quickstart["nodes"]), pods=lists[0],
             prices=prices).write(tmp_path / "ours")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"prices": prices, "nodes": str(quickstart["nodes"]), "study": {
        "policies": ["dual_price"], "pods": lists[:1], "seeds": "0..1"}}))
    vgpusim("study", scenario, "--out", tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")
    assert "prices.json" in (tmp_path / "ours" / "study.json").read_text()


@pytest.mark.parametrize("keep", ["figures", "curves"])
def test_a_study_of_models_is_that_of_the_command(models, vgpusim, tmp_path, keep):
    sweep = vg.sweep({"policy": ["first_fit", "mfi"], "offered_load": [0.9, 1.0], "seed": range(21, 24)}, format="model",
                     pods=models[0], keep=keep)
    sweep.write(tmp_path / "ours")
    flags = ("--format", "model", "--policy", "first_fit", "--policy", "mfi", "--seeds", "21..23")
    vgpusim("study", "--pods", models[0], "--loads", "0.9,1.0", *flags, "--out", tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")
    assert "accepted_ratio:1g-5gb" in (tmp_path / "ours" / "study.csv").read_text()
    vg.sweep({"pods": [str(model) for model in models], "policy": ["first_fit", "mfi"], "seed": range(21, 24)}, format="model",
             discipline="try_once", keep=keep).write(tmp_path / "ours")
    vgpusim("study", "--pods", models[0], "--pods", models[1], *flags, "--out", tmp_path / "theirs")
    assert_equal_files(tmp_path / "ours", tmp_path / "theirs")
    assert "filled_memory_ratio" in (tmp_path / "ours" / "study.csv").read_text()


def test_kept_and_pickled_cells_write_the_same(quickstart, lists, vgpusim, tmp_path):
    grid = {"policy": POLICIES, "pods": lists, "seed": range(-1, 3)}
    options = {"nodes": str(quickstart["nodes"]), "tune": 1.3, "cache": tmp_path / "cells"}
    vg.sweep({**grid, "policy": POLICIES[:1]}, **options)
    sweep = vg.sweep(grid, **options)
    study_of_lists(vgpusim, quickstart, lists, tmp_path / "theirs")
    for name, again in (("kept", sweep), ("pickled", pickle.loads(pickle.dumps(sweep)))):
        again.write(tmp_path / name)
        assert_equal_files(tmp_path / name, tmp_path / "theirs")


def test_tables_and_policies_in_python_take_part(quickstart, lists, tmp_path):
    class Fullest(Packed):
        """Under another name."""

    pandas = pytest.importorskip("pandas")
    named = {"all": pandas.read_csv(lists[0]), "fewer": lists[1]}
    sweep = vg.sweep({"policy": [Fullest(), "fgd"], "pods": named, "seed": range(2)}, nodes=quickstart["nodes"])
    sweep.write(tmp_path)
    rows = [line.split(",")[:2] for line in (tmp_path / "study.csv").read_text().splitlines()[1:]]
    assert {tuple(row) for row in rows} == {(policy, name) for policy in ("py:fullest", "fgd") for name in ("all", "fewer")}
    summary = json.loads((tmp_path / "study.json").read_text())
    assert [entry["path"] for entry in summary["inputs"]] == [str(quickstart["nodes"]), "<pods>", lists[1]]
    assert summary["runs"] == 8 and all(len(entry["sha256"]) == 64 for entry in summary["inputs"])


@pytest.mark.parametrize("grid, options, field", [
    ({"seed": [1, 2], "tune": [1.0, 1.1]}, {}, "tune"),
    ({"seed": [1, 3]}, {}, "seed"),
    ({"seed": [2**64 - 1]}, {}, "seed"),
    ({"seed": [1]}, {"departures": True}, "departures"),
    ({"seed": [1]}, {"departures": True, "offered_load": 0.5}, "offered_load"),
    ({"seed": [1], "offered_load": [0.5]}, {"departures": True}, "offered_load"),
    ({"seed": [1]}, {"discipline": "fifo"}, "discipline"),
    ({"seed": [1]}, {"keep": "figures"}, "keep"),
    ({"seed": [1], "policy": ["fgd", "nonesuch"]}, {}, "cell"),
    ([{"policy": "fgd", "seed": 1}, {"policy": "best_fit", "seed": 1}, {"policy": "fgd", "seed": 2}], {}, "grid"),
    ([{"policy": "fgd", "seed": 1}, {"policy": "fgd", "seed": 1}], {}, "grid"),
    ([{"policy": "fgd", "seed": 1}, {"seed": 2}], {}, "grid"),
])
def test_what_is_no_study_is_refused(quickstart, tmp_path, grid, options, field):
    sweep = vg.sweep(grid, **quickstart, **options)
    with pytest.raises(vg.InputError) as refused:
        sweep.write(tmp_path / "out")
    assert refused.value.field == field and not (tmp_path / "out").exists()


def test_the_largest_seed_has_its_row(quickstart):
    sweep = vg.sweep({"seed": [2**64 - 1, -1]}, **quickstart)
    assert sweep.table["seed"].tolist() == [str(2**64 - 1), "-1"]
    assert sweep.table["placed"][0] == sweep.table["placed"][1]


def test_both_files_or_neither(quickstart, tmp_path):
    pods = tmp_path / "study.csv"
    pods.write_bytes(quickstart["pods"].read_bytes())
    sweep = vg.sweep({"seed": [1]}, nodes=quickstart["nodes"], pods=pods)
    with pytest.raises(vg.InputError, match="study.csv"):
        sweep.write(tmp_path)
    assert pods.read_bytes() == quickstart["pods"].read_bytes() and os.listdir(tmp_path) == ["study.csv"]
    with pytest.raises(NotADirectoryError):
        sweep.write(pods)
    (tmp_path / "out" / "study.json").mkdir(parents=True)
    with pytest.raises(OSError):
        sweep.write(tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["study.json"]
    with pytest.raises(vg.InputError):
        sweep.write("a\0b")


COMPARED = [
    {},
    {"departures": True},
    {"departures": True, "discipline": "fifo", "offered_load": 1.2},
    {"departures": True, "discipline": "fifo", "mode": "exclusive", "offered_load": 0.9},
    {"discipline": "fifo", "tune": 1.3},
]


@pytest.mark.parametrize("options", COMPARED)
def test_differences_are_those_of_compare(quickstart, vgpusim, tmp_path, options):
    policies = ["fgd", "best_fit", "spread"]
    settings = [f"--set={key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()]
    flags = [flag for policy in policies for flag in ("--policy", policy)]
    vgpusim("compare", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], *flags, *settings, "--seeds", "42..45",
            "--out", tmp_path)
    printed = json.loads((tmp_path / "compare.json").read_text())["differences"]
    sweep = vg.sweep({"policy": policies, "seed": range(42, 46)}, **quickstart, **options, keep="figures", cache=tmp_path / "cells")
    again = vg.sweep({"policy": policies, "seed": range(42, 46)}, **quickstart, **options, keep="figures", cache=tmp_path / "cells")
    assert ("not comparable" in {row["shown"] for row in printed}) == ("tune" in options)  # jobs that wait for ever
    assert len({row["measure"] for row in printed}) == (9 if "discipline" in options else 7)
    for of in (sweep, again):
        ours = of.differences(against="fgd").to_dict()
        assert [{name: None if value != value else value for name, value in row.items()} for row in ours] == printed


