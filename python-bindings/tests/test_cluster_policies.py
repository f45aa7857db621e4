"""Policies in Python on a cluster: place, ask_node, explain and whatif."""

import pytest
import vgpualloc as vg
from own_policies import Binpack

KINDS = {"A100-40GB:hami_core:2": 2, "H100-80GB:hami_core:4": 1}
HALF = vg.Pod(gpus=1, gpu_memory_mib=20480, gpu_cores=50, cpu_milli=4000)


OPPOSITE = "weighted:binpack=-1"


class Emptiest(Binpack):
    form = "rows"

    def score(self, request, before, after):
        total = after.used_milli + after.free_milli
        return -after.used_milli / total if total else -1.0

    def device_score(self, request, before, after):
        return -after.used_milli / 1000.0


def places(cluster, count=12):
    placements = [cluster.place(HALF) for _ in range(count)]
    return [(placed.node, placed.shares[0].device) for placed in placements if placed]


@pytest.mark.parametrize("policy, alike", [(Binpack, "binpack"), (Emptiest, OPPOSITE)])
def test_places_as_the_built_in_policy(policy, alike):
    assert places(vg.Cluster.of(KINDS, policy=policy())) == places(vg.Cluster.of(KINDS, policy=alike))
    weighted = vg.weighted((2.0, policy()))
    assert places(vg.Cluster.of(KINDS, policy=weighted)) == places(vg.Cluster.of(KINDS, policy=alike))


def test_another_one_picks_the_device():
    mixed = places(vg.Cluster.of(KINDS, policy=Binpack(), device_policy=OPPOSITE))
    assert mixed == places(vg.Cluster.of(KINDS, policy="binpack", device_policy=OPPOSITE))
    assert mixed == places(vg.Cluster.of(KINDS, policy="binpack", device_policy=Emptiest()))
    assert mixed != places(vg.Cluster.of(KINDS, policy="binpack"))


def test_the_policy_of_the_cluster_answers_questions(files):
    cluster = vg.Cluster.read(**files, policy=Emptiest())
    named = vg.Cluster.read(**files, policy=OPPOSITE)
    manifest = HALF.manifest("hami", "late")
    why, of_named = cluster.explain(manifest), named.explain(manifest)
    assert why["choice"]["node"] == of_named["choice"]["node"]
    assert "py:emptiest" in str(why)
    assert "a policy of the caller's own" in str(why)
    weighted = cluster.explain(manifest, policy=vg.weighted((0.5, Emptiest()), (0.5, "fgd")))
    assert "weighted:py:emptiest=0.5,fgd=0.5" in str(weighted)
    answer = cluster.whatif(drain="core-0")
    assert answer["policy"] == "py:emptiest"
    assert [row for row in answer["pods"]["placed"]] == [row for row in named.whatif(drain="core-0")["pods"]["placed"]]
    by_device = cluster.explain(manifest, policy="binpack", device_policy=Emptiest())
    assert "py:emptiest" in str(by_device)


def test_ask_node_says_what_place_gives():
    cluster = vg.Cluster.of(KINDS, policy=Binpack())
    node = cluster.nodes["node"][0]
    cluster.upsert({**HALF.manifest(cluster.devices["dialect"][0], "waits"), "apiVersion": "v1"})
    score = cluster.ask_node("waits", node)["score"]
    assert cluster.place("waits", node=node).score == pytest.approx(score) and score > 0


