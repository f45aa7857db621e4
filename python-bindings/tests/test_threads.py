"""Many runs and many threads. As a program it does more: test_threads.py [SIMULATIONS] [SECONDS]"""

import gc
import resource
import sys
import threading
import time
from pathlib import Path

import pytest
import vgpualloc as vg
from own_policies import Gang, Packed

HALF = vg.Pod(gpus=1, gpu_memory_mib=1024, gpu_cores=10, cpu_milli=100)


def memory_kib():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def tiny_inputs(count):
    return {"nodes": {"sn": ["a", "b"], "cpu_milli": [96000] * 2, "memory_mib": [393216] * 2, "gpu": [8] * 2, "model": ["A100"] * 2},
            "pods": {"name": [f"p{i}" for i in range(count)], "cpu_milli": 4000, "memory_mib": 8192, "num_gpu": 1, "gpu_milli": 250,
                     "creation_time": list(range(count)), "deletion_time": [i + 50 for i in range(count)]}}


def growth_kib(simulations):
    """How much memory small simulations of every kind take, after a tenth of them."""
    inputs, begin = tiny_inputs(40), 0
    kinds = [{}, {"policy": Packed()}, {"departures": True, "discipline": Gang()},
             {"policy": vg.weighted((1.0, Packed()), (0.5, "fgd"))}, {"policy": "nonesuch"}]
    for number in range(simulations):
        if number == simulations // 10:
            begin = memory_kib()
        try:
            result = vg.simulate(**inputs, seed=number, **kinds[number % len(kinds)])
            assert len(result.pods["node"]) == 40 and len(result.timeseries["allocated_milli"]) > 0
        except vg.InputError:
            pass
    return memory_kib() - begin


def sixteen_at_once(nodes, pods):
    """Results of sixteen inputs, one by one and at once, and how often another thread ran meanwhile."""
    lines = Path(pods).read_bytes().splitlines(keepends=True)
    inputs = [b"".join(lines[:100 + 90 * i]) for i in range(16)]
    policies = ["fgd", "best_fit", "random", "dual_price"]

    def replay(i):
        policy = Packed() if i % 8 == 7 else policies[i % 4]
        files = dict(vg.simulate(nodes, inputs[i], policy=policy, seed=i)._outcome.files())
        return files["pods.csv"] + files["timeseries.csv"]

    alone = [replay(i) for i in range(16)]
    together = [None] * 16
    ticks, over = [], threading.Event()

    def run(i):
        together[i] = replay(i)

    def tick():
        while not over.wait(0.0005):
            ticks.append(None)

    ticker = threading.Thread(target=tick)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    for thread in (ticker, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    ticker.join()
    return alone, together, len(ticks)


def two_on_one_cluster(seconds, policy=None):
    """Two threads place, release, look and ask. How often, and what they raised but StateError; None: they wait for ever."""
    cluster = vg.Cluster.read(**vg.example("cluster"), policy=policy)
    first = [cluster.nodes.to_dict(), cluster.devices.to_dict()]
    rounds, failures, over = [0, 0], [], threading.Event()

    def work(me):
        try:
            while not over.is_set():
                placed = [outcome for outcome in (cluster.place(HALF) for _ in range(3)) if outcome]
                assert len({placement.pod for placement in placed}) == len(placed)
                cluster.devices, cluster.pods, repr(cluster)
                if rounds[me] % 20 == 0:
                    cluster.explain("team/waits")
                for placement in placed:
                    cluster.release(placement)
                rounds[me] += 1
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join(60)
    if any(thread.is_alive() for thread in threads):
        return None
    assert [cluster.nodes.to_dict(), cluster.devices.to_dict()] == first
    return rounds, failures


def test_small_simulations_leave_no_memory():
    assert growth_kib(300) < 4096


def test_sixteen_threads_simulate_as_one(quickstart):
    pytest.importorskip("highsbox")  # for the prices of dual_price
    alone, together, ticks = sixteen_at_once(**quickstart)
    assert together == alone and len(set(alone)) == 16
    assert ticks > 5


def test_two_threads_share_a_cluster():
    rounds, failures = two_on_one_cluster(0.7, Packed())
    assert not failures and min(rounds) > 0


def main():
    simulations, seconds = (*map(int, sys.argv[1:]), *(10_000, 60)[len(sys.argv) - 1:])
    print(f"{simulations} simulations: {growth_kib(simulations)} KiB more after a tenth of them")
    alone, together, ticks = sixteen_at_once(**vg.example("quickstart"))
    print(f"sixteen threads: {sum(map(bytes.__eq__, alone, together))} of 16 alike, {ticks} ticks of another thread")
    outcome = two_on_one_cluster(seconds, Packed())
    print(f"two threads on a cluster, {seconds} s: rounds and failures {outcome}")


if __name__ == "__main__":
    main()
