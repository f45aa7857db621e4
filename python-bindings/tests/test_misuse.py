"""The misuse that users are promised an exception for, a row of the table each."""

import gc
import math
import pickle
import threading
import time

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import vgpualloc as vg
from own_policies import Gang, Packed

HALF = vg.Pod(gpus=1, gpu_memory_mib=1024, gpu_cores=10, cpu_milli=100)
HUGE = (-1, 2**63, 2**64, 10**30)
NO_WHOLE_NUMBER = (True, 1.5, math.nan, math.inf, "x", None)


def nodes(**columns):
    return {"sn": ["a", "b"], "cpu_milli": [96000] * 2, "memory_mib": [393216] * 2, "gpu": [8] * 2, "model": ["A100"] * 2,
            **columns}


def pods(**columns):
    return {"name": ["p", "q"], "cpu_milli": [4000] * 2, "memory_mib": [8192] * 2, "num_gpu": [1] * 2, "gpu_milli": [250] * 2,
            **columns}


TIMES = {"creation_time": [0, 5], "deletion_time": [10, 20]}


def without(table, column):
    return {name: cells for name, cells in table.items() if name != column}


def read(**options):
    return vg.Cluster.read(**vg.example("cluster"), **options)


@pytest.fixture
def cluster():
    return read()


def shown(cluster):
    return [table.to_dict() for table in (cluster.nodes, cluster.devices, cluster.pods)]


# ---- unknown keyword; unknown policy, mode, key value


@pytest.mark.parametrize("call", [
    lambda: vg.simulate(nodes(), pods(), polcy="fgd"),
    lambda: vg.simulate(nodes(), pods(), baseline={"polcy": "fgd"}),
    lambda: vg.sweep({"polcy": ["fgd"]}, nodes=nodes(), pods=pods()),
    lambda: vg.sweep({"seed": [1]}, nodes=nodes(), pods=pods(), polcy="fgd"),
])
def test_an_unknown_keyword_is_a_type_error(call):
    with pytest.raises(TypeError, match="did you mean 'policy'"):
        call()


@pytest.mark.parametrize("key, known", [
    ("policy", "best_fit"), ("device_policy", "best_fit"), ("mode", "hami_core"), ("discipline", "fifo"), ("format", "openb")])
def test_an_unknown_value_lists_the_known_ones(key, known):
    with pytest.raises(vg.InputError) as refused:
        vg.simulate(nodes(), pods(), **{key: "nonesuch"})
    assert refused.value.code == "unknown_name" and refused.value.value == "nonesuch"
    assert known in refused.value.expected and known in str(refused.value)


# ---- text where a table is meant, table without a column, rows of unequal length, two columns of one name


def two_columns_of_one_name():
    frame = pandas.DataFrame(nodes())
    return pandas.concat([frame, frame[["gpu"]]], axis=1)


@pytest.mark.parametrize("table, field", [
    (b"there is a list somewhere", "sn"),
    (without(nodes(), "gpu"), "gpu"),
    (polars.DataFrame(without(nodes(), "cpu_milli")), "cpu_milli"),
    (nodes(gpu=[1]), "gpu"),
    (nodes(gpu=[[1, 2], [3, 4]]), "gpu"),
    (b"sn,cpu_milli,memory_mib,gpu,gpu,model\na,1,1,1,1,A100\n", "gpu"),
    (two_columns_of_one_name(), "gpu"),
    (pandas.DataFrame(nodes(gpu=[2**64, 1])), "gpu"),
    (pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["gpu", "gpu"]), "gpu"),
    (nodes(gpu=["x", "y"]), "gpu"),
    (nodes(gpu=[1j, 2j]), "gpu"),
    (nodes(gpu=[object(), 1]), "gpu"),
])
def test_a_table_that_is_none_is_told_with_its_place(table, field):
    with pytest.raises(vg.InputError) as refused:
        vg.simulate(table, pods())
    assert refused.value.where.startswith("<nodes>") and refused.value.field == field and refused.value.expected


def test_what_is_no_source_is_a_type_error():
    for value in (3, 1.5, object(), [nodes()]):
        with pytest.raises(TypeError, match="DataFrame"):
            vg.simulate(value, pods())
    with pytest.raises(FileNotFoundError):
        vg.simulate("a list that is not there", pods())
    with pytest.raises(vg.InputError, match="pods"):
        vg.simulate(nodes(), None)


# ---- negative, NaN, too large, bool or fraction where a whole number is meant


