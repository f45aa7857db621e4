"""The notebooks of docs/notebooks, run on small grids."""

import json
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"

#: What is to be seen of each.
SEEN = {"fgd-table": ("compat:gpuclustering", "130", "image/png"), "mig-or-slices": ("hami_core", "mig 1g.5gb at slot"),
        "ten-line-policy": ("py:balanced", "weighted:py:balanced=0.3,fgd=0.7", "image/png"),
        "gymnasium-agents": ("at_random", "greedy", "policy fgd", "image/png")}


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
