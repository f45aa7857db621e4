"""Cells on the workers of a cluster, one of which dies."""

import os
import signal

import distributed
import vgpualloc as vg

from vgpualloc import _cluster_executors

GRID = {"policy": ["fgd", "best_fit"], "seed": range(20)}


def without_times(table):
    return [{key: repr(value) for key, value in row.items() if key != "seconds"} for row in table.to_dict()]


def test_a_worker_that_is_killed_loses_no_cell(quickstart):
    lists = {name: path.read_bytes() for name, path in quickstart.items()}
    killed = []
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        workers = sorted(client.run(os.getpid).values())

        def kill_one(done, total):
            if done >= 4 and not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        sweep = vg.sweep(GRID, **lists, executor=client, progress=kill_one)
    assert killed and len(sweep.errors) == 0
    assert without_times(sweep.table) == without_times(vg.sweep(GRID, **lists).table)


class Counted(bytes):
    """A content that counts how often it is pickled."""

    pickled = 0

    def __reduce__(self):
        Counted.pickled += 1
        return bytes, (bytes(self),)


def test_an_input_is_sent_to_a_worker_once(quickstart):
    """Whatever the number of cells: tasks have its name."""
    pods = Counted(quickstart["pods"].read_bytes())
    assert len(pods) > _cluster_executors._SHARED_BYTES  # smaller ones go along with each task
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        sweep = vg.sweep(GRID, nodes=quickstart["nodes"], pods=pods, executor=client)
    assert len(sweep.errors) == 0 and len(sweep.table) == 40
    assert 1 <= Counted.pickled <= 3  # its size is taken, and it is sent
