"""simulate() against vgpusim run."""

import errno
import inspect
import json
import pickle
import subprocess
import sys
import tempfile
import threading
import time

import pytest
import vgpualloc as vg
from own_policies import Packed
from test_bytes import assert_alike


@pytest.mark.parametrize("options, baseline", [({"policy": "fgd"}, None),
                                               ({"policy": "best_fit", "departures": True}, {"policy": "spread"})])
def test_a_trace_is_that_of_the_command_line(quickstart, vgpusim, tmp_path, options, baseline):
    scenario = tmp_path / "scenario.json"
    keys = {name: str(path) for name, path in quickstart.items()} | options
    scenario.write_text(json.dumps(keys | ({"baseline": baseline} if baseline else {})))
    vgpusim("run", scenario, "--trace", "--out", tmp_path / "cli")
    result = vg.simulate(**quickstart, **options, baseline=baseline)
    ours = tmp_path / "python"
    assert ours / "trace.json" in result.write(ours, trace=True)
    assert_alike(ours, tmp_path / "cli", but=("report.html",))  # which names the scenario
    assert (ours / "trace.json").exists() and (ours / "baseline" / "trace.json").exists() == bool(baseline)
    result.write(ours)  # which leaves nothing of the one before
    assert not list(ours.rglob("trace.json"))


def test_runs_of_policies_in_python_have_traces(quickstart, tmp_path):
    vg.simulate(**quickstart, policy=Packed()).write(tmp_path, trace=True)
    events = json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) > 100
    with pytest.raises(TypeError, match="trace"):
        vg.simulate(**quickstart).write(tmp_path, trace="yes")


def test_an_input_that_is_found_by_its_bare_name_is_not_overwritten(quickstart, tmp_path, monkeypatch):
    for name, path in quickstart.items():
        (tmp_path / f"{name}.csv").write_bytes(path.read_bytes())
    monkeypatch.setenv("VGPUALLOC_TRACES", str(tmp_path))
    with pytest.raises(vg.InputError, match="pods.csv"):
        vg.simulate("nodes.csv", "pods.csv").write(tmp_path)
    assert (tmp_path / "pods.csv").read_bytes() == quickstart["pods"].read_bytes()


def test_wrong_options_say_what_is_known(quickstart):
    with pytest.raises(TypeError, match="did you mean 'policy'"):
        vg.simulate(**quickstart, polcy="fgd")
    with pytest.raises(vg.InputError) as refused:
        vg.simulate(**quickstart, policy="best")
    assert refused.value.code == "unknown_name" and "best_fit" in str(refused.value)
    with pytest.raises(FileNotFoundError) as absent:
        vg.simulate("none.csv", quickstart["pods"])
    assert absent.value.filename == "none.csv"


def test_the_signature_has_the_defaults_of_the_option_table():
    parameters = inspect.signature(vg.simulate).parameters
    options = vg.known("options")
    assert set(options["name"]) <= set(parameters)
    assert parameters["policy"].default == "bid_price" and parameters["departures"].default is False


def test_another_thread_runs_meanwhile(quickstart):
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(20):
        vg.simulate(**quickstart)
    over.set()
    thread.join()
    assert len(ticks) > 20


def test_the_baseline_is_a_result_of_its_own(quickstart, tmp_path):
    compared = vg.simulate(**quickstart, policy="fgd", baseline={"policy": "best_fit"})
    alone = vg.simulate(**quickstart, policy="best_fit")
    assert compared.baseline.pods["node"].tolist() == alone.pods["node"].tolist()
    assert alone.baseline is None
    compared.write(tmp_path / "both")
    compared.baseline.write(tmp_path / "baseline")
    assert (tmp_path / "both" / "baseline" / "pods.csv").read_bytes() == (tmp_path / "baseline" / "pods.csv").read_bytes()
    assert pickle.loads(pickle.dumps(compared)).baseline.summary["pods"] == alone.summary["pods"]


@pytest.mark.parametrize("options", [{}, {"tune": 300.0}, {"tune": 300.0, "baseline": {"policy": "best_fit"}},
                                     {"tune": 300.0, "baseline": {"tune": 200.0}}, {"tune": 200.0, "baseline": {"tune": 300.0}},
                                     {"tune": 300.0, "departures": True, "discipline": "fifo"}])
def test_progress_rises_to_its_total(quickstart, options):
    steps = []
    vg.simulate(**quickstart, **options, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] > 0 and all(0 <= done <= total for done, total in steps)
    assert all(first[0] <= then[0] for first, then in zip(steps, steps[1:]))
    assert len(steps) > 2 or "tune" not in options
    cells = []
    vg.sweep({"seed": range(5)}, **quickstart, workers=2, progress=lambda done, total: cells.append((done, total)))
    assert cells == [(done, 5) for done in range(1, 6)]


def test_nothing_is_printed_into_a_pipe(quickstart):
    """But where a bar is asked for."""
    program = ("import sys, vgpualloc as vg; lists = vg.example('quickstart'); r = vg.simulate(**lists, tune=60.0, progress=eval(sys.argv[1]))\n"
               "vg.sweep({'seed': [1, 2]}, **lists, progress=eval(sys.argv[1])); vg.check_policy; r.write(sys.argv[2]); r.report()")
    with tempfile.TemporaryDirectory() as folder:
        for progress, is_quiet in (("None", True), ("False", True), ("True", False)):
            ended = subprocess.run([sys.executable, "-c", program, progress, folder], capture_output=True, text=True, check=True)
            assert ended.stdout == "" and (ended.stderr == "") == is_quiet, ended.stderr
            assert is_quiet or "100%" in ended.stderr


LIMITED = """
import resource, sys, vgpualloc as vg
result = vg.simulate(**vg.example("quickstart"), seed=int(sys.argv[2]))
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    result.write(sys.argv[1])
except OSError as failure:
    print(failure.errno)
"""


def test_a_disk_that_fails_leaves_what_was_there(tmp_path):
    """Files may have 100 kB: the report does not fit, which is written last or first."""
    folder = tmp_path / "out"

    def write(*arguments):
        return subprocess.run([sys.executable, "-c", LIMITED, folder, *arguments], capture_output=True, text=True, check=True).stdout

    assert int(write("1", "100000")) == errno.EFBIG and not folder.exists()
    assert write("1") == ""
    one = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(one) == ["pods.csv", "prices.json", "report.html", "summary.json", "timeseries.csv"]
    assert int(write("2", "100000")) == errno.EFBIG
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == one
    assert write("2") == ""  # one set, which is the second one
    two = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert two.keys() == one.keys() and all(two[name] != one[name] for name in one)