def test_what_score_raises_comes_out_and_the_cluster_goes_on():
    class Moody(Binpack):
        is_angry = False

        def score(self, request, before, after):
            if self.is_angry:
                raise ZeroDivisionError("no")
            return super().score(request, before, after)

    policy = Moody()
    cluster = vg.Cluster.of(KINDS, policy=policy)
    expected = places(vg.Cluster.of(KINDS, policy=Binpack()))
    first = cluster.place(HALF)
    policy.is_angry = True
    for ask in (lambda: cluster.place(vg.Pod(gpus=2)), lambda: cluster.explain(HALF.manifest("hami", "late")),
                lambda: cluster.whatif(add_pods=HALF.manifest("hami", "late"))):
        with pytest.raises(ZeroDivisionError) as raised:
            ask()
        assert any("Moody.score" in note for note in getattr(raised.value, "__notes__", ["Moody.score"]))
    with pytest.raises(ZeroDivisionError) as raised:
        cluster.place(HALF, name="late")
    assert getattr(raised.value, "__notes__", ["placing pod late"])[-1] == "placing pod late"
    assert len(cluster.pods) == 1
    policy.is_angry = False
    assert [(first.node, first.shares[0].device), *places(cluster, 11)] == expected


def test_a_policy_cannot_call_its_cluster():
    class Calls(Binpack):
        def score(self, request, before, after):
            cluster.place(HALF)
            return super().score(request, before, after)

    cluster = vg.Cluster.of(KINDS, policy=Calls())
    for ask in (lambda: cluster.place(HALF), lambda: cluster.explain(HALF.manifest("hami", "late"))):
        with pytest.raises(vg.StateError, match="that it decides for"):
            ask()
    assert len(cluster.pods) == 0


def test_one_object_serves_one_run_at_a_time(quickstart):
    class Asks(Binpack):
        def score(self, request, before, after):
            cluster.place(HALF)
            return super().score(request, before, after)

    policy = Asks()
    cluster = vg.Cluster.of(KINDS, policy=policy)
    with pytest.raises(vg.StateError, match="one run at a time"):
        vg.simulate(**quickstart, policy=policy)


def test_hears_of_the_workload_and_of_every_pod(files):
    class Hears(Binpack):
        def __init__(self):
            self.typical, self.pods = [], []

        def begin(self, typical):
            self.typical.append(sum(typical["frequency"]) if len(typical) else 0.0)

        def arrived(self, request):
            self.pods.append(request.gpu_milli)

    policy = Hears()
    cluster = vg.Cluster.read(**files, policy=policy)
    assert policy.typical[-1] == pytest.approx(1.0)
    cluster.place(HALF)
    cluster.place(vg.Pod(gpus=64))
    assert len(policy.pods) == 2 and policy.pods[0] == 500


def test_requests_are_read_for_the_nodes_that_there_are():
    class Sees(Binpack):
        def __init__(self):
            self.amounts = []

        def arrived(self, request):
            self.amounts.append(request.gpu_milli)

    policy = Sees()
    cluster = vg.Cluster.of({"A100-40GB:hami_core:1": 1}, policy=policy)
    pod = vg.Pod(gpus=1, gpu_memory_mib=20480, gpu_cores=10)
    with cluster.trial():
        cluster.place(pod)
        cluster.remove_node(cluster.nodes["node"][0])
        cluster.add_nodes("H100-80GB:hami_core:1:16000:131072")
        cluster.place(pod)
    cluster.place(pod)
    assert policy.amounts == [500, 251, 500]


def test_what_is_no_policy_is_refused(files):
    with pytest.raises(TypeError, match="its class"):
        vg.Cluster.read(**files, policy=Binpack)
    with pytest.raises(TypeError, match="expected a name or a Policy"):
        vg.Cluster.of(KINDS, policy=3)
    with pytest.raises(vg.InputError, match="a policy beside"):
        vg.Cluster.of(KINDS, device_policy=Binpack())
    with pytest.raises(vg.InputError, match="draws nothing"):
        vg.Cluster.of(KINDS, policy=Binpack(), device_policy="random")
    with pytest.raises(vg.InputError, match="unknown policy|one of"):
        vg.Cluster.of(KINDS, policy=vg.weighted((0.5, Binpack()), (0.5, "nothing")))
    cluster = vg.Cluster.of(KINDS)
    with pytest.raises(TypeError, match="its class"):
        cluster.explain(HALF.manifest("hami", "late"), policy=Binpack)


def test_begin_may_raise():
    class Refuses(Binpack):
        def begin(self, typical):
            raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        vg.Cluster.of(KINDS, policy=Refuses())
