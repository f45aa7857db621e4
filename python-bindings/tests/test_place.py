"""Pods on a cluster: place, release, trials, service."""

import datetime
import gc
import json
import pickle
import random

import pytest
import vgpualloc as vg

HALF = vg.Pod(gpus=1, gpu_memory_mib=1024, gpu_cores=10, cpu_milli=100)


@pytest.fixture
def cluster():
    return vg.Cluster.read(**vg.example("cluster"))


def shown(cluster):
    return [str(table.to_dict()) for table in (cluster.nodes, cluster.devices, cluster.pods)]


def waiting(cluster):
    """Pods that wait and can be read: team/both asks for devices of two dialects."""
    return [row["pod"] for row in cluster.pods.to_dict() if row["state"] == "waiting" and row["pod"] != "team/both"]


def test_a_placement_says_where_and_stays_readable(cluster):
    placed = cluster.place(HALF, name="mine")
    assert placed and placed.pod == "mine" and placed.node in cluster.nodes["node"].tolist()
    kept = cluster.place(HALF)
    assert kept.pod == "pod-0"
    share = placed.shares[0]
    assert share.memory_mib >= 1024 and share.uuid in cluster.devices["uuid"].tolist()
    cluster.release(kept)
    assert kept.shares[0].memory_mib == share.memory_mib and kept.annotations
    again = pickle.loads(pickle.dumps(kept))
    assert (again.node, again.shares, again.annotations) == (kept.node, kept.shares, kept.annotations)


def test_all_that_is_placed_and_released_leaves_nothing(cluster):
    first = shown(cluster)
    placed = []
    while outcome := cluster.place(HALF):
        placed.append(outcome)
    assert len(placed) > 3
    assert not outcome and outcome.reasons and outcome.message.startswith("0/")
    assert sum(outcome.reasons.values()) == len(cluster.nodes)
    for placement in placed:
        cluster.release(placement)
    assert shown(cluster) == first


def test_a_pod_that_waits_is_placed_and_waits_again(cluster):
    name = next(name for name in waiting(cluster) if cluster.explain(name).ok)
    choice = cluster.explain(name)["choice"]
    placed = cluster.place(name)
    assert placed.node == choice["node"]
    with pytest.raises(vg.StateError):
        cluster.place(name)
    with pytest.raises(vg.InputError):
        cluster.explain(name)  # it does not wait any more
    cluster.release(name)
    with pytest.raises(vg.StateError):
        cluster.release(name)
    assert cluster.explain(name)["choice"]["node"] == placed.node


def test_misuse_is_said(cluster):
    cluster.place(HALF, name="mine")
    with pytest.raises(vg.InputError) as refused:
        cluster.place(HALF, name="mine")
    assert refused.value.code == "duplicate"
    with pytest.raises(vg.InputError):
        cluster.release("nobody")
    with pytest.raises(vg.InputError):
        cluster.place("nobody")
    before = shown(cluster)
    with pytest.raises(vg.InputError):
        cluster.place(HALF, node="nowhere")
    assert shown(cluster) == before
    with pytest.raises(TypeError):
        cluster.place(17)
    other = vg.Cluster.read(**vg.example("cluster"))
    placement = other.place(HALF, name="mine")
    with pytest.raises(vg.StateError):
        cluster.release(placement)
    with pytest.raises(TypeError, match="snapshot"):
        pickle.dumps(cluster)
    for wrong in ({"gpus": True}, {"gpus": 1.5}, {"profile": 3}):
        with pytest.raises(TypeError):
            vg.Pod(**wrong)
    with pytest.raises(vg.InputError):
        vg.Pod(gpus=-1)
    with pytest.raises(AttributeError):
        HALF.gpus = 2
    assert pickle.loads(pickle.dumps(HALF)) == HALF


