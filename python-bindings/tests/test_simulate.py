"""simulate() against vgpusim run."""

import inspect
import pickle
import threading
import time

import pytest
import vgpualloc as vg


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
