"""simulate() against vgpusim run."""

import inspect
import json
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import vgpualloc as vg


def without_timing(name, content):
    if name != "summary.json":
        return content
    summary = json.loads(content)
    summary.pop("timing", None)
    return summary


def files_in(folder):
    return {str(path.relative_to(folder)): without_timing(path.name, path.read_bytes())
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "report.html"}


@pytest.mark.parametrize("options", [
    {"policy": "fgd", "tune": 1.3, "seed": 77},
    {"policy": "best_fit", "departures": True, "discipline": "fifo"},
    {"policy": "ssp", "mode": "exclusive"},
])
def test_writes_the_bytes_of_the_command_line(quickstart, vgpusim, tmp_path, options):
    result = vg.simulate(**quickstart, **options)
    result.write(tmp_path / "python")
    flags = [f"--set={key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()]
    vgpusim("run", "--nodes", quickstart["nodes"], "--pods", quickstart["pods"], *flags, "--out", tmp_path / "cli")
    assert files_in(tmp_path / "python") == files_in(tmp_path / "cli")


class Fullest(vg.Policy):
    def score(self, request, before, after):
        return after.used_milli * 1.0


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
    assert files_in(ours) == files_in(tmp_path / "cli")
    assert (ours / "trace.json").exists() and (ours / "baseline" / "trace.json").exists() == bool(baseline)
    result.write(ours)  # which leaves nothing of the one before
    assert not list(ours.rglob("trace.json"))


def test_runs_of_policies_in_python_have_traces(quickstart, tmp_path):
    vg.simulate(**quickstart, policy=Fullest()).write(tmp_path, trace=True)
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


def test_columns_are_views_that_outlive_the_result(quickstart):
    result = vg.simulate(**quickstart)
    allocated = result.timeseries["allocated_milli"]
    assert allocated.dtype == np.int64
    assert not allocated.flags.owndata and not allocated.flags.writeable
    total = int(allocated.sum())
    del result
    assert int(allocated.sum()) == total


def test_bytes_and_tables_replay_as_files_do(quickstart):
    import pandas
    import polars
    import pyarrow.csv

    by_path = vg.simulate(**quickstart).pods
    texts = {name: path.read_bytes() for name, path in quickstart.items()}
    assert vg.simulate(**texts).pods == by_path
    for read in (polars.read_csv, pyarrow.csv.read_csv, pandas.read_csv):
        tables = {name: read(path) for name, path in quickstart.items()}
        assert vg.simulate(**tables).pods == by_path, read.__module__
    arrays = {name: {column: frame[column].to_numpy() for column in frame.columns}
              for name, frame in ((name, pandas.read_csv(path)) for name, path in quickstart.items())}
    assert vg.simulate(**arrays).pods == by_path


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
    assert parameters["policy"].default == "fgd" and parameters["departures"].default is False


def test_tables_go_into_frames_and_back(quickstart):
    pods = vg.simulate(**quickstart).pods
    for frame in (pods.to_pandas(), pods.to_polars(), pods.to_arrow()):
        assert list(np.asarray(frame["reason"])) == list(pods["reason"])
        assert np.array_equal(np.asarray(frame["arrival_s"]), pods["arrival_s"], equal_nan=True)


def test_an_interrupt_ends_the_call(quickstart):
    before = time.perf_counter()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            vg.simulate(**quickstart)
    assert time.perf_counter() - before < 5.0
    assert len(vg.simulate(**quickstart).pods) > 0


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


def test_progress_ends_at_its_total(quickstart):
    steps = []
    vg.simulate(**quickstart, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] > 0
    assert all(first[0] <= then[0] for first, then in zip(steps, steps[1:]))
