"""Random clusters and pods: no device beyond its limits, and all that is undone leaves nothing.

Limits are worked out from the shares that placements show, not from the totals of the tables. VGPUALLOC_EXAMPLES=10 looks at ten
times as many as a run of the tests does.
"""

import collections
import os
import re

import pytest
import vgpualloc as vg
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from own_policies import Packed

TIMES = int(os.environ.get("VGPUALLOC_EXAMPLES", "1"))
QUIETLY = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
CONFIG = vg.example("cluster")["config"].read_bytes()  # MIG geometries of the A100-SXM4-40GB
A100 = "NVIDIA A100-SXM4-40GB"


def node(name, allocatable, annotations=None, labels=None):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "spec": {}, "status": {"allocatable": {"pods": "110", "memory": "256Gi", **allocatable},
                                   "conditions": [{"type": "Ready", "status": "True"}]}}


def volcano_node(name, cpu, devices):
    """Devices are (slots, memory, mode)."""
    text = "".join(f"GPU-{name}-{i},{slots},{memory},{A100},true,{mode}:" for i, (slots, memory, mode) in enumerate(devices))
    return node(name, {"cpu": str(cpu), "volcano.sh/vgpu-number": str(sum(slots for slots, _, _ in devices)),
                       "volcano.sh/vgpu-memory": str(sum(memory for _, memory, _ in devices)),
                       "volcano.sh/vgpu-cores": str(100 * len(devices))}, {"volcano.sh/node-vgpu-register": text})


def hami_node(name, cpu, devices):
    text = "".join(f"GPU-{name}-{i},{slots},{memory},100,{A100},0,true:" for i, (slots, memory, _) in enumerate(devices))
    return node(name, {"cpu": str(cpu), "nvidia.com/gpu": str(sum(slots for slots, _, _ in devices))},
                {"hami.io/node-nvidia-register": text})


def whole_node(name, cpu, devices):
    return node(name, {"cpu": str(cpu), "nvidia.com/gpu": str(len(devices))},
                labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.memory": "40960"})


def instances_node(name, cpu, devices):
    """Two instances of 1g.5gb and one of 3g.20gb on each GPU."""
    return node(name, {"cpu": str(cpu), "nvidia.com/mig-1g.5gb": str(2 * len(devices)), "nvidia.com/mig-3g.20gb": str(len(devices))},
                labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.memory": "40960",
                        "nvidia.com/gpu.count": str(len(devices)), "nvidia.com/mig.strategy": "mixed"})


slices = st.tuples(st.integers(1, 10), st.sampled_from((8192, 16384, 40960)), st.just("hami-core"))
mig = st.just((7, 40960, "mig"))
KINDS = {"volcano": (volcano_node, st.one_of(st.lists(slices, min_size=1, max_size=3), st.lists(mig, min_size=1, max_size=2))),
         "hami": (hami_node, st.lists(slices, min_size=1, max_size=3)),
         "whole": (whole_node, st.lists(mig, min_size=1, max_size=4)),
         "instances": (instances_node, st.lists(mig, min_size=1, max_size=2))}


@st.composite
def clusters(draw):
    """Objects of one to four nodes, of one to all kinds."""
    objects = []
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))):
        make, devices = KINDS[kind]
        objects.append(make(f"{kind}-{i}", draw(st.sampled_from((1, 8, 64))), draw(devices)))
    return objects


def manifest(limits):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": f"c{i}", "image": "none", "resources": {"limits": of}} for i, of in enumerate(limits)]}}


MEMORY, CORES = st.sampled_from((100, 3000, 9000, 20000, 40000)), st.sampled_from((5, 30, 100))
volcano_limits = st.fixed_dictionaries(
    {"volcano.sh/vgpu-number": st.integers(1, 3), "cpu": st.sampled_from(("100m", "1", "4"))},
    optional={"volcano.sh/vgpu-memory": MEMORY, "volcano.sh/vgpu-cores": CORES})
hami_limits = st.fixed_dictionaries(
    {"nvidia.com/gpu": st.integers(1, 3), "cpu": st.sampled_from(("100m", "1", "4"))},
    optional={"nvidia.com/gpumem": MEMORY, "nvidia.com/gpucores": CORES})
