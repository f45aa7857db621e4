"""Random calls with random valid and invalid arguments over the whole public surface: random_calls.py [CALLS] [SEED]

Whatever is called may raise, and nothing may end the interpreter. At the end it says how many calls raised what, and how much
memory the second half took. Meant for a build with AddressSanitizer too.
"""

import collections
import copy
import faulthandler
import gc
import math
import os
import pickle
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas
import polars
import vgpualloc as vg
import vgpualloc.gym

CLUSTER = {name: path.read_bytes() for name, path in vg.example("cluster").items()}
NODE_NAMES = ["core-0", "core-1", "mig-0", "npu-0", "cpu-0", "core-0/GPU-a0", "core-1/GPU-b0", "core-0/none", "nowhere"]
POD_NAMES = ["waits", "team/waits", "team/both", "train-0", "default/serve-0", "mine", "pod-0", "pod-1", "nobody"]
OPTIONS = vg.known("options").to_dict()
POLICIES = ["fgd", "best_fit", "binpack", "random", "first_fit", "dual_price", "compat:fgd", "weighted:fgd=1,ssp=2", "nonesuch", ""]


class Awkward:
    """Raises in whatever it is asked."""

    def __index__(self):
        raise ArithmeticError("index")

    __float__ = __len__ = __iter__ = __bool__ = __str__ = __hash__ = __index__

    def __getattr__(self, name):
        raise LookupError(name)


class NoStream:
    """Claims to be an Arrow stream."""

    def __init__(self, stream):
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema=None):
        return self.stream


def list_in_itself():
    inner = []
    inner.append(inner)
    return inner


JUNK = [
    lambda r: None, lambda r: True, lambda r: -1, lambda r: 0, lambda r: 1, lambda r: 2**63, lambda r: 2**64, lambda r: -2**70,
    lambda r: 1.5, lambda r: math.nan, lambda r: math.inf, lambda r: 1j, lambda r: "", lambda r: "x", lambda r: "a\0b",
    lambda r: "\ud800", lambda r: "é" * 50, lambda r: b"", lambda r: b"\xff\0{", lambda r: bytearray(b"name\n"), lambda r: [],
    lambda r: (), lambda r: {}, lambda r: {"x": {}}, lambda r: {1: [2]}, lambda r: [[1], [2, 3]], lambda r: list_in_itself(),
    lambda r: object(), lambda r: Awkward(), lambda r: Awkward, lambda r: len, lambda r: iter([1, 2]), lambda r: range(3),
    lambda r: np.zeros(0), lambda r: np.zeros((2, 2)), lambda r: np.array(3), lambda r: np.array([1, "x", None], dtype=object),
    lambda r: np.array(["2020-01-01"], dtype="M8[D]"), lambda r: np.zeros(2, dtype="i4,f8"), lambda r: np.arange(6)[::-2],
    lambda r: NoStream(None), lambda r: NoStream(3), lambda r: vg.Pod(), lambda r: vg.Policy(), lambda r: vg.Discipline(),
    lambda r: vg.Cluster.__new__(vg.Cluster), lambda r: vg.Table.__new__(vg.Table), lambda r: vg.Result.__new__(vg.Result),
    lambda r: vg.Placement.__new__(vg.Placement), lambda r: r.choice(POD_NAMES + NODE_NAMES + POLICIES), lambda r: Path("none.csv"),
    lambda r: NoStream(vg.known("modes").__arrow_c_stream__()),
]
PLAIN = JUNK[:14]  # numbers and texts


def nodes_of(r):
    count = r.randrange(4)
    return {"sn": [f"n{i}" for i in range(count)], "cpu_milli": [r.choice((8000, 96000)) for _ in range(count)],
            "memory_mib": [393216] * count, "gpu": [r.randrange(9) for _ in range(count)], "model": ["A100"] * count}


def pods_of(r):
    count = r.randrange(8)
    gpus = [r.choice((0, 1, 1, 1, 2, 9)) for _ in range(count)]
    return {"name": [f"p{i}" for i in range(count)], "cpu_milli": [r.randrange(5000) for _ in range(count)],
            "memory_mib": [r.randrange(9000) for _ in range(count)], "num_gpu": gpus,
            "gpu_milli": [0 if number == 0 else 1000 if number > 1 else r.choice((100, 250, 1000)) for number in gpus],
            "creation_time": [5 * i for i in range(count)], "deletion_time": [5 * i + r.randrange(1, 90) for i in range(count)]}


