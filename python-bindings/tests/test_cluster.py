"""Answers of a cluster against those of the command line."""

import json
import pickle

import pytest
import vgpualloc as vg


@pytest.fixture
def cluster(files):
    return vg.Cluster.read(**files)


def cluster_arguments(files):
    return [files["objects"], "--config", files["config"]]


def test_explain_reads_as_the_command(cluster, files, vgpusim):
    answer = cluster.explain("team/waits")
    printed = vgpusim("explain", *cluster_arguments(files), "--pod", "team/waits")
    assert str(answer) == printed.stdout.rstrip("\n")
    printed = json.loads(vgpusim("explain", *cluster_arguments(files), "--pod", "team/waits", "--json").stdout)
    assert answer.to_dict() == (printed[0] if isinstance(printed, list) else printed)
    assert "name" in answer["nodes"].columns and len(answer["nodes"]) > 0
    assert not answer.ok and cluster.explain("default/waits").ok
    assert pickle.loads(pickle.dumps(answer)).to_dict() == answer.to_dict()


def test_whatif_reads_as_the_command(cluster, files, vgpusim):
    answer = cluster.whatif(drain=["core-1"])
    printed = vgpusim("whatif", *cluster_arguments(files), "--drain", "core-1")
    assert str(answer) == printed.stdout.rstrip("\n")
    assert answer.to_dict() == json.loads(vgpusim("whatif", *cluster_arguments(files), "--drain", "core-1", "--json").stdout)
    more = cluster.whatif(add_nodes={"A100-40GB:mig:8": 2})
    assert more["after"] != cluster.whatif()["after"]


@pytest.mark.parametrize("options, flags", [
    ({}, []),
    ({"moves": 1, "downtime_s": 7.5}, ["--moves", "1", "--downtime-s", "7.5"]),
    ({"move_bare_pods": True, "move_s": 2, "copy_s_per_gib": 0.5}, ["--move-bare-pods", "--move-s", "2", "--copy-s-per-gib", "0.5"]),
    ({"move_bare_pods": True, "keep_namespace": ["default"]}, ["--move-bare-pods", "--keep-namespace", "default"]),
    ({"move_bare_pods": True, "movable_label": {"a": "b"}, "steps": 5}, ["--move-bare-pods", "--movable-label", "a=b", "--steps", "5"])])
def test_plan_reads_as_the_command(cluster, files, vgpusim, options, flags):
    answer = cluster.plan("team/waits", **options)
    flags = [*cluster_arguments(files), "--pod", "team/waits", *flags]
    printed, data = (vgpusim("plan", *flags, *form, check=False).stdout for form in ([], ["--json"]))

    def without_time(text):
        return [line for line in text.splitlines() if " s)" not in line and "planned in" not in line]

    assert without_time(str(answer)) == without_time(printed.rstrip("\n"))
    assert {**answer.to_dict(), "timing": 0} == {**json.loads(data), "timing": 0}
    assert answer.ok == answer["found"]


def test_what_is_not_there_is_said(cluster, files):
    with pytest.raises(vg.InputError) as refused:
        cluster.explain("nobody")
    assert refused.value.code == "unknown_name"
    with pytest.raises(vg.InputError):
        cluster.whatif(drain=["nowhere"])
    with pytest.raises(FileNotFoundError):
        vg.Cluster.read("none.yaml").explain("team/waits")
    with pytest.raises(TypeError):
        vg.Cluster()
    content = vg.Cluster.read(files["objects"].read_bytes(), config=files["config"].read_bytes())
    assert str(content.whatif()).replace("<cluster>", str(files["objects"])) == str(cluster.whatif())


def test_a_cluster_of_kinds_is_what_whatif_adds(cluster):
    kinds = {"A100-40GB:mig:8:96000:1048576": 2, "H100-80GB:hami_core:4:64000:524288": 1}
    empty = vg.Cluster.of(kinds)
    assert empty.nodes["node"].tolist() == ["a100-40gb-mig-8-1", "a100-40gb-mig-8-2", "h100-80gb-hami-core-4-1"]
    assert empty.nodes["cpu_milli"].tolist() == [96000, 96000, 64000]
    assert sorted(set(empty.devices["mode"])) == ["hami_core", "mig"] and len(empty.devices) == 20
    assert not empty.warnings
    assert vg.Cluster.of({"A100-40GB:mig:8": 1}).nodes["cpu_milli"].tolist() == [128000]
    expected = cluster.whatif(add_nodes={"A100-40GB:mig:8": 2})["after"]
    names = cluster.add_nodes("A100-40GB:mig:8", 2)
    assert names == ["a100-40gb-mig-8-added-1", "a100-40gb-mig-8-added-2"]
    now = cluster.whatif()["before"]
    assert {key: now[key] for key in ("nodes", "devices")} == {key: expected[key] for key in ("nodes", "devices")}


