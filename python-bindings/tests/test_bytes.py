"""What write() writes is what vgpusim run writes: every mode, format and discipline, by path, as bytes and as columns."""

import csv
import json
import math
import re

import pytest
import vgpualloc as vg
from conftest import ROOT

SCENARIOS = [path for path in sorted((ROOT / "scenarios").glob("*.json")) if "study" not in json.loads(path.read_text())]
NODES = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,T4\nb,32000,131072,4,A10\nc,8000,16384,0,\n"
LISTS = {
    "philly": "timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(
        f"2017-10-09 07:00:{i % 60:02},{20 + 7 * i},{i % 4},{i},vc{i % 3}\n" for i in range(60)),
    "swf": "; Version: 2.2\n" + "".join(
        f"{i} {3 * i} -1 {100 + i} {1 + i % 3} -1 -1 {1 + i % 3} {90 + i} -1 1 1 1 1 {1 + i % 2} 1 -1 -1\n" for i in range(60)),
    "dlrm": "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,deletion_time\n" + "".join(
        f"i{i},{'HN' if i % 2 else 'CN'},a,{i % 9},{i % 2},{4 * i}.5,{20 * i},{'' if i % 5 == 0 else 20 * i + 300}\n" for i in range(60)),
}
OF_LISTS = ["hami_core", "exclusive", "mps"]  # modes that openb lists may have
DISCIPLINES = vg.known("disciplines")["name"].tolist()
MEASURED = re.compile(rb'"(wall_s|cpu_s|decisions_per_s|decision_p\d+_us)": ?[-+.e\d]+')
FOLDER = re.compile(rb"<tr[^>]*><td>out</td>(<td>[^<]*</td>)+</tr>")  # only a command has one


def files_of(folder):
    """Every file's bytes, but for times that are measured and the folder."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".json":
                content = MEASURED.sub(rb'"\1": 0', content)
            elif path.suffix == ".html":
                content = b"\n".join(FOLDER.sub(b"", line) for line in content.split(b"\n") if b"on this machine" not in line)
            files[str(path.relative_to(folder))] = content
    return files


def assert_alike(folder, other, *, but=()):
    """The same files with the same bytes, but for times that are measured."""
    ours, theirs = files_of(folder), files_of(other)
    assert set(ours) == set(theirs)
    assert [name for name in ours if name not in but and ours[name] != theirs[name]] == []


def run_both(vgpusim, tmp_path, options, contents_of=None):
    """The result of simulate(), after it has been compared with the command. `contents_of`: paths that only the command gets."""
    flags = [f"--set={key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()
             if key != "scenario"]
    flags += [f"--set={key}={path}" for key, path in (contents_of or {}).items()]
    vgpusim("run", *([options["scenario"]] if "scenario" in options else []), *flags, "--out", tmp_path / "cli")
    result = vg.simulate(**options, **{key: path.read_bytes() for key, path in contents_of.items()}) if contents_of else \
        vg.simulate(**options)
    paths = result.write(tmp_path / "python")
    python, cli = files_of(tmp_path / "python"), files_of(tmp_path / "cli")
    assert {str(path.relative_to(tmp_path / "python")) for path in paths} == set(python) == set(cli)
    assert {"pods.csv", "timeseries.csv", "summary.json", "report.html"} <= set(cli)
    if contents_of:  # they have other names
        for files in (python, cli):
            del files["report.html"]
            for name in [name for name in files if name.endswith("summary.json")]:
                files[name] = without_paths(json.loads(files[name]), contents_of)
    for name in cli:
        assert python[name] == cli[name], name
    check_columns(result.pods, tmp_path / "cli" / "pods.csv")
    check_columns(result.timeseries, tmp_path / "cli" / "timeseries.csv")
    return result


def without_paths(summary, contents_of):
    for entry in summary["inputs"]:
        del entry["path"]
    for key, path in contents_of.items():
        del summary["config"][key]
        summary["answer"] = summary.get("answer", "").replace(str(path), f"<{key}>")
    return summary


def check_columns(table, path):
    """Each column of a file under its name, with its values."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert table.columns == head and len(table) == len(rows) > 0
    for name, *cells in zip(head, *rows):
        values = table[name].tolist()
        if table[name].dtype == bool:
            assert [str(int(value)) for value in values] == cells, name
        elif table[name].dtype == object:
            assert values == cells, name
        elif table[name].dtype == float:
            assert all(math.isnan(value) if cell == "" else value == float(cell) for value, cell in zip(values, cells)), name
        else:
            assert [str(value) for value in values] == cells, name


