"""What comes back as values: pickled and copied, and snapshots and changes of clusters against the words of whatif()."""

import copy
import gc
import pickle

import numpy as np
import pytest
import vgpualloc as vg
from own_policies import Gang, Packed

HALF = vg.Pod(gpus=1, gpu_memory_mib=1024, gpu_cores=10, cpu_milli=100)


class Tuned(Packed):
    form, key = "rows", "tuned-1"

    def __init__(self, weight):
        self.weight = weight

    def score(self, request, before, after):
        return after.used_milli * self.weight


@pytest.fixture
def cluster():
    return vg.Cluster.read(**vg.example("cluster"))


def same(left, right):
    """Whether two values of one type say the same."""
    if isinstance(left, vg.Answer):
        return left.to_dict() == right.to_dict() and left.ok == right.ok and list(left) == list(right)
    if isinstance(left, vg.Placement):
        return (left.pod, left.node, left.score, left.shares, left.annotations) == (
            right.pod, right.node, right.score, right.shares, right.annotations) and bool(right)
    if isinstance(left, vg.Rejection):
        return (left.pod, left.reason, left.reasons, left.message) == (
            right.pod, right.reason, right.reasons, right.message) and not right
    if isinstance(left, vg.Sweep):
        return left.table == right.table and left.curves == right.curves and left.errors == right.errors and left.mean() == right.mean()
    if isinstance(left, vg.Result):
        tables = left.pods == right.pods and left.timeseries == right.timeseries
        return tables and left.summary == right.summary and left.warnings == right.warnings
    if isinstance(left, vg.Error):
        return all(getattr(left, name) == getattr(right, name) for name in ("code", "where", "field", "value", "expected"))
    return left == right


def errors():
    for call in (lambda: vg.Pod(gpus=-1), lambda: vg.simulate(b"x", b"y"), lambda: vg.Cluster.__new__(vg.Cluster).nodes):
        with pytest.raises(vg.Error) as raised:
            call()
        yield raised.value


def test_each_type_is_pickled_and_copied(cluster, quickstart):
    placed, refused = cluster.place(HALF, name="mine"), cluster.place(vg.Pod(gpus=64))
    lists = {"A": quickstart["pods"], "B": quickstart["pods"].read_bytes()}
    sweep = vg.sweep({"policy": ["fgd", "nonesuch"], "pods": lists, "seed": [1, 2]}, nodes=quickstart["nodes"], keep="curves")
    texts = vg.Table.of({"t": ["a", None, "é"], "n": [1, 2, 3], "x": [0.5, None, float("inf")], "b": [True, False, True]})
    values = [cluster.nodes, cluster.devices, vg.known("options"), texts, vg.Table.of({}), vg.Table.of({"n": []}), texts.head(0), HALF,
              vg.Pod(gpus=2, profile="1g.5gb"), placed, placed.shares[0], refused, cluster.explain("team/waits"), cluster.whatif(),
              cluster.plan("team/waits"), cluster.ask_node("team/waits", "core-1"), sweep, vg.simulate(**quickstart, seed=5), *errors()]
    assert {type(value).__name__ for value in values} >= {"Table", "Pod", "Placement", "Rejection", "Answer", "Sweep", "Result",
                                                          "InputError", "StateError"}
    for value in values:
        for again in (*(pickle.loads(pickle.dumps(value, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)),
                      copy.copy(value), copy.deepcopy(value)):
            assert type(again) is type(value) and same(value, again), value
            assert str(again) == str(value) and repr(again) == repr(value)
            assert not hasattr(value, "_repr_html_") or again._repr_html_() == value._repr_html_()
    empty = pickle.loads(pickle.dumps(texts.head(0)))
    assert [empty[name].dtype for name in empty.columns] == [texts.head(0)[name].dtype for name in texts.columns]


def test_a_pickle_outlives_what_it_was_made_of(cluster):
    placed = pickle.dumps(cluster.place(HALF, name="mine"))
    del cluster
    gc.collect()
    again = pickle.loads(placed)
    assert again.shares[0].memory_mib >= 1024 and again.annotations


def test_policies_and_disciplines_are_pickled(quickstart):
    for policy in (Packed(), Tuned(2.0), vg.weighted((0.7, Tuned(1.0)), (0.3, "fgd"))):
        again = pickle.loads(pickle.dumps(policy))
        assert type(again) is type(policy)
        assert vg.simulate(**quickstart, policy=again).pods == vg.simulate(**quickstart, policy=policy).pods
    options = {"departures": True, "offered_load": 20.0}
    again = pickle.loads(pickle.dumps(Gang()))
    assert vg.simulate(**quickstart, **options, discipline=again).pods == vg.simulate(**quickstart, **options, discipline=Gang()).pods


def test_a_cluster_is_neither_pickled_nor_copied(cluster):
    for change in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="snapshot"):
            change(cluster)


def test_a_weighted_policy_in_a_sweep_and_for_devices(quickstart):
    policies = {"mixed": vg.weighted((0.7, Tuned(1.0)), (0.3, "fgd")), "by device": Tuned(1.0)}
    for options in ({"policy": policies["mixed"]}, {"policy": "fgd", "device_policy": policies["by device"]},
                    {"policy": policies["mixed"], "device_policy": "best_fit"}):
        sweep = vg.sweep({"seed": [1, 2]}, **quickstart, **options, keep="all")
        for seed, result in zip((1, 2), sweep.results.values()):
            assert result.pods == vg.simulate(**quickstart, **options, seed=seed).pods
    assert len({str(vg.simulate(**quickstart, policy=policy).pods["node"].tolist()) for policy in (*policies.values(), "fgd")}) == 3


