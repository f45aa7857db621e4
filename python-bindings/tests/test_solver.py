"""Bounds and prices, which HiGHS of the package highsbox solves, against the command line; and what they say without it."""

import json
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
import vgpualloc as vg
from test_bytes import assert_alike
from test_interrupts import seconds_to_end

NEEDED = "needs highsbox: pip install vgpualloc[solver]"


@pytest.fixture
def solver():
    """The tests that compare figures take the highsbox of requirements.txt, which vgpusim is linked with."""
    pytest.importorskip("highsbox")


@pytest.fixture
def no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "highsbox", None)


@pytest.mark.parametrize("options", [
    {"policy": "fgd", "tune": 1.3},
    {"policy": "best_fit", "departures": True, "discipline": "fifo"},
    {"policy": "dual_price", "tune": 1.1, "seed": 77},
])
def test_a_bound_has_the_bytes_of_the_command_line(quickstart, vgpusim, tmp_path, solver, options):
    result = vg.simulate(**quickstart, **options, bound=True)
    result.write(tmp_path / "python")
    flags = [f"--set={key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()]
    vgpusim("run", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], *flags, "--bound", "--out", tmp_path / "cli")
    assert_alike(tmp_path / "python", tmp_path / "cli")
    bound = json.loads(vgpusim("bound", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], *flags, "--policy",
                               options["policy"], "--json").stdout)
    assert result.summary["bound"] == {key: bound[key] for key in bound if key not in ("version", "seed", "inputs")}


@pytest.mark.parametrize("options", [{"policy": "dual_price"}, {"policy": "weighted:dual_price=1,ssp=2", "mode": "exclusive"},
                                     {"policy": "fgd", "device_policy": "dual_price"}, {"policy": "dual_price", "price_demand": "learned"}])
def test_prices_have_the_bytes_of_the_command_line(quickstart, vgpusim, tmp_path, solver, options):
    vg.simulate(**quickstart, **options).write(tmp_path / "python")
    flags = [f"--set={key}={value}" for key, value in options.items()]
    vgpusim("run", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], *flags, "--out", tmp_path / "cli")
    assert (tmp_path / "python" / "prices.json").exists()
    assert_alike(tmp_path / "python", tmp_path / "cli")


def test_a_plan_has_the_bound_of_the_command_line(vgpusim, tmp_path, solver, monkeypatch):
    """Three pods of 60 % of a GPU: two GPUs by their sum, three by the linear program."""
    cluster = vg.Cluster.of({"A100-40GB:hami_core:1": 3})
    for node in list(cluster.nodes["node"]):
        assert cluster.place(vg.Pod(gpus=1, gpu_memory_mib=24576), node=node)
    content = json.loads(cluster.snapshot())
    for entry in content["items"]:
        if entry["kind"] == "Pod":  # others may not move
            entry["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}]
    (tmp_path / "cluster.json").write_text(json.dumps(content))
    cluster = vg.Cluster.read(tmp_path / "cluster.json")
    text = vgpusim("plan", tmp_path / "cluster.json", "--consolidate", "nodes", "--json", check=False).stdout
    plan = cluster.plan(consolidate="nodes").to_dict()
    assert {**plan, "timing": None} == {**json.loads(text), "timing": None}
    assert json.loads(text)["emptied"]["used_min_by"] == "lp"
    monkeypatch.setitem(sys.modules, "highsbox", None)
    assert cluster.plan(consolidate="nodes")["emptied"]["used_min_by"] == "amounts"


def test_without_highsbox_one_error_says_what_to_install(quickstart, no_solver):
    for who, options in (("bound=True", {"bound": True}), ("policy dual_price", {"policy": "dual_price"}),
                         ("policy dual_price", {"policy": "weighted:fgd=1,dual_price=1"}),
                         ("policy dual_price", {"baseline": {"policy": "dual_price"}})):
        with pytest.raises(ImportError) as absent:
            vg.simulate(**quickstart, **options)
        assert str(absent.value) == f"{who} {NEEDED}" and absent.value.name == "highsbox"
    with pytest.raises(ImportError, match="needs highsbox"):
        vg.sweep({"policy": ["fgd", "dual_price"]}, **quickstart)
    assert vg.simulate(**quickstart, policy="fgd").summary["policy"] == "fgd"


def test_prices_that_are_there_need_no_highsbox(quickstart, no_solver):
    prices = b'{"cpu_milli_per_gpu": 10000, "devices": []}'
    assert vg.simulate(**quickstart, policy="dual_price", prices=prices).summary["policy"] == "dual_price"


@pytest.mark.parametrize("content", [None, b"", "another library"])
def test_a_library_that_is_no_highs_is_named(quickstart, monkeypatch, tmp_path, content):
    import _struct

    library = tmp_path / "libhighs.so"
    if content == "another library":
        library.symlink_to(_struct.__file__)
    elif content is not None:
        library.write_bytes(content)
    fake = types.SimpleNamespace(highs_lib_dir=lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, "highsbox", fake)
    with pytest.raises(ImportError, match=f"HiGHS: got '{library}', expected a ") as refused:
        vg.simulate(**quickstart, bound=True)
    assert ("Highs_" in str(refused.value)) == (content == "another library")


def test_what_a_signal_raises_while_it_is_looked_for_ends_the_call(quickstart, monkeypatch):
    alarm = TimeoutError("of a handler")

    def highs_lib_dir():
        raise alarm

    monkeypatch.setitem(sys.modules, "highsbox", types.SimpleNamespace(highs_lib_dir=highs_lib_dir))
    calls = (lambda: vg.simulate(**quickstart, bound=True), lambda: vg.simulate(**quickstart, policy="dual_price"),
             lambda: vg.Cluster.read(**vg.example("cluster")).plan(consolidate="nodes"))
    for call in calls:
        with pytest.raises(TimeoutError) as raised:
            call()
        assert raised.value is alarm


def test_nothing_looks_for_it_before_it_is_needed(quickstart):
    program = (f"import sys, vgpualloc as vg; vg.simulate({str(quickstart['nodes'])!r}, {str(quickstart['pods'])!r});"
               "print('highsbox' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"


def test_threads_that_solve_at_once_get_what_one_gets(quickstart, solver):
    def run(seed):
        return vg.simulate(**quickstart, policy="dual_price", seed=seed, bound=True).summary["bound"]

    alone = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, [0, 1, 2, 3] * 3)) == alone * 3


def test_an_interrupt_ends_the_solver(solver):
    """Many classes of pods on many kinds of nodes: a program that takes far longer than the run before it."""
    count = 400
    nodes = {"sn": [f"n{i}" for i in range(count)], "cpu_milli": [64000 + 100 * i for i in range(count)],
             "memory_mib": [262144 + 64 * i for i in range(count)], "gpu": [1 + i % 8 for i in range(count)], "model": ["G"] * count}
    pods = {"name": [f"p{i}" for i in range(3000)], "cpu_milli": [1000 + 37 * (i % 101) for i in range(3000)],
            "memory_mib": [100 + 61 * (i % 97) for i in range(3000)], "num_gpu": [1] * 3000,
            "gpu_milli": [10 + 10 * (i % 89) for i in range(3000)]}
    before = time.perf_counter()
    vg.simulate(nodes, pods)
    delay = 3 * (time.perf_counter() - before) + 0.5
    assert seconds_to_end(lambda: vg.simulate(nodes, pods, bound=True), delay) < 2.0