@pytest.mark.parametrize("value", HUGE)
def test_a_number_out_of_its_range_is_told(value, cluster):
    for call in (lambda: vg.simulate(nodes(gpu=[value, 1]), pods()), lambda: vg.simulate(nodes(), pods(num_gpu=[value, 1])),
                 lambda: vg.Pod(gpus=value), lambda: vg.Pod(gpus=1, gpu_cores=value),
                 lambda: cluster.add_nodes("core-0", value)):
        with pytest.raises(vg.InputError) as refused:
            call()
        assert refused.value.code == "out_of_range" and refused.value.value == str(value)


@pytest.mark.parametrize("value", [*HUGE, *NO_WHOLE_NUMBER])
def test_options_take_no_other_numbers(value, cluster):
    calls = [lambda: cluster.plan("team/waits", moves=value), lambda: cluster.whatif(add_nodes={"A100-40GB:mig:8": value})]
    if value not in (-1, None, 2**63):
        calls += [lambda: vg.simulate(nodes(), pods(), seed=value), lambda: cluster.whatif(seed=value)]
    if value not in (None, 1.5):
        calls.append(lambda: vg.simulate(nodes(), pods(), tune=value))
    if value is not None and value not in HUGE[1:]:
        calls.append(lambda: vg.sweep({"seed": [1]}, nodes=nodes(), pods=pods(), workers=value))
    for call in calls:
        with pytest.raises((vg.InputError, TypeError)):
            call()


@pytest.mark.parametrize("value", NO_WHOLE_NUMBER)
def test_what_is_no_whole_number_is_told(value, cluster):
    for call in (lambda: vg.Pod(gpus=value), lambda: vg.Pod(cpu_milli=value), lambda: cluster.add_nodes("core-0", value),
                 lambda: vg.known("modes").head(value)):
        with pytest.raises(TypeError):
            call()
    if value is not True:  # in a list of numbers Python's True is 1
        with pytest.raises(vg.InputError) as refused:
            vg.simulate(nodes(gpu=[value, 1]), pods())
        assert refused.value.where == "<nodes> row 0" and refused.value.field == "gpu"
    with pytest.raises(vg.InputError):
        vg.simulate(nodes(gpu=np.array([True, False])), pods())


def test_switches_and_functions_are_what_they_are():
    for wrong in ({"progress": 3}, {"baseline": 3}, {"bound": "x"}):
        with pytest.raises(TypeError):
            vg.simulate(nodes(), pods(), **wrong)
    with pytest.raises(vg.InputError):
        vg.simulate(nodes(), pods(), departures="x")


# ---- release of what is not there; place under a name that runs


def test_release_takes_what_is_placed(cluster):
    first = cluster.place(HALF, name="mine")
    cluster.release("mine")
    with pytest.raises(vg.InputError) as refused:
        cluster.release("mine")
    assert refused.value.code == "unknown_name"
    again = cluster.place(HALF, name="mine")
    other = read().place(HALF, name="mine")
    before = shown(cluster)
    for placement in (first, other, pickle.loads(pickle.dumps(again))):
        with pytest.raises(vg.StateError):
            cluster.release(placement)
    with pytest.raises(vg.StateError):
        cluster.release("team/waits")
    assert shown(cluster) == before
    cluster.release(again)
    with pytest.raises(vg.StateError):
        cluster.release(again)


def test_a_name_is_placed_once(cluster):
    cluster.place(HALF, name="mine")
    before = shown(cluster)
    for name, pod in (("mine", HALF), ("waits", HALF), ("serve-0", {"metadata": {"name": "serve-0"}})):
        with pytest.raises(vg.InputError) as refused:
            cluster.place(pod, name=name)
        assert refused.value.code == "duplicate"
    for name in ("mine", "serve-0"):
        with pytest.raises(vg.StateError):
            cluster.place(name)
    for name in ("", "a/b", "a\0b", "\ud800"):
        with pytest.raises(vg.InputError):
            cluster.place(HALF, name=name)
    for manifest in ({}, {"kind": "Node", "metadata": {"name": "z"}}, {"kind": "Pod", "metadata": {"name": "z"}}):
        with pytest.raises(vg.InputError):
            cluster.place(manifest)
    for call in (cluster.place, cluster.release, cluster.drain, cluster.fail, cluster.add_nodes):
        with pytest.raises(TypeError):
            call(17)
    assert shown(cluster) == before


# ---- trials


def test_trials_end_in_order_and_once(cluster):
    outer, inner = cluster.trial(), cluster.trial()
    with pytest.raises(vg.StateError):
        outer.keep()
    outer.__enter__()
    inner.__enter__()
    for wrong in (outer.__enter__, lambda: outer.__exit__(None, None, None)):
        with pytest.raises(vg.StateError):
            wrong()
    for trial in (inner, outer):
        trial.__exit__(None, None, None)
        for wrong in (trial.keep, trial.__enter__, lambda: trial.__exit__(None, None, None)):
            with pytest.raises(vg.StateError):
                wrong()