def spoilt(r, table, junk):
    """A table with one thing wrong."""
    name = r.choice(list(table))
    way = r.randrange(4)
    if way == 0:
        del table[name]
    elif way == 1:
        table[name] = table[name][:-1]
    elif way == 2:
        table[name] = r.choice(junk)(r)
    elif table[name]:
        table[name][r.randrange(len(table[name]))] = r.choice(junk)(r)
    return table


FORMS = (4, 4, 4, 4, 1, 1)  # a DataFrame takes as long as all else in its call


def in_some_form(r, table):
    """A table as bytes, arrays, lists, a Table or a DataFrame. No DataFrame has a list in itself: the packages crash on it."""
    form = r.choices(range(6), FORMS)[0]
    if r.random() < 0.2:
        table = spoilt(r, table, JUNK if form < 4 else PLAIN)
    if form == 0:
        return ("\n".join([",".join(table), *(",".join(map(str, row)) for row in zip(*table.values()))]) + "\n").encode()
    if form == 1:
        return {name: np.asarray(cells) for name, cells in table.items()}
    if form == 2:
        return vg.Table.of(table)
    return (dict, pandas.DataFrame, polars.DataFrame)[form - 3](table)


def source(r, make):
    if r.random() < 0.05:
        return r.choice(JUNK)(r)
    return in_some_form(r, make(r))


class Wild(vg.Policy):
    """Scores, or does what it should not."""

    def __init__(self, r):
        self.r = r
        self.form = r.choice(("arrays", "arrays", "arrays", "rows", "rows", "x"))
        self.held = []
        if r.random() < 0.3:
            self.device_score = self.score
        if r.random() < 0.2:
            self.begin = lambda typical: self.held.append(typical)
        if r.random() < 0.2:
            self.arrived = lambda request: self.held.append(request)

    def score(self, request, before, after):
        way = self.r.randrange(40)
        self.held.append(self.r.choice((request, before, after)))
        if way == 0:
            return self.r.choice(JUNK)(self.r)
        if way == 1:
            raise self.r.choice((ValueError, KeyError, KeyboardInterrupt, StopIteration, MemoryError, RecursionError))("mine")
        if way == 2:
            vg.simulate(nodes_of(self.r), pods_of(self.r), policy=self.r.choice((self, "fgd")))
        if way == 3:
            self.epoch = self.r.choice((1, 2, 5, -1, None))
        if way == 4:
            gc.collect(0)
        if way == 5 and len(self.held) > 3:
            held = self.r.choice(self.held)
            return getattr(held, self.r.choice(dir(held)))
        return after.used_milli * (1.0 if self.r.random() < 0.98 else math.nan)


class Unruly(vg.Discipline):
    """Starts jobs, or does what it should not."""

    def __init__(self, r):
        self.r = r
        self.queues, self.jobs = [], []
        self.keeps_waiting = r.choice((True, True, False, None))

    def schedule(self, queue):
        r = self.r
        self.queues.append(queue)
        self.jobs += queue.waiting + queue.running
        for _ in range(r.randrange(4)):
            try:
                job = r.choice(JUNK)(r) if r.random() < 0.1 or not self.jobs else r.choice(self.jobs)
                getattr(r.choice(self.queues), r.choice(("start", "give_up", "preempt", "start", "waiting", "now")))(job)
            except Exception as failure:
                if r.random() < 0.1:
                    raise failure
        for job in queue.waiting:
            if r.random() < 0.9:
                queue.start(job)