# ---- clusters


def kinds_of_clusters(quickstart):
    memory = {"G2": 24576, "G3": 32768, "T4": 15360, "V100M16": 16384}
    yield vg.Cluster.read(**vg.example("cluster")), vg.example("cluster")["config"]
    yield vg.Cluster.from_table(quickstart["nodes"], device_memory_mib=memory), ()
    yield vg.Cluster.of({"A100-40GB:mig:8": 2, "H100-80GB:hami_core:4": 1}), ()


def test_a_snapshot_of_each_kind_of_cluster_shows_the_same(quickstart):
    for cluster, config in kinds_of_clusters(quickstart):
        placed = [cluster.place(pod) for pod in (HALF, HALF, vg.Pod(gpus=1, gpu_memory_mib=9000, cpu_milli=2000))]
        assert sum(map(bool, placed)) >= 2
        again = vg.Cluster.read(cluster.snapshot(), config=config)
        assert again.nodes == cluster.nodes and again.devices == cluster.devices and again.pods == cluster.pods
        for pod in [row["pod"] for row in cluster.pods.to_dict() if row["state"] == "waiting" and row["pod"] != "team/both"]:
            why, then = cluster.explain(pod), again.explain(pod)
            assert why["choice"] == then["choice"] and why["nodes"] == then["nodes"]
        figures = [{**which.whatif()["before"]} for which in (cluster, again)]
        assert figures[0] == figures[1]


def figures(cluster):
    before = cluster.whatif()["before"]
    return {key: before[key] for key in ("nodes", "devices", "devices_out_of_service", "devices_on_nodes_not_ready",
                                         "devices_on_cordoned_nodes", "cpu_milli", "memory_mib")}


def reason_of(cluster, node):
    return next(row["reason.code"] for row in cluster.explain("team/waits")["nodes"].to_dict() if row["name"] == node)


@pytest.mark.parametrize("what, target, reason, counted", [
    ("drain", "core-1", "node_unschedulable", "devices_on_cordoned_nodes"),
    ("fail", "core-1", "node_not_ready", "devices_on_nodes_not_ready"),
    ("drain", "core-1/GPU-b0", "device_unhealthy", "devices_out_of_service"),
    ("fail", "core-1/GPU-b0", "device_unhealthy", "devices_out_of_service"),
    ("drain", "npu-0", "family_not_offered", "devices_on_cordoned_nodes"),
    ("fail", "npu-0/npu-a", "family_not_offered", "devices_out_of_service")])
def test_what_is_drained_or_fails_is_what_whatif_says(cluster, what, target, reason, counted):
    first, tables = figures(cluster), [cluster.nodes, cluster.devices, cluster.pods]
    node, _, uuid = target.partition("/")
    of_node = [row["uuid"] for row in cluster.devices.to_dict() if row["node"] == node]
    was = reason_of(cluster, node)
    expected = cluster.whatif(**{"fail" if uuid else what: target})["after"]  # in the command no device is drained
    getattr(cluster, what)(target)
    now = figures(cluster)
    assert now[counted] == first[counted] + (1 if uuid else len(of_node)) and reason_of(cluster, node) == reason
    if (what, uuid) == ("fail", ""):  # in the command such a node is gone
        assert expected["nodes"] == now["nodes"] - 1 and expected["devices"] == now["devices"] - len(of_node)
    else:
        assert now == {key: expected[key] for key in now}
    if uuid:
        services = {row["uuid"]: row["service"] for row in cluster.devices.to_dict() if row["node"] == node}
        assert services[uuid] == {"drain": "draining", "fail": "failed"}[what]
        assert all(service == "in_service" for other, service in services.items() if other != uuid)
    taken = [cluster.place(HALF, node=node) for _ in of_node]
    assert all(not placed or uuid and placed.shares[0].uuid != uuid for placed in taken)
    for placed in filter(None, taken):
        cluster.release(placed)
    cluster.restore(target)
    assert figures(cluster) == first and reason_of(cluster, node) == was
    assert [cluster.nodes, cluster.devices, cluster.pods] == tables


def test_nodes_that_are_added_and_removed_are_what_whatif_says(cluster):
    first = figures(cluster)
    for kind, count in (("A100-40GB:mig:8", 2), ("core-1", 3)):
        with cluster.trial():
            expected = cluster.whatif(add_nodes={kind: count})["after"]
            names = cluster.add_nodes(kind, count)
            assert len(names) == count and set(names) < set(cluster.nodes["node"])
            assert figures(cluster) == {key: expected[key] for key in first}
            for name in names:
                cluster.remove_node(name)
            assert figures(cluster) == first
    cluster.remove_node("core-1")
    now = figures(cluster)
    assert (now["nodes"], now["devices"]) == (first["nodes"] - 1, first["devices"] - 1)
    assert "core-1" not in str(cluster.explain("team/waits")) and np.all(cluster.pods["node"] != "core-1")