mig_limits = st.sampled_from(({"nvidia.com/mig-1g.5gb": 1}, {"nvidia.com/mig-1g.5gb": 2}, {"nvidia.com/mig-3g.20gb": 1}))
whole_limits = st.fixed_dictionaries({"nvidia.com/gpu": st.integers(1, 4)})
pods = st.one_of(
    *(st.builds(manifest, st.lists(limits, min_size=1, max_size=2)) for limits in (volcano_limits, hami_limits)),
    *(st.builds(manifest, st.lists(limits, min_size=1, max_size=1)) for limits in (mig_limits, whole_limits)),
    st.builds(vg.Pod, gpus=st.integers(0, 3), gpu_memory_mib=st.sampled_from((100, 9000, 20000)),
              gpu_cores=st.sampled_from((None, 5, 50)), cpu_milli=st.sampled_from((0, 500, 4000))))


def read(objects, policy):
    return vg.Cluster.read(objects, config=CONFIG, policy=policy)


POLICIES = ("fgd", "binpack", Packed)


def state(cluster):
    return [table.to_dict() for table in (cluster.nodes, cluster.devices, cluster.pods)]


def totals(cluster):
    """Nodes and devices, without pods that wait."""
    return [table.to_dict() for table in (cluster.nodes, cluster.devices)]


def check_limits(cluster, running):
    """No device is used beyond its limits by the shares of what runs."""
    shares = collections.defaultdict(list)
    for placement in running:
        for share in placement.shares:
            shares[placement.node, share.uuid].append(share)
    for device in cluster.devices.to_dict():
        here = shares.pop((device["node"], device["uuid"]), [])
        assert sum(share.memory_mib for share in here) <= device["memory_mib"]
        assert sum(share.cores for share in here) <= device["cores"]
        assert len(here) <= device["slots"] or device["slots"] == 0
        assert device["memory_used_mib"] == sum(share.memory_mib for share in here)
        if device["mode"] == "mig":
            assert len({share.part for share in here}) == len(here), "two pods have one instance"
            assert sum(int(re.search(r"(\d+)g\.", share.part)[1]) for share in here) <= 7
        if device["mode"] == "exclusive":
            assert len(here) <= 1
    assert not shares, "a share of a device that is not there"
    for row in cluster.nodes.to_dict():
        assert row["cpu_used_milli"] <= row["cpu_milli"]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_placed_keeps_to_the_limits_and_what_is_released_leaves_nothing(policy):
    @settings(QUIETLY, max_examples=90 * TIMES)
    @given(clusters(), st.lists(pods, min_size=1, max_size=12), st.randoms(use_true_random=False))
    def check(objects, requests, order):
        cluster = read(objects, policy() if isinstance(policy, type) else policy)
        first = state(cluster)
        running, names = [], []
        for i, pod in enumerate(requests):
            before = totals(cluster)
            try:
                outcome = cluster.place(pod, name=f"p{i}")
            except vg.InputError:  # a Pod with memory where all devices are whole
                assert totals(cluster) == before
                continue
            if outcome:
                event(f"placed on a node of kind {outcome.node.split('-')[0]}")
                running.append(outcome)
                check_limits(cluster, running)
            else:
                assert totals(cluster) == before and sum(outcome.reasons.values()) == len(cluster.nodes)
            if not isinstance(pod, vg.Pod):
                names.append(f"default/p{i}")
        order.shuffle(running)
        while running:
            with cluster.trial():
                cluster.release(running[-1])
                check_limits(cluster, running[:-1])
            check_limits(cluster, running)
            cluster.release(running.pop())
            check_limits(cluster, running)
        assert totals(cluster) == first[:2]
        assert [row["pod"] for row in cluster.pods.to_dict()] == sorted(names)  # manifests wait again

    check()


@pytest.mark.parametrize("policy", POLICIES)
def test_pods_of_one_kind_until_refused_and_all_released(policy):
    @settings(QUIETLY, max_examples=50 * TIMES)
    @given(clusters(), st.builds(vg.Pod, gpus=st.integers(1, 2), gpu_memory_mib=st.sampled_from((3000, 20000)),
                                 gpu_cores=st.sampled_from((None, 20)), cpu_milli=st.just(100)))
    def check(objects, pod):
        cluster = read(objects, policy() if isinstance(policy, type) else policy)
        first = state(cluster)
        running = []
        try:
            while outcome := cluster.place(pod):
                running.append(outcome)
        except vg.InputError:
            assume(False)
        check_limits(cluster, running)
        assert not cluster.place(pod) and outcome.reason in outcome.reasons
        for placement in running:
            cluster.release(placement)
        assert state(cluster) == first

    check()