class World:
    """What there is to call, and what has happened."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp())
        os.chdir(self.folder)  # results are written under any name
        self.raised = collections.Counter()
        self.things = []
        self.cluster = self.new_cluster()
        self.trials = []
        self.placements = []

    def keep(self, thing):
        """Remembers a thing that has come back, for a while. Other packages' things are not to be played with."""
        if type(thing).__module__.split(".")[0] not in ("vgpualloc", "builtins", "numpy"):
            return thing
        if len(self.things) >= 40:
            self.things[self.r.randrange(40)] = thing
        else:
            self.things.append(thing)
        return thing

    def new_cluster(self):
        self.trials, self.placements = [], []
        self.cluster = vg.Cluster.read(CLUSTER["objects"], config=CLUSTER["config"],
                                       policy=self.r.choice((None, None, "fgd", "binpack")))
        return self.cluster

    def junk(self):
        return self.r.choice(self.things) if self.things and self.r.random() < 0.3 else self.r.choice(JUNK)(self.r)

    # ---- clusters

    def pod(self):
        r = self.r
        way = r.randrange(8)
        if way < 3:
            return vg.Pod(gpus=r.choice((0, 1, 1, 2, 9)), gpu_memory_mib=r.choice((None, 0, 1, 1024, 30000)),
                          gpu_cores=r.choice((None, 0, 10, 100)), cpu_milli=r.choice((0, 100, 10**6)))
        if way == 3:
            return vg.Pod(gpus=1, profile=r.choice(("1g.5gb", "9g.90gb", "")))
        if way < 6:
            return r.choice(POD_NAMES)
        if way == 6:
            return manifest(r)
        return self.junk()

    def place(self):
        r = self.r
        placed = self.cluster.place(self.pod(), name=r.choice((None, None, "mine", "other", self.junk())),
                                    node=r.choice((None, None, None, *NODE_NAMES[:5], self.junk())))
        self.placements.append(self.keep(placed))
        if r.random() < 0.3:
            str(placed)

    def release(self):
        r = self.r
        if self.placements and r.random() < 0.8:
            self.cluster.release(self.placements.pop(r.randrange(len(self.placements))))
        else:
            self.cluster.release(r.choice((*POD_NAMES, self.junk())))

    def trial(self):
        r = self.r
        way = r.randrange(6)
        if way < 2 or not self.trials:
            self.trials.append(self.cluster.trial())
            if len(self.trials) < 6:
                self.trials[-1].__enter__()
        elif way == 2:
            self.trials.pop().__exit__(None, None, None)
        elif way == 3:
            r.choice(self.trials).keep()
        elif way == 4:
            del self.trials[r.randrange(len(self.trials))]
        else:
            getattr(r.choice(self.trials), r.choice(("__enter__", "__exit__", "keep")))()

    def change(self):
        r = self.r
        target = r.choice((*NODE_NAMES, self.junk()))
        way = r.randrange(6)
        if way < 3:
            getattr(self.cluster, ("drain", "fail", "restore")[way])(target)
        elif way == 3:
            self.cluster.remove_node(r.choice((target, r.choice(self.cluster.nodes["node"].tolist() or [""]))))
        elif way == 4:
            if len(self.cluster.nodes) < 12:
                self.cluster.add_nodes(target, r.choice((1, 2, self.junk())))
        else:
            self.cluster.upsert(*(manifest(r) if r.random() < 0.8 else self.junk() for _ in range(r.randrange(3))))

    def look(self):
        r = self.r
        self.keep(getattr(self.cluster, r.choice(("nodes", "devices", "pods", "warnings"))))
        self.keep(r.choice((repr, str, lambda cluster: cluster._repr_html_()))(self.cluster))

    def ask(self):
        r, cluster = self.r, self.cluster
        way = r.randrange(7)
        if way == 0:
            policy, node = r.choice((None, *POLICIES)), r.choice((None, "core-0", self.junk()))
            answer = cluster.explain(self.pod(), policy=policy, node=node)
        elif way == 1:
            answer = cluster.whatif(drain=r.choice(((), ["core-1"], self.junk())), set_mode=r.choice((None, {"core-0": "mig"})),
                                    add_nodes=r.choice((None, {"A100-40GB:mig:8": 1}, self.junk())),
                                    seed=r.choice((1, self.junk())))
        elif way == 2:
            answer = cluster.plan(self.pod(), moves=r.choice((0, 1, 2, self.junk())))
        elif way == 3:
            self.keep(cluster.snapshot(anonymise=r.random() < 0.5))
            return
        elif way == 4:
            self.new_cluster_of(cluster.snapshot())
            return
        else:
            answer = cluster.ask_node(r.choice(POD_NAMES), r.choice(NODE_NAMES))
        self.keep(answer)
        str(answer), answer.to_dict(), [answer[key] for key in answer]

    def new_cluster_of(self, text):
        r = self.r
        if r.random() < 0.3:
            at = r.randrange(len(text))
            text = text[:at] + bytes(r.randrange(256) for _ in range(r.randrange(4))) + text[at + r.randrange(40):]
        cluster = vg.Cluster.read(text, config=r.choice(((), CLUSTER["config"], self.junk())), policy=r.choice((None, *POLICIES)))
        self.trials, self.placements, self.cluster = [], [], cluster

    # ---- runs

    def options(self):
        r = self.r
        options = {"nodes": source(r, nodes_of), "pods": source(r, pods_of), "seed": r.randrange(100)}
        if r.random() < 0.5:
            options["policy"] = Wild(r) if r.random() < 0.5 else vg.weighted((0.5, Wild(r)), (r.random(), r.choice(POLICIES)))
        if r.random() < 0.4:
            options["departures"] = True
            options["discipline"] = Unruly(r) if r.random() < 0.7 else r.choice(("fifo", "easy", "gang", "conservative"))
        for _ in range(r.choice((0, 0, 1, 2))):
            option = r.choice(OPTIONS)
            choices = option["values"].replace(" or ", ", ").split(", ")
            options[option["name"]] = self.junk() if r.random() < 0.5 else r.choice((choices[0], choices[-1], option["default"]))
        options["tune"] = r.choice((0.0, 0.0, 1.3))
        options["offered_load"] = 0.0
        return options

    def simulate(self):
        r = self.r
        result = vg.simulate(**self.options(), progress=r.choice((None, False, lambda done, total: None)), bound=r.random() < 0.1)
        self.keep(result)
        self.keep(r.choice((result.pods, result.timeseries)))
        if r.random() < 0.15:  # a page of 0.3 MB each
            r.choice((lambda result: result.report(), lambda result: result.write(self.folder / "out"),
                      lambda result: result.write(self.folder / "out", trace=r.choice((True, self.junk()))),
                      lambda result: result.write(self.junk())))(result)
        else:
            r.choice((str, repr, pickle.dumps, lambda result: result._repr_html_()))(result)

    def sweep(self):
        r = self.r
        options = {key: value for key, value in self.options().items() if key != "seed"}
        cells = vg.sweep({"seed": range(r.randrange(3))}, workers=r.choice((1, 2)), keep=r.choice(("figures", "curves", "all", "x")),
                         cache=r.choice((None, self.folder / "cells")), **options)
        self.keep(cells.table)
        str(cells), repr(cells), cells.errors
        r.choice((lambda: cells.write(self.folder / "study"), lambda: cells.write(self.junk()),
                  lambda: pickle.loads(pickle.dumps(cells)).write(self.folder / "study"),
                  lambda: cells.differences(of="seed", against=r.choice((0, self.junk())))))()

    def play(self):
        r = self.r
        env = vgpualloc.gym.PlaceEnv(source(r, nodes_of), source(r, pods_of), reward=r.choice(("accepted", "served", self.junk())))
        _, info = env.reset(seed=r.choice((None, 7)))
        for _ in range(r.randrange(12)):
            action = env.action_space.sample(mask=info["action_mask"]) if r.random() < 0.9 else self.junk()
            info = env.step(action)[-1]
        self.keep(info)

    def check(self):
        vg.check_policy(Wild(self.r), nodes=source(self.r, nodes_of), pods=source(self.r, pods_of))

    # ---- whatever there is

    def table(self):
        table = self.keep(vg.Table.of(source(self.r, pods_of)))
        self.r.choice((str, repr, pickle.dumps, lambda table: table.head(self.junk()), lambda table: table.to_dict(),
                       lambda table: table.__arrow_c_stream__(), lambda table: table == self.junk(),
                       lambda table: table._repr_html_(), lambda table: table.to_polars(), lambda table: table.to_pandas(),
                       lambda table: table.to_arrow(), lambda table: table.to_parquet(self.folder / "table")))(table)

    def thing(self):
        """Any attribute of anything, called with anything."""
        r = self.r
        thing = r.choice((vg, vg.Table, vg.Cluster, vg.Pod, self.cluster, *self.things))
        name = r.choice([name for name in dir(thing) if not name.startswith("_") and name not in FOREIGN] or ["__class__"])
        member = getattr(thing, name)
        if callable(member):
            self.keep(member(*(self.junk() for _ in range(r.randrange(4)))))

    def copied(self):
        thing = self.r.choice((self.cluster, *self.things))
        self.keep(self.r.choice((copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))))(thing))

    def tamper(self):
        """Sets an attribute, private ones too, of something that is thrown away."""
        r = self.r
        if not self.things:
            return
        thing = self.things.pop(r.randrange(len(self.things)))
        object.__setattr__(thing, r.choice([name for name in dir(thing) if name != "__dict__"]), self.junk())
        r.choice((repr, str, pickle.dumps, lambda thing: thing._repr_html_(), bool, len, list))(thing)

    def threads(self):
        cluster = self.cluster
        thread = threading.Thread(target=lambda: quietly(cluster.place, vg.Pod(gpus=1, gpu_memory_mib=10)))
        thread.start()
        quietly(cluster.place, vg.Pod(gpus=1, gpu_memory_mib=10))
        thread.join()


