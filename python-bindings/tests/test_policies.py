"""Policies and disciplines in Python."""

import numpy as np
import pytest
import vgpualloc as vg
from own_policies import Binpack, Gang


class BestFit(vg.Policy):
    """best_fit: the node, and on it the device, with the least left over."""

    def score(self, request, before, after):
        return after.free_milli / -1000.0

    def device_score(self, request, before, after):
        return after.free_milli / -1000.0


class Balanced(vg.Policy):
    key = "balanced-1"

    def score(self, request, before, after):
        cpu = 1 - after.cpu_free_milli / np.maximum(after.cpu_milli, 1)
        gpu = after.used_milli / np.maximum(after.used_milli + after.free_milli, 1)
        return -np.abs(cpu - gpu)


class BalancedRows(vg.Policy):
    form = "rows"

    def score(self, request, before, after):
        cpu = 1 - after.cpu_free_milli / max(after.cpu_milli, 1)
        return -abs(cpu - after.used_milli / max(after.used_milli + after.free_milli, 1))


class BalancedJit(vg.Policy):
    form, key = "numba", "balanced-jit-1"

    @staticmethod
    def score(request, before, after):
        cpu = 1 - after.cpu_free_milli / max(after.cpu_milli, 1)
        return -abs(cpu - after.used_milli / max(after.used_milli + after.free_milli, 1))


def decisions(result):
    pods = result.pods
    return list(zip(pods["name"], pods["node"], pods["gpus"]))


def test_all_forms_decide_alike(quickstart):
    arrays = vg.simulate(**quickstart, policy=Balanced())
    assert arrays.summary["config"]["policy"] == "py:balanced"
    assert decisions(vg.simulate(**quickstart, policy=BalancedRows())) == decisions(arrays)
    pytest.importorskip("numba")
    assert decisions(vg.simulate(**quickstart, policy=BalancedJit())) == decisions(arrays)


@pytest.mark.parametrize("policy, name", [(BestFit, "best_fit"), (Binpack, "binpack")])
def test_a_policy_written_again_decides_as_the_one_of_the_library(policy, name, quickstart):
    for options in ({"tune": 1.3}, {"departures": True}, {"mode": "exclusive"}):
        ours, theirs = (vg.simulate(**quickstart, **options, policy=which) for which in (policy(), name))
        assert decisions(ours) == decisions(theirs) and ours.timeseries == theirs.timeseries


@pytest.mark.parametrize("policy, name", [(BestFit, "best_fit"), (Binpack, "binpack")])
def test_they_do_so_on_the_list_of_openb(policy, name, openb):
    ours, theirs = (vg.simulate(**openb, tune=1.3, seed=42, policy=which) for which in (policy(), name))
    assert len(decisions(ours)) > 8000 and decisions(ours) == decisions(theirs)


def test_all_forms_decide_alike_on_the_list_of_openb(openb):
    pytest.importorskip("numba")
    first, *others = (decisions(vg.simulate(**openb, tune=1.3, policy=policy())) for policy in (Balanced, BalancedRows, BalancedJit))
    assert others == [first, first]


class LeastLeft(vg.Policy):
    """best_fit, nearly: scores repeat, so that most decisions ask for few."""

    def score(self, request, before, after):
        return -(after.cpu_free_milli / 128000.0 + after.free_milli / 8000.0)

    def device_score(self, request, before, after):
        return after.used_milli / 1000.0


class LeastLeftRows(LeastLeft):
    form = "rows"


class LeastLeftJit(vg.Policy):
    form = "numba"
    score = staticmethod(lambda request, before, after: -(after.cpu_free_milli / 128000.0 + after.free_milli / 8000.0))


@pytest.mark.parametrize("policy, share", [(LeastLeft, 0.05), (LeastLeftRows, 0.15), (LeastLeftJit, 0.3)])
def test_they_decide_nearly_as_often_as_the_ones_of_the_library(policy, share, quickstart):
    """A third of the shares of best_fit's decisions a second that were measured."""
    if policy is LeastLeftJit:
        pytest.importorskip("numba")
    rates = {policy: [], "best_fit": []}
    for _ in range(7):  # side by side: what else runs slows down both
        for name, measured in rates.items():
            result = vg.simulate(**quickstart, policy=name if isinstance(name, str) else name())
            measured.append(result.summary["timing"]["decisions_per_s"])
    assert np.median(rates[policy]) > share * np.median(rates["best_fit"])