def test_a_trial_that_is_left_open_and_collected_is_undone(cluster):
    before = shown(cluster)
    trials = [cluster.trial().__enter__()]
    cluster.place(HALF, name="outer")
    trials.append(cluster.trial().__enter__())
    cluster.place(HALF, name="inner")
    trials.clear()
    gc.collect()
    assert shown(cluster) == before
    with cluster.trial():
        cluster.place(HALF, name="inner")
    assert shown(cluster) == before


def in_thread(call):
    """What a call gives or raises in another thread."""
    outcomes = []

    def run():
        try:
            outcomes.append(call())
        except Exception as failure:
            outcomes.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert outcomes, "the call waits"
    return outcomes[0]


def test_another_thread_gets_a_state_error_while_a_trial_is_open(cluster):
    with cluster.trial() as trial:
        cluster.place(HALF, name="mine")
        for call in (lambda: cluster.place(HALF), lambda: cluster.nodes, lambda: cluster.release("mine"), lambda: repr(cluster),
                     lambda: cluster.trial().__enter__(), lambda: trial.__exit__(None, None, None)):
            assert isinstance(in_thread(call), vg.StateError)
        cluster.release("mine")
    assert in_thread(lambda: cluster.place(HALF))


def test_one_policy_object_serves_one_run():
    class Slow(Packed):
        def score(self, request, before, after):
            begun.set()
            time.sleep(0.001)
            return super().score(request, before, after)

    begun, policy = threading.Event(), Slow()
    thread = threading.Thread(target=vg.simulate, args=(nodes(), pods()), kwargs={"policy": policy, "tune": 20.0})
    thread.start()
    assert begun.wait(10)
    with pytest.raises(vg.StateError):
        vg.simulate(nodes(), pods(), policy=policy)
    thread.join()
    assert len(vg.simulate(nodes(), pods(), policy=policy).pods) == 2


# ---- scores, epochs, what users' functions raise


@pytest.mark.parametrize("answer", [
    lambda n: np.zeros(n + 1), lambda n: np.full(n, np.nan), lambda n: np.full(n, np.inf), lambda n: "high", lambda n: None])
def test_no_score_ends_the_run(answer):
    class Wrong(vg.Policy):
        def score(self, request, before, after):
            return answer(len(before))

    with pytest.raises(vg.InputError) as refused:
        vg.simulate(nodes(), pods(), policy=Wrong())
    assert refused.value.field == "Wrong.score" and refused.value.expected


def test_what_a_policy_is_told_by_its_attributes_is_checked():
    class Falling(Packed):
        epoch = 3

        def score(self, request, before, after):
            self.epoch -= 1
            return super().score(request, before, after)

    with pytest.raises(vg.InputError, match="only rises"):
        vg.simulate(nodes(), pods(), policy=Falling())
    for attribute, value in (("epoch", None), ("epoch", 1.5), ("epoch", 2**70), ("name", 3), ("name", "a\nb"), ("form", "x")):
        policy = Packed()
        setattr(policy, attribute, value)
        with pytest.raises((vg.InputError, TypeError)):
            vg.simulate(nodes(), pods(), policy=policy)
    discipline = Gang()
    discipline.keeps_waiting = None
    with pytest.raises(TypeError):
        vg.simulate(nodes(), pods(), departures=True, discipline=discipline)


def raising(*_):
    raise ZeroDivisionError("mine")


def test_what_users_functions_raise_comes_out_and_all_is_whole(quickstart):
    policy, discipline = Packed(), Gang()
    policy.score, discipline.schedule = raising, raising
    for options in ({"policy": policy}, {"discipline": discipline, "departures": True}, {"progress": raising, "tune": 10.0}):
        with pytest.raises(ZeroDivisionError, match="mine"):
            vg.simulate(**quickstart, **options)
    del policy.score, discipline.schedule
    assert vg.simulate(**quickstart, policy=policy).pods == vg.simulate(**quickstart, policy=Packed()).pods
    vg.simulate(**quickstart, departures=True, discipline=discipline)