@pytest.fixture
def lists(tmp_path):
    """Options of a run of each format."""
    (tmp_path / "nodes.csv").write_text(NODES)
    options = {"openb": {"nodes": ROOT / "traces/quickstart/nodes.csv", "pods": ROOT / "traces/quickstart/pods.csv"},
               "model": {"pods": tmp_path / "model.json", "offered_load": 0.9}}
    model = json.loads((ROOT / "scenarios/mig-models/a100-small.json").read_text())
    model["nodes"]["kinds"][0]["count"] = 5
    model["pods"].update(count=900, warm_up_lifetimes=2)
    (tmp_path / "model.json").write_text(json.dumps(model))
    for name, text in LISTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
        options[name] = {"nodes": tmp_path / "nodes.csv", "pods": tmp_path / f"{name}.txt"}
    return {name: {**of, "format": name} for name, of in options.items()}


@pytest.mark.parametrize("mode", OF_LISTS)
@pytest.mark.parametrize("departures", [False, True])
def test_every_mode_of_a_list(mode, departures, lists, vgpusim, tmp_path):
    run_both(vgpusim, tmp_path, {**lists["openb"], "mode": mode, "departures": departures, "tune": 1.3})


def test_modes_that_a_list_cannot_have_are_refused_alike(lists, vgpusim):
    others = set(vg.known("modes")["name"]) - set(OF_LISTS)
    assert others
    for mode in others:
        with pytest.raises(vg.InputError) as refused:
            vg.simulate(**lists["openb"], mode=mode)
        printed = vgpusim("run", *(f"--set={key}={value}" for key, value in lists["openb"].items()), f"--set=mode={mode}", check=False)
        assert printed.returncode == 2 and str(refused.value) in printed.stderr


@pytest.mark.parametrize("form", ["openb", "model", *LISTS])
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_every_format_and_discipline(form, discipline, lists, vgpusim, tmp_path):
    more = {"departures": True, "offered_load": 1.2} if form == "openb" else {}
    if discipline == "conservative" and form not in LISTS:
        with pytest.raises(vg.InputError, match="conservative"):  # devices are shared
            vg.simulate(**lists[form], **more, discipline=discipline)
        return
    result = run_both(vgpusim, tmp_path, {**lists[form], **more, "discipline": discipline, "policy": "best_fit"})
    assert result.summary["config"]["discipline"] == discipline


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_by_path_and_with_contents_in_their_place(scenario, vgpusim, tmp_path):
    """Kubernetes objects on devices of every mode, with MIG, memory, events and an autoscaler."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    run_both(vgpusim, tmp_path / "a", {"scenario": scenario})
    paths = {option["name"] for option in vg.known("options").to_dict() if option["type"] == "input"}
    named = {key: (scenario.parent / value).resolve() for key, value in json.loads(scenario.read_text()).items() if key in paths}
    assert {"nodes", "pods"} <= set(named)
    run_both(vgpusim, tmp_path / "b", {"scenario": scenario}, named)


def test_lists_and_scenarios_have_devices_of_every_mode():
    modes = set(OF_LISTS)
    for path in (ROOT / "scenarios").rglob("nodes*.yaml"):
        config = path.parent / "device-config.yaml"
        modes.update(vg.Cluster.read(path, config=config if config.exists() else ()).devices["mode"])
    assert modes == set(vg.known("modes")["name"])


@pytest.mark.parametrize("form", ["openb", "model", *LISTS])
def test_contents_in_the_place_of_paths(form, lists, vgpusim, tmp_path):
    named = {key: value for key, value in lists[form].items() if key in ("nodes", "pods")}
    run_both(vgpusim, tmp_path, {key: value for key, value in lists[form].items() if key not in named}, named)


def test_queues_have_their_columns(lists, vgpusim, tmp_path):
    (tmp_path / "queues.yaml").write_text("[{name: vc0, guaranteed: {devices: 3}}, {name: vc1}, {name: vc2, limit: {devices: 1}}]\n")
    options = {**lists["philly"], "queues": tmp_path / "queues.yaml", "discipline": "priority"}
    result = run_both(vgpusim, tmp_path, options)
    assert "over_quota" in set(result.pods["reason"]) or any("queue" in name for name in result.timeseries.columns), result.timeseries