def test_a_sum_has_policies_of_both_kinds(quickstart):
    named = vg.simulate(**quickstart, policy="weighted:fgd=0.7,best_fit=0.3")
    assert decisions(vg.simulate(**quickstart, policy=vg.weighted((0.7, "fgd"), (0.3, "best_fit")))) == decisions(named)
    mixed = vg.simulate(**quickstart, policy=vg.weighted((1.0, Balanced()), (0.0, "fgd")))
    assert decisions(mixed) == decisions(vg.simulate(**quickstart, policy=Balanced()))
    device = vg.simulate(**quickstart, policy="fgd", device_policy=Binpack())
    assert device.summary["config"]["device_policy"] == "py:binpack"
    with pytest.raises(vg.InputError):
        vg.simulate(**quickstart, policy=vg.weighted((1.0, "random"), (1.0, Balanced())))


@pytest.mark.parametrize("answer, words", [
    (lambda n: np.zeros(n + 1), "one for each candidate"),
    (lambda n: np.full(n, np.nan), "nan"),
    (lambda n: np.full(n, np.inf), "inf"),
    (lambda n: "high", "one for each candidate"),
    (lambda n: None, "one for each candidate"),
])
def test_what_is_no_score_is_refused(quickstart, answer, words):
    class Wrong(vg.Policy):
        def score(self, request, before, after):
            return answer(len(before))

    with pytest.raises(vg.InputError, match=words) as refused:
        vg.simulate(**quickstart, policy=Wrong())
    assert "Wrong.score" in str(refused.value)


def test_what_a_policy_raises_comes_out_unchanged(quickstart):
    class Broken(vg.Policy):
        def score(self, request, before, after):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        vg.simulate(**quickstart, policy=Broken())
    assert len(vg.simulate(**quickstart).pods) > 0


def test_one_object_serves_one_run(quickstart):
    class Nested(vg.Policy):
        def score(self, request, before, after):
            vg.simulate(**quickstart, policy=self)

    with pytest.raises(vg.StateError):
        vg.simulate(**quickstart, policy=Nested())


def test_arrays_are_read_only_and_may_be_kept(quickstart):
    kept = []

    class Keeper(vg.Policy):
        def score(self, request, before, after):
            kept.append((after.used_milli, after.gpu_free_milli))
            with pytest.raises(ValueError):
                after.used_milli[0] = 1
            return after.used_milli * 1.0

    vg.simulate(**quickstart, policy=Keeper())
    used, free = kept[0]
    assert used.dtype == np.int64 and free.shape[0] == used.shape[0] and (free >= -1).all()


def test_the_epoch_voids_scores_and_only_rises(quickstart):
    class Learning(vg.Policy):
        seen = 0

        def arrived(self, request):
            self.seen += 1
            if self.seen % 100 == 0:
                self.epoch += 1

        def score(self, request, before, after):
            return after.used_milli * (1.0 if self.epoch % 2 else -1.0)

    first = decisions(vg.simulate(**quickstart, policy=Learning()))
    assert decisions(vg.simulate(**quickstart, policy=Learning())) == first
    assert first != decisions(vg.simulate(**quickstart, policy=Binpack()))

    class Falling(Learning):
        epoch = 5

        def arrived(self, request):
            self.epoch -= 1

    with pytest.raises(vg.InputError, match="epoch"):
        vg.simulate(**quickstart, policy=Falling())


def test_check_policy_finds_what_is_wrong():
    vg.check_policy(Balanced())
    vg.check_policy(BalancedRows())
    vg.check_policy(Binpack())

    class Normalised(vg.Policy):
        def score(self, request, before, after):
            return after.used_milli / max(after.used_milli.max(), 1)

    class Drawn(vg.Policy):
        def score(self, request, before, after):
            return np.random.default_rng().random(len(after))

    class Stateful(vg.Policy):
        calls = 0

        def score(self, request, before, after):
            self.calls += 1
            return after.used_milli + self.calls // 8.0

    class Short(vg.Policy):
        def score(self, request, before, after):
            return np.zeros(1)

    class Undefined(vg.Policy):
        def score(self, request, before, after):
            return np.where(after.gpus_idle == 0, np.nan, after.used_milli)

    class Raising(vg.Policy):
        def score(self, request, before, after):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        vg.check_policy(Raising())
    for policy, words in ((Undefined(), "nan"), (Normalised(), "with others"), (Drawn(), "both times"), (Stateful(), "epoch|both times|others"),
                          (Short(), "shape")):
        with pytest.raises(vg.InputError, match=words):
            vg.check_policy(policy)