#: Not to be called with junk: a module, files of any name, and packages that crash when Table.to_polars gets a list in itself.
FOREIGN = {"gym", "tofile", "to_polars", "to_arrow", "to_pandas", "to_parquet"}


def quietly(call, *arguments):
    try:
        call(*arguments)
    except Exception:
        pass


def manifest(r):
    """An object as a mapping, now and then with something wrong."""
    name = r.choice(("mine", "m1", "waits", "core-0", "new"))
    limits = {r.choice(("nvidia.com/gpu", "volcano.sh/vgpu-number", "huawei.com/Ascend310P")): r.choice((1, "1", -1, "x", 10**20)),
              "volcano.sh/vgpu-memory": r.choice((1000, "40960", None)), "cpu": r.choice(("1", "100m", 3))}
    document = {"kind": "Pod", "metadata": {"name": name, "uid": r.choice((None, "u1", "u2", "default/mine"))},
                "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}],
                         "nodeName": r.choice((None, None, "core-0", "nowhere"))}}
    if r.random() < 0.2:
        document = {"kind": "Node", "metadata": {"name": name, "annotations": {
            "volcano.sh/node-vgpu-register": r.choice(("GPU-z,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:", "x", ":", ""))}},
            "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}}}
    if r.random() < 0.2:
        part = r.choice((document, document["metadata"], document.get("spec", document)))
        part[r.choice(list(part))] = r.choice(JUNK)(r)
    return document


ACTIONS = {World.place: 60, World.release: 50, World.trial: 20, World.change: 20, World.look: 20, World.ask: 3, World.simulate: 12,
           World.sweep: 1, World.play: 2, World.check: 1, World.table: 10, World.thing: 25, World.copied: 10, World.tamper: 10,
           World.threads: 1, World.new_cluster: 0.5, lambda world: gc.collect(world.r.randrange(2)): 0.2, lambda world: gc.collect(): 0.01}


def memory_mib():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def run(calls, seed):
    """Makes the calls and returns the world, and the memory in MiB after half of them and after all."""
    world = World(seed)
    weights = list(ACTIONS.values())
    after = []
    for part in (calls // 2, calls - calls // 2):
        for action in world.r.choices(list(ACTIONS), weights, k=part):
            try:
                action(world)
            except BaseException as failure:  # a KeyboardInterrupt of a policy, a PanicException of polars
                world.raised[type(failure).__name__] += 1
        after.append(memory_mib())
    os.chdir(tempfile.gettempdir())
    shutil.rmtree(world.folder)
    return world, after


def main():
    calls, seed = (*map(int, sys.argv[1:]), *(10_000, 1)[len(sys.argv) - 1:])
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    begin = time.perf_counter()
    world, (half, whole) = run(calls, seed)
    seconds = time.perf_counter() - begin
    print(f"{calls} calls, {calls / seconds:.0f} a second; memory {half:.0f} MiB after half, {whole:.0f} MiB after all")
    print("raised: " + ", ".join(f"{name} {count}" for name, count in world.raised.most_common()))


if __name__ == "__main__":
    main()
