"""The notebooks of docs/notebooks, run on small grids."""

import json
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
import vgpualloc as vg

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"

#: What is to be seen of each.
SEEN = {"fgd-table": ("compat:gpuclustering", "130", "image/png"), "mig-or-slices": ("hami_core", "mode hami_core -> mig"),
        "ten-line-policy": ("py:balanced", "weighted:py:balanced=0.3,fgd=0.7", "image/png"),
        "gymnasium-agents": ("at_random", "greedy", "policy fgd", "image/png"),
        "fit-and-forecast": ("gpus-16", "independent", "what happened", "days drawn again", "+50 %", "image/png")}


def test_every_notebook_is_run_and_committed_without_outputs():
    paths = sorted(FOLDER.glob("*.ipynb"))
    assert {path.stem for path in paths} == set(SEEN)
    for path in paths:
        cells = json.loads(path.read_text())["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells), path.name
        assert path.stat().st_size < 20_000


@pytest.mark.parametrize("name", SEEN)
def test_a_notebook_runs_to_its_end(name, tmp_path, monkeypatch):
    for key, value in {"SEEDS": "2", "EPISODES": "1", "VGPUALLOC_TRACES": str(tmp_path / "none")}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # plots are shown in the page
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = " ".join(str(output.get("text", "")) + str(output.get("data", "")) for output in outputs)
    for words in SEEN[name]:
        assert words in shown, shown[-3000:]
    assert "Warning" not in shown, shown[-3000:]


@pytest.fixture
def fit_and_forecast(tmp_path, monkeypatch):
    """What the notebook defines before its first forecast, with the invented jobs."""
    monkeypatch.setenv("VGPUALLOC_TRACES", str(tmp_path / "none"))
    scope = {}
    for cell in json.loads((FOLDER / "fit-and-forecast.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code" and "replayed" not in scope:
            exec("".join(cell["source"]), scope)
    return scope


def test_the_fitted_model_makes_jobs_like_those_it_was_fitted_to(fit_and_forecast):
    jobs, days, fitted = (fit_and_forecast[name] for name in ("jobs", "days", "fitted"))
    pods = vg.simulate(pods=fitted(jobs, days, 64, days), format="model", policy="best_fit", seed=3).pods.to_pandas()
    pods["count"] = pods.gpus.str.count(r"\|") + 1
    of_model = pods.groupby(pods.name.str.extract(r"^(gen-pod-\d+)")[0]).agg(
        gpus=("count", "sum"), arrival_s=("arrival_s", "min"), start_s=("start_s", "min"), end_s=("end_s", "max"))
    assert (of_model.arrival_s < days * 86_400).sum() == pytest.approx(len(jobs), rel=0.05)
    share, expected = of_model.gpus.value_counts(normalize=True), jobs.num_gpus.value_counts(normalize=True)
    assert set(share.index) == {1, 2, 4, 16} and (share - expected).abs().max() < 0.03
    for gpus, of in jobs.groupby("num_gpus"):
        lifetimes = (of_model.end_s - of_model.start_s)[of_model.gpus == gpus]
        apart = np.log(lifetimes).mean() - np.log(of.duration).mean()
        assert abs(apart) < 4 * np.log(of.duration).std() / len(lifetimes) ** 0.5, gpus


def test_the_window_of_a_replay_has_what_the_jobs_take(fit_and_forecast):
    jobs, days, replayed, days_again = (fit_and_forecast[name] for name in ("jobs", "days", "replayed", "days_again"))
    begin, end = 7, 49
    arrived = jobs.arrival_s.between(begin * 86_400, end * 86_400, inclusive="left").sum()
    from_s = np.clip(jobs.arrival_s, begin * 86_400, end * 86_400)
    until_s = np.clip(jobs.arrival_s + jobs.duration, begin * 86_400, end * 86_400)
    roomy = replayed({"": jobs}, [64], (begin, end)).iloc[0]
    assert roomy.jobs == arrived and roomy.wait_p99_h == 0 and roomy.waited_pct == 0
    gpu_s = ((until_s - from_s) * jobs.num_gpus).sum()
    assert roomy.allocation_pct == pytest.approx(100 * gpu_s / (64 * 8 * (end - begin) * 86_400), rel=1e-6)
    narrow = replayed({"": jobs}, [3], (begin, end)).iloc[0]
    assert narrow.jobs == arrived and narrow.wait_p99_h > narrow.wait_p95_h > 0
    more = days_again(jobs, days, days, 1.25, np.random.default_rng(2))
    assert more.arrival_s.is_monotonic_increasing and (more.arrival_s // 86_400).nunique() == days
    assert len(more) == pytest.approx(1.25 * len(jobs), rel=0.15)