def test_a_trial_that_is_undone_leaves_what_the_policy_has_learned():
    def clusters(count):
        return [vg.Cluster.of({"A100-40GB:hami_core:8": 12}) for _ in range(count)]

    def pods(seed, count, sizes):
        draw = random.Random(seed)
        for _ in range(count):
            tenths = draw.choice(sizes)
            yield (vg.Pod(gpus=1, gpu_memory_mib=4096 * tenths, gpu_cores=10 * tenths, cpu_milli=2000) if tenths < 10
                   else vg.Pod(gpus=tenths // 10, cpu_milli=8000))

    def places(of, *arrivals):
        running, places_of_pods = [], []
        for pod in pods(*arrivals):
            placed = of.place(pod)
            places_of_pods.append((placed.node, [share.device for share in placed.shares]) if placed else None)
            running += [placed.pod] if placed else []
            if len(running) > 20:
                of.release(running.pop(0))
        return places_of_pods

    mix, others = [3, 5, 80, 40], [10, 10, 20]
    differing = 0
    for seed in range(4):
        undone, without, heard = clusters(3)
        for of in (undone, without, heard):
            places(of, seed, 50, mix)
        with undone.trial():
            places(undone, seed, 700, others)
            with undone.trial() as inner:
                places(undone, seed + 1, 100, others)
                inner.keep()
        for pod in pods(seed, 700, others):
            placed = heard.place(pod)
            if placed:
                heard.release(placed.pod)
        arrivals = (seed + 2, 300, [*mix, 20])
        of_undone, of_without, of_heard = (places(of, *arrivals) for of in (undone, without, heard))
        assert of_undone == of_without
        differing += of_heard != of_without
    assert differing  # what is heard otherwise matters


def test_trials_are_undone_and_nest(cluster):
    first = shown(cluster)
    with cluster.trial():
        cluster.place(HALF, name="outer")
        before = shown(cluster)
        with cluster.trial():
            cluster.place(HALF, name="inner")
            device = cluster.devices["node"][0] + "/" + cluster.devices["uuid"][0]
            cluster.fail(device)
            cluster.drain(cluster.nodes["node"][0])
            cluster.release("outer")
        assert shown(cluster) == before
        with cluster.trial() as kept:
            cluster.place(HALF, name="kept")
            kept.keep()
        assert "default/kept" in cluster.pods["pod"].tolist()
        with pytest.raises(vg.StateError):
            kept.keep()
    assert shown(cluster) == first
    with pytest.raises(ZeroDivisionError):
        with cluster.trial():
            cluster.place(HALF)
            1 / 0
    assert shown(cluster) == first
    with cluster.trial() as scope:
        cluster.place(HALF, name="stays")
        scope.keep()
    assert "default/stays" in cluster.pods["pod"].tolist()


def test_what_is_out_of_service_takes_nothing(cluster):
    placed = cluster.place(HALF, name="mine")
    cluster.drain(placed.node)
    assert cluster.place(HALF).node != placed.node
    cluster.restore(placed.node)
    cluster.fail(f"{placed.node}/{placed.shares[0].uuid}")
    again = cluster.place(HALF, node=placed.node)
    assert not again or again.shares[0].uuid != placed.shares[0].uuid
    cluster.restore(f"{placed.node}/{placed.shares[0].uuid}")
    with pytest.raises(vg.InputError):
        cluster.drain("nowhere")
    with pytest.raises(vg.InputError):
        cluster.fail(placed.node + "/none")


def test_a_snapshot_shows_the_same(cluster):
    cluster.place(HALF, name="mine")
    again = vg.Cluster.read(cluster.snapshot(), config=vg.example("cluster")["config"])
    assert again.devices == cluster.devices
    for name in waiting(cluster):
        assert str(again.explain(name)).replace("<cluster>", "<snapshot>") == str(cluster.explain(name)), name
    nameless = cluster.snapshot(anonymise=True)
    assert b"core-0" not in nameless and len(vg.Cluster.read(nameless).nodes) == len(cluster.nodes)


def test_nodes_come_and_go(cluster):
    count = len(cluster.nodes)
    first = shown(cluster)
    with cluster.trial():
        names = cluster.add_nodes(cluster.nodes["node"][0], 2)
        assert len(cluster.nodes) == count + 2
        assert cluster.place(HALF, node=names[0])
        cluster.remove_node(names[1])
        assert len(cluster.nodes) == count + 1
    assert shown(cluster) == first
    with pytest.raises(vg.InputError):
        cluster.remove_node("nowhere")


def test_a_node_comes_back_with_its_devices_as_they_were(cluster):
    cluster.drain("core-0/GPU-a0")
    first, devices = shown(cluster), cluster.devices
    with cluster.trial():
        cluster.remove_node("core-0")
    assert shown(cluster) == first
    cluster.drain("core-0")
    cluster.restore("core-0")
    assert cluster.devices == devices
    cluster.remove_node("core-0")


def test_one_node_is_asked(cluster):
    name = waiting(cluster)[0]
    answers = [cluster.ask_node(name, node) for node in cluster.nodes["node"].tolist()]
    assert any(answer.ok for answer in answers) == cluster.explain(name).ok
    assert json.loads(json.dumps(answers[0].to_dict()))["node"] == cluster.nodes["node"][0]


def test_placements_outlive_their_cluster():
    cluster = vg.Cluster.read(**vg.example("cluster"))
    placed = cluster.place(HALF)
    del cluster
    gc.collect()
    assert placed.shares


def test_objects_may_be_as_the_client_of_kubernetes_gives_them(cluster):
    """V1Pod.to_dict(): names of fields with underscores, None for what is not there, times."""
    def pod(name, **spec):
        limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000", "a_b": None}
        return {"api_version": None, "kind": None, "spec": {"node_name": None, **spec, "containers": [
            {"name": "c", "image_pull_policy": None, "resources": {"limits": limits, "claims": None}}]},
            "metadata": {"name": name, "namespace": None, "labels": {"my_team": "x"}, "annotations": None, "owner_references": None,
                         "creation_timestamp": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)}}

    refused = cluster.place(pod("picky", node_selector={"my_disk": "fast"}))
    assert not refused and "selector" in refused.message
    assert cluster.place(pod("plain"))
    assert cluster.explain(pod("other")).ok
    cluster.upsert({**pod("bound", node_name="core-0"), "kind": "Pod", "status": {"phase": "Running"}})
    assert ("default/bound", "runs", "core-0") in [tuple(row.values()) for row in cluster.pods.to_dict()]
    node = {"api_version": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"my_disk": "fast"}, "managed_fields": None}, "spec": {
        "provider_id": None, "unschedulable": True}, "status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "9"}, "node_info": {
            "kubelet_version": "v1"}}}
    assert vg.Cluster.read([node, {**pod("p"), "kind": "Pod"}]).whatif()["before"]["nodes"] == 1