def test_a_release_that_is_undone_gives_back_the_same_device():
    cluster = read([instances_node("n", 8, [(7, 40960, "mig")] * 2)], None)
    pods = [cluster.place(manifest([{"nvidia.com/mig-3g.20gb": 1}]), name=name) for name in ("first", "second")]
    assert [pod.shares[0].uuid for pod in pods] == ["n/mig/0", "n/mig/1"]
    cluster.release(pods[0])
    before = state(cluster)
    with cluster.trial():
        cluster.release(pods[1])
    assert state(cluster) == before


class Life(RuleBasedStateMachine):
    """Placing, releasing, service, nodes and trials in any order."""

    @initialize(objects=clusters(), policy=st.sampled_from(POLICIES))
    def begin(self, objects, policy):
        self.cluster = read(objects, policy() if isinstance(policy, type) else policy)
        self.running = []
        self.trials = []  # with the state and what ran at their beginnings
        self.number = 0

    @rule(pod=pods, pick=st.integers(0, 5))
    def place(self, pod, pick):
        self.number += 1
        nodes = self.cluster.nodes["node"].tolist()
        only = nodes[pick] if pick < len(nodes) else None
        service = {(row["node"], row["uuid"]): row["service"] for row in self.cluster.devices.to_dict()}
        try:
            placed = self.cluster.place(pod, name=f"p{self.number}", node=only)
        except vg.InputError:
            return
        if placed:
            assert only in (None, placed.node)
            assert all(service[placed.node, share.uuid] == "in_service" for share in placed.shares)
            self.running.append(placed)

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0, 100))
    def release(self, pick):
        self.cluster.release(self.running.pop(pick % len(self.running)))

    @precondition(lambda self: len(self.cluster.nodes))
    @rule(pick=st.integers(0, 100), device=st.booleans(), how=st.sampled_from(("drain", "fail", "restore")))
    def serve(self, pick, device, how):
        rows = (self.cluster.devices if device else self.cluster.nodes).to_dict()
        assume(rows)
        row = rows[pick % len(rows)]
        target = f"{row['node']}/{row['uuid']}" if device else row["node"]
        getattr(self.cluster, how)(target)
        if device:
            shown = [other["service"] for other in self.cluster.devices.to_dict()
                     if (other["node"], other["uuid"]) == (row["node"], row["uuid"])]
            assert shown == [{"drain": "draining", "fail": "failed", "restore": "in_service"}[how]]

    @precondition(lambda self: 0 < len(self.cluster.nodes) < 8)
    @rule(pick=st.integers(0, 100), count=st.integers(1, 2))
    def add_nodes(self, pick, count):
        before = self.cluster.nodes["node"].tolist()
        names = self.cluster.add_nodes(before[pick % len(before)], count)
        assert sorted(before + names) == sorted(self.cluster.nodes["node"].tolist()) and len(names) == count

    @precondition(lambda self: len(self.cluster.nodes))
    @rule(pick=st.integers(0, 100))
    def remove_node(self, pick):
        names = self.cluster.nodes["node"].tolist()
        name = names[pick % len(names)]
        self.cluster.remove_node(name)
        self.running = [placement for placement in self.running if placement.node != name]
        assert name not in self.cluster.nodes["node"].tolist()

    @precondition(lambda self: len(self.trials) < 3)
    @rule()
    def open(self):
        self.trials.append((self.cluster.trial().__enter__(), state(self.cluster), list(self.running)))

    @precondition(lambda self: self.trials)
    @rule(keeps=st.booleans(), failure=st.sampled_from((None, ZeroDivisionError)))
    def close(self, keeps, failure):
        trial, before, running = self.trials.pop()
        now = state(self.cluster)
        if keeps:
            trial.keep()
        trial.__exit__(failure, failure and failure(), None)
        if not keeps:
            self.running = running
        assert state(self.cluster) == (now if keeps else before)

    @invariant()
    def limits(self):
        if hasattr(self, "cluster"):
            check_limits(self.cluster, self.running)

    def teardown(self):
        if not hasattr(self, "cluster"):
            return
        while self.trials:
            self.close(False, None)
        for placement in self.running:
            self.cluster.release(placement)
        assert not any(row["used_milli"] for row in self.cluster.devices.to_dict())


TestLife = Life.TestCase
TestLife.settings = settings(QUIETLY, max_examples=30 * TIMES, stateful_step_count=30)
