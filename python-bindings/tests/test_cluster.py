"""Answers of a cluster against those of the command line."""

import json
import pickle

import pytest
import vgpualloc as vg


@pytest.fixture(scope="module")
def files():
    return vg.example("cluster")


@pytest.fixture
def cluster(files):
    return vg.Cluster.read(**files)


def cluster_arguments(files):
    return [files["objects"], "--config", files["config"]]


def test_explain_reads_as_the_command(cluster, files, vgpusim):
    answer = cluster.explain("team/waits")
    told = vgpusim("explain", *cluster_arguments(files), "--pod", "team/waits")
    assert str(answer) == told.stdout.rstrip("\n")
    told = json.loads(vgpusim("explain", *cluster_arguments(files), "--pod", "team/waits", "--json").stdout)
    assert answer.to_dict() == (told[0] if isinstance(told, list) else told)
    assert "name" in answer["nodes"].columns and len(answer["nodes"]) > 0
    assert not answer.ok and cluster.explain("default/waits").ok
    assert pickle.loads(pickle.dumps(answer)).to_dict() == answer.to_dict()


def test_whatif_reads_as_the_command(cluster, files, vgpusim):
    answer = cluster.whatif(drain=["core-1"])
    told = vgpusim("whatif", *cluster_arguments(files), "--drain", "core-1")
    assert str(answer) == told.stdout.rstrip("\n")
    more = cluster.whatif(add_nodes={"A100-40GB:mig:8": 2})
    assert more["after"] != cluster.whatif()["after"]


def test_plan_reads_as_the_command(cluster, files, vgpusim):
    answer = cluster.plan("team/waits", moves=3)
    told = vgpusim("plan", *cluster_arguments(files), "--pod", "team/waits", "--moves", "3", check=False)

    def without_time(text):
        return [line for line in text.splitlines() if " s)" not in line and "planned in" not in line]

    assert without_time(str(answer)) == without_time(told.stdout.rstrip("\n"))


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