def test_a_queue_ends_with_its_pass():
    queues, jobs = [], []

    class Greedy(vg.Discipline):
        def schedule(self, queue):
            queues.append(queue)
            for job in queue.waiting:
                if queue.start(job):
                    jobs.append(job)
                    with pytest.raises(vg.StateError):
                        queue.start(job)
            for wrong in (None, 17, queue):
                with pytest.raises(TypeError):
                    queue.start(wrong)

    vg.simulate(nodes(), pods(**TIMES), departures=True, discipline=Greedy())
    assert jobs
    for wrong in (lambda: queues[0].waiting, lambda: queues[0].running, lambda: queues[0].start(jobs[0]),
                  lambda: queues[0].preempt(jobs[0])):
        with pytest.raises(vg.StateError):
            wrong()


# ---- a policy that draws on a cluster, disciplines that do not go with a run


def test_what_does_not_go_together_is_unsupported(quickstart):
    for call in (lambda: read(policy="random"),
                 lambda: vg.simulate(**quickstart, departures=True, policy="compat:volcano", discipline=Gang()),
                 lambda: vg.simulate(**quickstart, departures=True, discipline="conservative")):
        with pytest.raises(vg.InputError) as refused:
            call()
        assert refused.value.code == "unsupported"


# ---- columns, files, pickles


def test_columns_are_not_written_and_outlive_the_result(quickstart):
    result = vg.simulate(**quickstart)
    kept = {name: result.pods[name] for name in result.pods.columns}
    for column in kept.values():
        with pytest.raises(ValueError):
            column[0] = column[1]
        with pytest.raises(ValueError):
            column.flags.writeable = True
    names = kept["name"].tolist()
    del result
    gc.collect()
    assert kept["name"].tolist() == names and int(kept["order"][-1]) == len(names) - 1


def test_results_are_written_where_nothing_is_lost(quickstart, tmp_path):
    for path in quickstart.values():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    result = vg.simulate(tmp_path / "nodes.csv", tmp_path / "pods.csv")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(vg.InputError):
        result.write(tmp_path)
    for folder in (tmp_path / "nodes.csv", tmp_path / "nodes.csv" / "below"):
        with pytest.raises(NotADirectoryError):
            result.write(folder)
    with pytest.raises(vg.InputError):
        result.write(str(tmp_path / "a\0b"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_pickles_are_what_they_say(quickstart, tmp_path, cluster):
    with pytest.raises(TypeError, match="snapshot"):
        pickle.dumps(cluster)
    for options in ({}, {"departures": True}):
        result = vg.simulate(**quickstart, **options)
        again = pickle.loads(pickle.dumps(result))
        assert without(again.summary, "timing") == without(result.summary, "timing")
        assert again.pods == result.pods and again.timeseries == result.timeseries
        assert str(again) == str(result) and repr(again) == repr(result) and again.plot("allocation").has_data()
        for wrong in (lambda: again.write(tmp_path), again.report):
            with pytest.raises(vg.StateError):
                wrong()
        assert pickle.loads(pickle.dumps(again)).summary == again.summary
    assert not list(tmp_path.iterdir())


# ---- objects that were not made as they should


def test_subclasses_need_no_init():
    class Bare(Packed):
        def __init__(self):
            self.calls = 0

    class BareGang(Gang):
        def __init__(self):
            self.calls = 0

    result = vg.simulate(nodes(), pods(**TIMES), policy=Bare(), departures=True, discipline=BareGang())
    assert result.pods["placed"].all()


def test_a_cluster_that_was_not_read_has_no_state():
    cluster = vg.Cluster.__new__(vg.Cluster)
    for call in (lambda: cluster.nodes, lambda: cluster.place(HALF), lambda: cluster.explain("x"), lambda: repr(cluster),
                 lambda: cluster.snapshot(), lambda: cluster.trial(), lambda: cluster.warnings):
        with pytest.raises(vg.StateError):
            call()


def test_classes_are_not_exchanged(cluster, quickstart):
    result = vg.simulate(**quickstart)
    for value in (cluster, result, result.pods, cluster.place(HALF), cluster._live, result._outcome):
        with pytest.raises(TypeError):
            object.__setattr__(value, "__class__", vg.Pod)
        with pytest.raises(TypeError):
            object.__setattr__(value, "__class__", vg.Sweep)
    policy = Packed()
    policy.__class__ = Gang
    with pytest.raises(TypeError, match="Policy"):
        vg.simulate(**quickstart, policy=policy)


def test_a_text_that_is_no_unicode_is_a_type_error():
    with pytest.raises((TypeError, UnicodeEncodeError)):
        vg.Table.of({"a": ["\ud800"]})


def test_a_policy_that_names_parts_of_its_own_without_any_is_a_policy(quickstart):
    class Plain(vg.Policy):
        _parts = ()

        def score(self, request, before, after):
            return before.cpu_milli * 0.0

    assert vg.simulate(**quickstart, policy=Plain()).summary["pods"]["placed"] > 0
