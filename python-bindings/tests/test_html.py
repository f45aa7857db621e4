"""What notebooks show: what the page promises of each type, and names as text."""

import html.parser
import re

import pytest
import vgpualloc as vg
from vgpualloc.typing import Html

SCRIPT = "<script>alert(1)</script>"
HALF = vg.Pod(gpus=1, gpu_memory_mib=20480, gpu_cores=50)


class Shown(html.parser.HTMLParser):
    """The tags of a page, whether each is closed, and its tables as lists of rows."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.tables, self.words, self.styles = [], [], [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.styles += [value for name, value in attributes if name == "style"]
        assert not any(name.startswith("on") or "javascript" in (value or "") for name, value in attributes)
        if tag not in ("br", "polyline"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data


@pytest.fixture
def cluster():
    return vg.Cluster.read(**vg.example("cluster"))


def test_a_result_has_the_cards_of_the_report_a_line_and_the_reasons(quickstart):
    for options in ({"tune": 1.3}, {"departures": True, "discipline": "fifo", "offered_load": 3.0}):
        result = vg.simulate(**quickstart, **options)
        shown, report = Shown(result._repr_html_()), result.report()
        words = " ".join(shown.words)
        for figure in re.findall(r"<h3>([^<]*)</h3><p><strong>([^<]*)</strong>", report):
            if figure[0].startswith(("GPUs", "Fragmentation", "Pods")):
                assert figure[0] in words and figure[1] in words, figure
        assert words.count("%") > 4 and "Pods placed" in words
        assert shown.tags.count("polyline") == 2
        failed = result.summary["pods"]["failed_by_reason"]
        assert {row[0]: int(row[1]) for table in shown.tables for row in table[1:]} == failed
        assert bool(failed) == ("departures" not in options)


def test_the_line_of_allocation_ends_where_the_run_does(quickstart):
    result = vg.simulate(**quickstart, tune=1.3)
    allocated = result._repr_html_().partition('points="')[2].partition('"')[0].split()
    heights = [float(point.split(",")[1]) for point in allocated]
    assert len(heights) > 100 and heights[-1] == pytest.approx(90 * (1 - result.summary["gpu"]["allocation_ratio"]), abs=0.06)
    assert all(first >= then for first, then in zip(heights, heights[1:]))  # pods stay


def test_a_cluster_has_a_row_for_each_pool_with_a_bar(cluster):
    cluster.fail("npu-0/npu-a")
    shown = Shown(cluster._repr_html_())
    (head, *rows), = shown.tables
    assert head == ["pool", "mode", "nodes", "devices", "", "used", "idle", "out of service"]
    devices = cluster.devices.to_dict()
    assert [(row[0], row[1]) for row in rows] == [*dict.fromkeys((d["model"], d["mode"]) for d in devices), ("no device", "")]
    assert [int(row[3]) for row in rows] == [3, 1, 2, 1, 0]
    assert rows[0][5:] == ["31.67 %", "35.00 %", "33.33 %"]  # 950 of 3000 used, one of three failed
    assert rows[2][5:] == ["0.00 %", "50.00 %", "50.00 %"]
    widths = [float(width) for style in shown.styles for width in re.findall(r";width:([\d.]+)%", style)]
    assert sum(widths) == pytest.approx(400, abs=0.1)


def test_a_placement_and_a_rejection_have_parts_and_reasons(cluster):
    placed = cluster.place(HALF, name="mine")
    shown = Shown(placed._repr_html_())
    assert shown.tables[0][1:] == [["0", placed.shares[0].uuid, placed.shares[0].part]] and "mine on core-0" in " ".join(shown.words)
    refused = cluster.place(vg.Pod(gpus=64))
    shown = Shown(refused._repr_html_())
    assert {row[0]: int(row[1]) for row in shown.tables[0][1:]} == refused.reasons and refused.message in " ".join(shown.words)
    large = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=200_000))
    (closest,) = [word for word in Shown(large._repr_html_()).words if word.startswith("closest: ")]
    node, reason = re.fullmatch(r"closest: (.*), insufficient_device_memory: (wanted 200000 MiB, available \d+ MiB)", closest).groups()
    why = cluster.explain(vg.Pod(gpus=1, gpu_memory_mib=200_000).manifest("volcano_vgpu"))["nodes"].to_dict()
    available = {row["name"]: row["reason.available"] for row in why if row["reason.code"] == "insufficient_device_memory"}
    assert f"available {max(available.values())} MiB" in reason and available[node] == max(available.values())


def test_a_table_has_its_first_and_last_five_rows_and_types():
    table = vg.Table.of({"n": list(range(100)), "x": [0.5] * 100, "b": [True] * 100, "t": ["a"] * 100})
    head, *rows = Shown(table._repr_html_()).tables[0]
    assert head == ["nint64", "xfloat64", "bbool", "ttext"]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4", "…", "95", "96", "97", "98", "99"]
    assert len(Shown(table.head(10)._repr_html_()).tables[0]) == 11
    Shown(vg.Table.of({})._repr_html_())


def test_an_answer_has_its_tables_and_its_text(cluster):
    for answer in (cluster.explain("team/waits"), cluster.whatif(drain="core-1"), cluster.plan("team/waits"),
                   cluster.ask_node("team/waits", "core-1")):
        shown = Shown(answer._repr_html_())
        assert shown.words[-1] == str(answer) and shown.tags.count("details") == 1
        lists = [value for value in answer.values() if isinstance(value, vg.Table)]
        assert [len(table) - 1 for table in shown.tables[len(shown.tables) - len(lists):]] == [len(value) for value in lists]
    answer = cluster.whatif(drain="core-1")
    both, = [table for table in Shown(answer._repr_html_()).tables if table[0] == ["", "before", "after"]]
    figures = [answer[when]["allocated_milli"] for when in ("before", "after")]
    assert ["allocated_milli", *map(str, figures)] in both and figures[0] != figures[1]


def test_a_sweep_has_means_and_the_differences_that_are_shown(quickstart):
    sweep = vg.sweep({"policy": ["fgd", "best_fit", "first_fit"], "seed": range(4)}, **quickstart)
    means, differences = Shown(sweep._repr_html_()).tables
    assert means[0] == ["mean ± sd", "fgd", "best_fit", "first_fit"]
    row = next(row for row in sweep.mean().to_dict() if row["measure"] == "allocation_ratio" and row["policy"] == "best_fit")
    assert next(row for row in means if row[0] == "allocation_ratio")[2] == f"{row['mean']:.6g} ± {row['sd']:.3g}"
    compared = [row for row in sweep.differences(against="fgd").to_dict() if row["shown"] != "no difference"]
    assert 0 < len(compared) < len(sweep.differences(against="fgd"))
    assert [(row[0], row[1], row[-1]) for row in differences[1:]] == [(r["measure"], r["policy"], r["shown"]) for r in compared]
    for grid in ({"seed": [1]}, {"seed": [1, 2]}, {"policy": ["nonesuch"]}, {"policy": ["fgd"], "seed": [1]}):
        Shown(vg.sweep(grid, **quickstart)._repr_html_())


def named_by_a_script():
    """Values of every type with a script for every name that there can be."""
    nodes = {"sn": [SCRIPT, SCRIPT + "2"], "cpu_milli": [9000] * 2, "memory_mib": [9000] * 2, "gpu": [1, 1], "model": [SCRIPT] * 2}
    pods = {"name": [SCRIPT, "b", "c"], "cpu_milli": [1] * 3, "memory_mib": [1] * 3, "num_gpu": [1, 1, 8], "gpu_milli": [100] * 3}
    result = vg.simulate(nodes, pods)
    cluster = vg.Cluster.read({"kind": "Node", "metadata": {"name": "n", "annotations": {
        "volcano.sh/node-vgpu-register": f"{SCRIPT},10,40960,{SCRIPT},true,hami-core:"}},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9", "volcano.sh/vgpu-number": "10",
                                   "volcano.sh/vgpu-memory": "40960", "volcano.sh/vgpu-cores": "100"}}})
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [
        {"name": "c", "resources": {"limits": {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 10**6}}}]}}
    placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=10), name=SCRIPT.replace("/", ""))
    sweep = vg.sweep({"pods": {SCRIPT: pods, "b": pods}, "policy": ["fgd", SCRIPT], "seed": [1, 2]}, nodes=nodes)
    return {"Table": vg.Table.of({SCRIPT: [SCRIPT]}), "Rejection": vg.Rejection(SCRIPT, SCRIPT, {SCRIPT: 1}, SCRIPT, SCRIPT),
            "Result": result, "Result.pods": result.pods, "Cluster": cluster, "Cluster.devices": cluster.devices,
            "Placement": placed, "Rejection of a cluster": cluster.place(pod, name="q"), "Sweep": sweep,
            "Sweep by its first key": vg.sweep({"pods": {SCRIPT: pods, "b": pods}}, nodes=nodes), "Sweep.table": sweep.table,
            "errors": sweep.errors, "explain": cluster.explain(pod), "whatif": cluster.whatif(add_pods={"kind": "Pod", **pod}),
            "Answer": vg.Answer(SCRIPT, {SCRIPT: SCRIPT, "of": {SCRIPT: SCRIPT}, "rows": [{SCRIPT: SCRIPT}]}, True),
            "Html": Html(SCRIPT)}


def test_names_are_escaped():
    for kind, value in named_by_a_script().items():
        shown = value._repr_html_()
        assert "<script" not in shown, kind
        Shown(shown)
        if kind not in ("Rejection of a cluster", "Result", "Sweep", "whatif"):  # which show no names that a caller has given
            assert "alert(1)" in shown, kind


def test_a_cluster_without_gpus_has_cards_too():
    nodes = {"sn": ["a"], "cpu_milli": [1], "memory_mib": [1], "gpu": [0], "model": [""]}
    pods = {"name": ["p"], "cpu_milli": [1], "memory_mib": [1], "num_gpu": [0], "gpu_milli": [0]}
    Shown(vg.simulate(nodes, pods)._repr_html_())