def test_a_cluster_of_a_node_list(quickstart):
    memory = {"G2": 24576, "G3": 32768, "T4": 15360, "V100M16": 16384}
    table = vg.Cluster.from_table(quickstart["nodes"], device_memory_mib=memory)
    rows = [line.split(",") for line in quickstart["nodes"].read_text().splitlines()[1:]]
    assert dict(zip(table.nodes["node"], table.nodes["cpu_milli"])) == {row[0]: int(row[1]) for row in rows}
    assert len(table.devices) == sum(int(row[3]) for row in rows)
    columns = {"sn": ["a"], "cpu_milli": [8000], "memory_mib": [16384], "gpu": [1], "model": ["T4"]}
    assert vg.Cluster.from_table(columns, device_memory_mib=15360).place(vg.Pod(gpus=1, gpu_memory_mib=15360))
    with pytest.raises(vg.InputError) as refused:
        vg.Cluster.from_table(columns)
    assert refused.value.value == "T4" and "device_memory_mib" in refused.value.expected


@pytest.mark.parametrize("kind", ["A100-40GB", "A100-40GB:mig", "nonesuch:mig:8", "A100-40GB:nonesuch:8", "A100-40GB:mig:x", "{"])
def test_what_is_no_kind_is_refused(kind):
    with pytest.raises(vg.InputError):
        vg.Cluster.of({kind: 1})


def answer_of_core_1(cluster):
    lines = str(cluster.explain("team/waits", node="core-1")).splitlines()
    return next(line.split()[2] for line in lines if line.startswith("core-1"))


def test_questions_and_snapshots_know_which_devices_are_out_of_service(cluster, files):
    assert answer_of_core_1(cluster) == "insufficient_device_memory:"
    cluster.fail("core-1/GPU-b0")
    cluster.drain("npu-0/npu-a")
    again = vg.Cluster.read(cluster.snapshot(), config=files["config"])
    services = dict(zip(again.devices["uuid"], again.devices["service"]))
    assert services["GPU-b0"] == services["npu-a"] == "failed" and services["npu-b"] == "in_service"
    assert answer_of_core_1(cluster) == "device_unhealthy,"
    cluster.restore("core-1/GPU-b0")
    assert answer_of_core_1(cluster) == "insufficient_device_memory:"


@pytest.mark.parametrize("mode", ["hami_core", "mig", "mps"])
def test_a_pod_names_mode_and_model(mode):
    cluster = vg.Cluster.of({"A100-40GB:hami_core:1": 1, "A100-40GB:mig:1": 1, "A100-40GB:mps:1": 1, "H100-80GB:hami_core:1": 1})
    modes = {(row["node"], row["uuid"]): (row["mode"], row["model"]) for row in cluster.devices.to_dict()}
    for model in ("A100", "H100"):
        placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=4000, mode=mode, model=model))
        assert bool(placed) == (model == "A100" or mode == "hami_core")
        if placed:
            assert modes[placed.node, placed.shares[0].uuid][0] == mode and model in modes[placed.node, placed.shares[0].uuid][1]
    with pytest.raises(vg.InputError, match="one of hami_core, mig, mps"):
        vg.Pod(gpus=1, mode="time_slicing")
    with pytest.raises(vg.InputError, match="mode"):
        vg.Pod(gpus=1, mode=mode).manifest("nvidia")
    assert vg.Pod(gpus=1, model="NVIDIA-A30").manifest("nvidia")["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-A30"}


def test_differences_are_those_of_the_command(cluster, files, vgpusim, tmp_path):
    assert len(cluster.differences) == 0
    cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024))
    assert len(cluster.differences) == 0
    pod = {**vg.Pod(gpus=1, gpu_memory_mib=1024).manifest("volcano_vgpu", "lost"), "status": {"phase": "Running"}}
    pod["spec"]["nodeName"] = "core-0"
    cluster.upsert(pod)  # it runs, and no annotation says on which device
    ours = cluster.differences.to_dict()
    (tmp_path / "cluster.json").write_bytes(cluster.snapshot())
    answer = json.loads(vgpusim("snapshot", tmp_path / "cluster.json", "--config", files["config"], "--json").stdout)
    assert [row["message"].split(": ", 1)[-1] for row in ours] == [row["message"].split(": ", 1)[-1] for row in answer["differences"]]
    assert len(ours) >= 1 and any("default/lost" in row["message"] for row in ours)