class Fifo(vg.Discipline):
    def schedule(self, queue):
        for job in queue.waiting:
            if not queue.start(job):
                return


@pytest.mark.parametrize("discipline, name", [(Fifo(), "fifo"), (Gang(), "gang")])
def test_disciplines_start_the_same_jobs_at_the_same_times(quickstart, discipline, name):
    options = {"policy": "binpack", "departures": True, "offered_load": 20.0}
    ours, theirs = (vg.simulate(**quickstart, **options, discipline=which) for which in (discipline, name))
    assert ours.summary["config"]["discipline"] == "py:" + name
    assert ours.summary["wait_s"]["mean"] > 10  # where nobody waits all disciplines are alike
    assert ours.pods == theirs.pods and ours.timeseries == theirs.timeseries


@pytest.mark.parametrize("discipline, name", [(Fifo(), "fifo"), (Gang(), "gang")])
def test_they_do_so_on_the_first_jobs_of_philly(traces, tmp_path, discipline, name):
    with traces("philly.csv").open() as file:
        jobs = "".join(line for line, _ in zip(file, range(5001)))
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},96000,786432,8,P100\n" for i in range(24))
    ours, theirs = (vg.simulate(nodes.encode(), jobs.encode(), format="philly", policy="binpack", discipline=which)
                    for which in (discipline, name))
    assert len(ours.pods) >= 5000 and ours.summary["wait_s"]["mean"] > 60
    assert ours.pods == theirs.pods


def test_a_queue_is_over_with_its_pass(quickstart):
    kept = []

    class Keeper(vg.Discipline):
        def schedule(self, queue):
            kept.append(queue)
            job = queue.waiting[0]
            if queue.start(job):
                with pytest.raises(vg.StateError):
                    queue.start(job)

    vg.simulate(**quickstart, departures=True, discipline=Keeper())
    with pytest.raises(vg.StateError):
        kept[0].waiting

    class Broken(vg.Discipline):
        def schedule(self, queue):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        vg.simulate(**quickstart, departures=True, discipline=Broken())


def test_classes_and_wrong_kinds_are_type_errors(quickstart):
    with pytest.raises(TypeError, match="not its class"):
        vg.simulate(**quickstart, policy=Balanced)
    with pytest.raises(TypeError, match="Policy"):
        vg.simulate(**quickstart, policy=Fifo())
    with pytest.raises(TypeError, match="Discipline"):
        vg.simulate(**quickstart, discipline=Balanced())


def test_what_a_compiled_policy_cannot_see_is_said(quickstart):
    pytest.importorskip("numba")

    class Blind(vg.Policy):
        form = "numba"

        @staticmethod
        def score(request, before, after):
            return float(after.gpu_free_milli[0])

        @staticmethod
        def device_score(request, before, after):
            return float(after.used_milli)

    with pytest.raises(vg.StateError, match="gpu_free_milli"):
        vg.simulate(**quickstart, policy=Blind())


def test_a_compiled_policy_that_divides_by_zero_is_refused_without_a_print(quickstart, capfd):
    pytest.importorskip("numba")

    class Dividing(vg.Policy):
        form = "numba"

        @staticmethod
        def score(request, before, after):
            return 1.0 / (after.used_milli * 0)

    with pytest.raises(vg.InputError, match="Dividing.score: got 'inf'") as refused:
        vg.simulate(**quickstart, policy=Dividing())
    assert refused.value.where == "decision 1" and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["arrays", "rows"])
def test_what_a_policy_raises_has_a_note_of_where(quickstart, form):
    class Late(vg.Policy):
        calls = 0

        def score(self, request, before, after):
            self.calls += 1
            if self.calls > 30:
                raise ZeroDivisionError("mine")
            return after.used_milli * 1.0

    Late.form = form
    with pytest.raises(ZeroDivisionError) as raised:
        vg.simulate(**quickstart, policy=Late())
    assert [note.partition(", decision ")[0] for note in raised.value.__notes__] == ["in Late.score"]
    assert int(raised.value.__notes__[0].rpartition(" ")[2]) > 0
